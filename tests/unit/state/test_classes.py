"""Cached masks: right, carried over, bounded."""

import pytest

from extender.policy import feasibility
from extender.state import classes
from extender.state.classes import MaskCache
from tests.fakes.builders import make_node, make_shape, pinned_to

A, B, C = (make_node(name, labels={"zone": name}) for name in "abc")
ZONE_A, ZONE_B = (make_shape(node_selector={"zone": zone}) for zone in "ab")


@pytest.fixture
def asked(monkeypatch) -> list[str]:
    """Names of the nodes that were looked at."""
    names: list[str] = []

    def accepts(shape, node) -> bool:
        names.append(node.name)
        return feasibility.accepts(shape, node)

    monkeypatch.setattr(classes, "accepts", accepts)
    return names


def test_a_mask_is_computed_once(asked) -> None:
    cache = MaskCache((A, B))
    assert cache.mask(ZONE_A).tolist() == [True, False]
    assert cache.mask(ZONE_A) is cache.mask(ZONE_A)
    assert asked == ["a", "b"]


def test_shapes_that_differ_in_requests_share_a_mask(asked) -> None:
    cache = MaskCache((A, B))
    cache.mask(make_shape(cpu="1"))
    cache.mask(make_shape(cpu="2", host_ports=[80], unmodelled=["volumes"]))
    assert asked == ["a", "b"]


def test_a_pinned_shape_looks_at_its_nodes_only_and_is_not_kept(asked) -> None:
    cache = MaskCache((A, B, C))
    assert cache.mask(make_shape(affinity=pinned_to("c", "gone"))).tolist() == [False, False, True]
    assert asked == ["c"]
    assert list(cache.kept()) == []


RENEWALS = {
    "nothing": ((A, B, C), [True, False, False], []),
    "a node changed": ((A, make_node("b", labels={"zone": "a"}), C), [True, True, False], ["b"]),
    "a node was cordoned": ((make_node("a", unschedulable=True), B, C), [False] * 3, ["a"]),
    "what masks do not read": ((make_node("a", labels=A.labels, cpu="1"), B, C), [True, 0, 0], []),
    "a node left": ((B, C), [False, False], []),
    "a node came between": ((A, make_node("aa"), B, C), [True, False, False, False], ["aa"]),
    "all left": ((), [], []),
}


@pytest.mark.parametrize(("nodes", "want", "looked"), RENEWALS.values(), ids=RENEWALS)
def test_only_changed_nodes_are_looked_at_when(asked, nodes, want, looked) -> None:
    cache = MaskCache((A, B, C))
    cache.mask(ZONE_A)
    asked.clear()
    new = cache.renewed(nodes)
    assert asked == looked
    assert new.mask(ZONE_A).tolist() == want
    assert asked == looked
    assert cache.mask(ZONE_A).tolist() == [True, False, False]


def test_a_cache_without_nodes_carries_its_shapes_over() -> None:
    cache = MaskCache(())
    cache.mask(ZONE_A)
    assert cache.renewed((A, B)).mask(ZONE_A).tolist() == [True, False]


def test_the_mask_asked_for_least_recently_goes_first(asked) -> None:
    cache = MaskCache((A, B), most_shapes=2)
    cache.mask(ZONE_A)
    cache.mask(ZONE_B)
    cache.mask(ZONE_A)
    cache.mask(make_shape())
    assert len(list(cache.kept())) == 2
    asked.clear()
    cache.mask(ZONE_A)
    assert asked == []
    cache.mask(ZONE_B)
    assert asked == ["a", "b"]
