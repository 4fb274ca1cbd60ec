"""Releases that changes during a pass have made impossible are left out, gang by gang."""

from hypothesis import given
from hypothesis import strategies as st

from extender.core.cluster import pod_shape
from extender.core.cluster.commands import ReleaseGang
from extender.core.cluster.session import Reading
from extender.core.nodes.node_table import NodeTable
from extender.core.parameters.combined import CoreParameters
from extender.core.queue import overtaken
from extender.core.queue.state import QueueState
from shared.model import Delete, Node, Pod, Upsert
from tests.fakes.builders import make_node, make_pod
from tests.fakes.deciding import queue_pass
from tests.unit.core.clusters import queued_job, store_of

NAMES = ("a", "b", "c")


def passed(store):
    """The snapshot of a pass, and what it ordered."""
    before, reading = store.snapshot(), Reading(100.0, 100.0)
    return before, queue_pass(before, QueueState(), reading, CoreParameters()).commands


def left(store, before, commands):
    kept = overtaken.without_overtaken(commands, before, store.snapshot())
    return [c.job.rpartition("/")[2] for c in kept if isinstance(c, ReleaseGang)]


def cluster(*jobs):
    return store_of([make_node(name, cpu="4") for name in NAMES], *jobs)


def other_pod(name, node, cpu="1"):
    """A running pod of another scheduler."""
    return make_pod(name, node=node, cpu=cpu, scheduler_name="default-scheduler")


def test_nothing_is_left_out_while_nothing_changes():
    store = cluster(queued_job("j", 4), queued_job("k", 4))
    before, commands = passed(store)
    assert sorted(left(store, before, commands)) == ["j", "k"]


def test_a_gang_whose_pod_was_deleted_is_left_out_alone():
    store = cluster(queued_job("j", 4), queued_job("k", 4))
    before, commands = passed(store)
    pod = before.pods["default/j-2"]
    store.apply(Delete(Pod.__name__, pod.key, pod.uid))
    assert left(store, before, commands) == ["k"]


def test_a_gang_whose_node_is_gone_is_left_out_alone():
    store = cluster(queued_job("j", 4), queued_job("k", 4))
    before, commands = passed(store)
    node = next(c.pods[0].node for c in commands if isinstance(c, ReleaseGang) and "j" in c.job)
    store.apply(Delete(Node.__name__, node))
    assert left(store, before, commands) == ["k"]


def test_a_gang_whose_node_was_filled_is_left_out_and_leaves_its_room_to_the_next():
    store = store_of([make_node("a", cpu="4")], queued_job("j", 3), queued_job("k", 1))
    before, commands = passed(store)
    assert left(store, before, commands) == ["j", "k"]
    store.apply(Upsert(other_pod("x", "a", cpu="2")))
    assert left(store, before, commands) == ["k"]


def test_gangs_share_what_a_node_has_left():
    store = store_of([make_node("a", cpu="4")], queued_job("j", 2), queued_job("k", 2))
    before, commands = passed(store)
    store.apply(Upsert(other_pod("x", "a", cpu="2")))
    assert left(store, before, commands) == ["j"]


def test_only_nodes_with_less_room_than_before_cost_anything(monkeypatch):
    """A pass may release thousands of gangs, and nothing else runs meanwhile."""
    store = cluster(*(queued_job(f"j{i}", 1) for i in range(12)))
    before, commands = passed(store)
    full = next(c.pods[0].node for c in commands if isinstance(c, ReleaseGang))
    store.apply(Upsert(other_pod("x", full)))
    store.snapshot()
    looked, demand = [], NodeTable.demand
    monkeypatch.setattr(NodeTable, "demand", lambda *given: looked.append(1) or demand(*given))
    assert len(left(store, before, commands)) == 11
    assert len(looked) == 4


def test_all_placed_gangs_wait_if_resources_came_or_went():
    store = cluster(queued_job("j", 4))
    before, commands = passed(store)
    store.apply(Upsert(make_node("d", cpu="4", allocatable={"example.com/new": "1"})))
    assert left(store, before, commands) == []


CHANGES = st.lists(
    st.one_of(
        st.tuples(st.just("fill"), st.sampled_from(NAMES), st.integers(1, 3)),
        st.tuples(st.just("end"), st.integers(0, 2), st.just(0)),
        st.tuples(st.just("delete"), st.integers(0, 5), st.integers(0, 2)),
        st.tuples(st.just("lose"), st.sampled_from(NAMES), st.just(0)),
        st.tuples(st.just("join"), st.just("d"), st.just(0)),
    ),
    max_size=5,
)


def change(store, number, what, where, count):
    if what == "fill":
        store.apply(Upsert(other_pod(f"x{number}", where, cpu=str(count))))
    elif what == "lose":
        store.apply(Delete(Node.__name__, where))
    elif what == "join":
        store.apply(Upsert(make_node(where, cpu="4")))
    else:
        key = f"default/before-{where}" if what == "end" else f"default/j{where}-{count}"
        if (pod := store.snapshot().pods.get(key)) is not None:
            store.apply(Delete(Pod.__name__, pod.key, pod.uid))


def expected(commands, before, now):
    """The definition: nothing planned lacks more on its node than it did in the pass."""
    kept, planned = [], []
    for gang in commands:
        if not isinstance(gang, ReleaseGang):
            continue
        pods = [now.pods.get(release.pod) for release in gang.pods]
        if None in pods or not all(release.node in now.node_table.index for release in gang.pods):
            continue
        tried = [*planned, *zip((r.node for r in gang.pods), pods, strict=True)]
        names = now.node_table.index
        if all(lacking(now, tried, at) <= lacking(before, tried, at) for at in names):
            planned = tried
            kept.append(gang.job.rpartition("/")[2])
    return kept


def lacking(snapshot, planned, node):
    """Milli-CPU that pods planned on a node request beyond what it has free."""
    table = snapshot.node_table
    if node not in table.index:
        return 0
    column = table.resources.index("cpu")
    wanted = sum(
        int(table.demand(pod_shape.shape(snapshot, pod))[column])
        for name, pod in planned
        if name == node
    )
    return max(0, wanted - int(table.free[table.index[node], column])) if wanted else 0


@given(st.lists(st.integers(1, 3), min_size=1, max_size=5), CHANGES)
def test_what_is_left_is_what_the_definition_says(sizes, changes):
    running = [other_pod(f"before-{i}", NAMES[i]) for i in range(3)]
    jobs = [queued_job(f"j{i}", size) for i, size in enumerate(sizes)]
    store = cluster(running, *jobs)
    before, commands = passed(store)
    for number, one in enumerate(changes):
        change(store, number, *one)
    assert left(store, before, commands) == expected(commands, before, store.snapshot())
