"""Laws of the buckets, on random jobs and relations."""

from collections import Counter
from itertools import combinations

from hypothesis import given
from hypothesis import strategies as st

from extender.core.placement import buckets
from extender.core.placement.buckets import Relations, Task

ROLES = ("evaluator", "ps", "worker")
groups = st.lists(
    st.lists(st.sampled_from(ROLES), min_size=1, max_size=3, unique=True).map(tuple), max_size=3
).map(tuple)
orders = st.lists(st.sampled_from(ROLES), max_size=3, unique=True).map(tuple)
relations = st.builds(Relations, groups, groups, orders)


nodes = st.none() | st.sampled_from("abc")


@st.composite
def jobs(draw, bound=nodes):
    counts = {role: draw(st.integers(0, 6)) for role in ROLES}
    return [
        Task(f"{role}{i}", role, i, draw(st.integers(0, 3)), draw(bound))
        for role, count in counts.items()
        for i in range(count)
    ]


@given(jobs(), relations)
def test_every_task_of_a_related_role_is_in_exactly_one_bucket(tasks, relations):
    built = buckets.build(tasks, relations)
    inside = Counter(t.id for b in built for t in (*b.tasks, *b.bound))
    assert inside == Counter(t.id for t in tasks if t.role in relations.weights)
    assert [b.index for b in built] == list(range(len(built)))


@given(jobs(), relations, st.randoms(use_true_random=False))
def test_the_order_of_the_input_does_not_matter(tasks, relations, random):
    shuffled = random.sample(tasks, len(tasks))
    assert buckets.build(shuffled, relations) == buckets.build(tasks, relations)


@given(jobs(), relations)
def test_members_of_one_node_share_a_bucket_and_of_two_nodes_do_not(tasks, relations):
    for bucket in buckets.build(tasks, relations):
        assert len({t.node for t in bucket.bound}) <= 1
    nodes = [b.bound[0].node for b in buckets.build(tasks, relations) if b.bound]
    assert len(set(nodes)) == len(nodes)


@given(jobs(), st.integers(1, 3))
def test_ps_that_are_apart_never_share_a_bucket_unless_they_share_a_node(tasks, groups):
    relations = Relations((("ps", "worker"), ("ps", "evaluator"))[:groups], (("ps",),))
    for bucket in buckets.build(tasks, relations):
        ps = [t for t in (*bucket.tasks, *bucket.bound) if t.role == "ps"]
        drawn = {t.role for t in bucket.bound if relations.attracts("ps", t.role)}
        if not drawn:  # bound workers may outweigh another ps: affinity is counted, not tested
            assert all(a.node is not None for a, _ in combinations(ps, 2))


@given(jobs(bound=st.none()), st.integers(2, 4))
def test_two_ps_without_nodes_are_in_different_buckets(tasks, ps):
    relations = Relations((("ps", "worker"),), (("ps",),))
    job = [t for t in tasks if t.role != "ps"] + [Task(f"p{i}", "ps", i) for i in range(ps)]
    built = buckets.build(job, relations)
    assert all(sum(t.role == "ps" for t in b.tasks) <= 1 for b in built)


@given(jobs(), relations)
def test_buckets_equal_a_plain_implementation_of_the_rules(tasks, relations):
    """A second, plain writing of Volcano's ``buildBucket``."""
    opened: list[list[Task]] = []
    for task in sorted(tasks, key=lambda t: _as_volcano_sorts(t, relations)):
        if task.role not in relations.weights:
            continue
        home = next((b for b in opened if task.node and task.node in {t.node for t in b}), None)
        if task.node is None and opened:
            best = max(opened, key=lambda b: (_affinity(task, b, relations), -_asked(b)))
            home = best if _affinity(task, best, relations) >= 0 else None
        if home is None:
            opened.append(home := [])
        home.append(task)
    built = buckets.build(tasks, relations)
    assert [{t.id for t in (*b.tasks, *b.bound)} for b in built] == [
        {t.id for t in b} for b in opened
    ]


def _as_volcano_sorts(task, relations):
    order = dict(zip(relations.order, range(len(relations.order), 0, -1), strict=True))
    weight = relations.weights.get(task.role, 0)
    if task.node is not None:
        return (0, task.node, 0, 0, task.role, task.index)
    return (1, "", -order.get(task.role, 0), -weight, task.role, task.index)


def _affinity(task, bucket, relations):
    near = sum(relations.attracts(task.role, other.role) for other in bucket)
    return near - sum(relations.repels(task.role, other.role) for other in bucket)


def _asked(bucket):
    return sum(t.request_score for t in bucket if t.node is None)
