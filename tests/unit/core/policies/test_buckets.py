"""Relations, buckets and their scores, rule by rule."""

import numpy as np
import pytest

from extender.core.placement import buckets
from extender.core.placement.buckets import Bucket, Relations, Task
from shared.errors import InputError
from shared.model import PodShape


def tasks(text):
    """``ps0 worker1@node`` as tasks of equal size."""
    return [_task(word) for word in text.split()]


def _task(word):
    name, _, node = word.partition("@")
    role = name.rstrip("0123456789")
    return Task(name, role, int(name.removeprefix(role)), 100, node or None)


def ids(built):
    return [[t.id for t in (*b.bound, *b.tasks)] for b in built]


PARSED = {
    "nothing": ("", ()),
    "blank": ("  ", ()),
    "one role": ("ps", (("ps",),)),
    "one group": ("ps,worker", (("ps", "worker"),)),
    "two groups": ("ps,worker;ps,evaluator", (("ps", "worker"), ("ps", "evaluator"))),
    "spaces": (" ps , worker ; a.b_c-d ", (("ps", "worker"), ("a.b_c-d",))),
}


@pytest.mark.parametrize(("text", "want"), PARSED.values(), ids=PARSED.keys())
def test_groups_are_read_as_volcano_writes_them(text, want):
    assert Relations.parse(text, text) == Relations(want, want)


BAD = {
    "empty role": "ps,",
    "empty group": "ps;;worker",
    "group at the end is empty": "ps,worker;",
    "role twice in a group": "ps,ps",
    "no label value": "ps,wor ker",
    "ends in a dash": "ps-",
}


@pytest.mark.parametrize("text", BAD.values(), ids=BAD.keys())
def test_bad_groups_name_the_annotation_and_what_was_expected(text):
    with pytest.raises(InputError, match=r"annotation shuntyard\.io/affinity: .*ps,worker"):
        Relations.parse(text)
    with pytest.raises(InputError, match=r"annotation volcano\.sh/x: "):
        Relations.parse("", text, fields=("", "volcano.sh/x", ""))


def test_the_order_is_one_group_of_roles():
    assert Relations.parse("", "", "ps,worker").order == ("ps", "worker")
    with pytest.raises(InputError, match="annotation task order"):
        Relations.parse("", "", "ps;worker")


WEIGHTS = {
    "self-anti-affinity": ("", "a", {"a": 4}),
    "inter-affinity": ("a,b", "", {"a": 3, "b": 3}),
    "self-affinity": ("a", "", {"a": 2}),
    "inter-anti-affinity": ("", "a,b", {"a": 1, "b": 1}),
    "the largest counts": ("a,b;b", "a,c;c", {"a": 3, "b": 3, "c": 4}),
}


@pytest.mark.parametrize(("affinity", "anti", "want"), WEIGHTS.values(), ids=WEIGHTS.keys())
def test_the_weight_of_a_role_is_that_of_its_strongest_relation(affinity, anti, want):
    assert Relations.parse(affinity, anti).weights == want


BUILT = {
    "no tasks": ("ps,worker", "ps", "", "", []),
    "self-affinity gathers all": ("a", "", "", "a0 a1 a2", [["a0", "a1", "a2"]]),
    "self-anti-affinity parts all": ("", "a", "", "a0 a1 a2", [["a0"], ["a1"], ["a2"]]),
    "inter-affinity alone gathers all": ("a,b", "", "", "a0 b0 a1", [["a0", "a1", "b0"]]),
    "inter-anti-affinity parts two roles": (
        "",
        "a,b",
        "",
        "a0 b0 a1 b1",
        [["a0", "a1"], ["b0", "b1"]],
    ),
    "a role without relation is in no bucket": ("a", "", "", "a0 b0", [["a0"]]),
    "indices count as numbers": (
        "",
        "a",
        "",
        "a10 a9 a2",
        [["a2"], ["a9"], ["a10"]],
    ),
    "heavier roles come first": ("a,b", "b", "", "a0 b0 b1", [["b0", "a0"], ["b1"]]),
    "the user's order comes before weight": ("a,b", "b", "a", "a0 b0 b1", [["a0", "b0", "b1"]]),
    "bound ones come before the user's order": (
        "a,b",
        "",
        "a",
        "a0 b0@n",
        [["b0", "a0"]],
    ),
    "bound ones share their node's bucket against all relations": (
        "",
        "a",
        "",
        "a0@n a1@n a2@m a3",
        [["a2"], ["a0", "a1"], ["a3"]],
    ),
    "a bound one of another node opens another bucket in spite of affinity": (
        "a",
        "",
        "",
        "a0@n a1@m a2",
        [["a1", "a2"], ["a0"]],
    ),
}


@pytest.mark.parametrize(
    ("affinity", "anti", "order", "text", "want"), BUILT.values(), ids=BUILT.keys()
)
def test_tasks_are_put_into_buckets(affinity, anti, order, text, want):
    relations = Relations.parse(affinity, anti, order)
    assert ids(buckets.build(tasks(text), relations)) == want
    assert ids(buckets.build(tasks(text)[::-1], relations)) == want


def test_on_equal_affinity_the_bucket_that_requests_less_grows_and_bound_tasks_do_not_count():
    relations = Relations.parse("ps,worker", "ps")
    small, large = Task("ps0", "ps", 0, 100), Task("ps1", "ps", 1, 50)
    workers = [Task(f"worker{i}", "worker", i, 60) for i in range(3)]
    assert ids(buckets.build([small, large, *workers], relations)) == [
        ["ps0", "worker1"],
        ["ps1", "worker0", "worker2"],
    ]
    bound = Task("ps0", "ps", 0, 100, "n")
    assert ids(buckets.build([bound, large, *workers], relations)) == [
        ["ps0", "worker0", "worker2"],
        ["ps1", "worker1"],
    ]


def test_buckets_with_more_tasks_without_a_reservation_are_placed_first_then_older_ones():
    one, two, three = tasks("a0 a1 a2")
    built = [
        Bucket(0, (one,), (two, three)),
        Bucket(1, (one, two), ()),
        Bucket(2, (one, two), (three,)),
    ]
    assert [b.index for b in buckets.placing_order(built)] == [1, 2, 0]


def test_spreading_adds_self_anti_affinity_once():
    apart = Relations.parse("ps,worker", "ps").spreading("worker")
    assert apart.anti_affinity == (("ps",), ("worker",))
    assert apart.spreading("worker") is apart


NODE_SCORES = {
    "an empty node that holds the whole bucket": (0, 0, 4, 100.0),
    "half of the bucket fits": (0, 0, 2, 50.0),
    "what is there counts as what fits": (2, 0, 2, 100.0),
    "pods to be apart from count against it": (0, -1, 4, 75.0),
    "affinity to others there does not count for it": (0, 3, 4, 100.0),
    "it may be negative": (0, -3, 1, -50.0),
    "nothing where the pod itself does not fit": (3, 0, 0, 0.0),
}


@pytest.mark.parametrize(
    ("there", "anti", "fitting", "want"), NODE_SCORES.values(), ids=NODE_SCORES.keys()
)
def test_node_score(there, anti, fitting, want):
    one = [np.array([value], dtype=np.int64) for value in (there, anti, fitting)]
    assert buckets.node_score(*one, largest_bucket=4).tolist() == [want]
    assert buckets.node_score(*one, largest_bucket=4, weight=2).tolist() == [2 * want]


REQUEST_SCORES = {
    "nothing but the pod": ({"pods": 1}, 0),
    "milli-CPU": ({"cpu": 1500}, 1500),
    "MiB, rounded down": ({"memory": 3 * 2**20 + 5}, 3),
    "storage and huge pages are bytes": (
        {"ephemeral-storage": 2**21, "hugepages-2Mi": 2**21},
        4,
    ),
    "a GPU is worth a CPU": ({"nvidia.com/gpu": 2}, 2000),
    "the sum": ({"cpu": 2000, "memory": 2**31, "nvidia.com/gpu": 1, "pods": 1}, 5048),
}


@pytest.mark.parametrize(("requests", "want"), REQUEST_SCORES.values(), ids=REQUEST_SCORES.keys())
def test_request_score_is_one_number(requests, want):
    assert buckets.request_score(PodShape(requests=tuple(sorted(requests.items())))) == want


def test_ps_are_bound_before_workers_then_buckets_then_indices():
    pods = [("worker", 0, 1), ("ps", 1, 1), ("worker", 1, 0), ("worker", 0, 0), ("ps", 0, 0)]
    assert sorted(pods, key=lambda p: buckets.task_order_key(*p)) == [
        ("ps", 0, 0),
        ("ps", 1, 1),
        ("worker", 0, 0),
        ("worker", 0, 1),
        ("worker", 1, 0),
    ]
