"""Room on nodes whose pods' CPU requests were changed in place."""

from typing import Any

import pytest
from msgspec.structs import replace

from extender.store.store import ClusterStore
from shared.model import Delete, Pod, Upsert
from tests.fakes.builders import make_node, make_pod


def resized(name: str, more: int, **fields: Any) -> Pod:
    """A pod on node-0 that was given 1000 m and has ``more`` now."""
    return replace(make_pod(name, **{"node": "node-0", **fields}), borrowed_milli=more)


def used(store: ClusterStore, node: str = "node-0") -> int:
    room = store.snapshot().node_table
    return int(room.used[room.index[node], room.resources.index("cpu")])


CASES: dict[str, tuple[list[Pod], int]] = {
    "lowered: its reservation is kept": ([resized("a", -700)], 1000),
    "raised by what another has less": ([resized("a", 700), resized("b", -700)], 2000),
    "raised by less than others have less": ([resized("a", 500), resized("b", -700)], 2000),
    "raised, and one that had less is gone": ([resized("a", 700)], 1700),
    "raised, and one that had less has ended": (
        [resized("a", 700), resized("b", -700, phase="Succeeded")],
        1700,
    ),
    "raised, and one that has less is elsewhere": (
        [resized("a", 700), resized("b", -700, node="node-1")],
        1700,
    ),
    "beside one that was never changed": ([resized("a", -700), resized("b", 0)], 2000),
}


@pytest.mark.parametrize(("pods", "want"), CASES.values(), ids=CASES)
@pytest.mark.parametrize("node_first", [True, False], ids=["node first", "pods first"])
def test_a_node_counts_what_was_given_and_what_is_asked_beyond_it(
    store: ClusterStore, pods: list[Pod], want: int, node_first: bool
) -> None:
    nodes = [make_node("node-0"), make_node("node-1")]
    for entity in [*nodes, *pods] if node_first else [*pods, *nodes]:
        store.apply(Upsert(entity))
    assert used(store) == want
    for pod in pods:
        store.apply(Delete("Pod", pod.key, pod.uid))
    assert used(store) == 0


def test_room_follows_a_resize_up_and_back(store: ClusterStore) -> None:
    store.apply(Upsert(make_node("node-0")))
    for more, want in ((0, 1000), (700, 1700), (-700, 1000), (0, 1000)):
        store.apply(Upsert(resized("a", more)))
        assert used(store) == want
    before = store.snapshot()
    assert before.node_table.used.flags.writeable is False


def test_room_survives_the_way_through_the_log(store: ClusterStore) -> None:
    for entity in (make_node("node-0"), resized("a", 700)):
        store.apply(Upsert(entity))
    assert used(ClusterStore.restore(store.export())) == 1700
