"""Cached masks: right, carried over, bounded."""

import pytest
from msgspec.structs import replace

from extender.core.nodes.class_masks import MaskCache
from extender.core.nodes.feasibility import NodeFilter
from extender.core.nodes.node_columns import NodeColumns
from shared.model import Node, Requirement
from tests.fakes.builders import make_node, make_shape, make_term, pinned_to


class ReadLabels:
    """Labels of nodes that count how often one of them is read."""

    def __init__(self) -> None:
        self.times = 0

    def node(self, name: str, **labels: str) -> Node:
        """Return a node whose labels count."""
        counter = self

        class Labels(dict[str, str]):
            def get(self, key, default=None):
                counter.times += 1
                return super().get(key, default)

        return replace(make_node(name), labels=Labels(labels))


A, B, C = (make_node(name, labels={"zone": name}) for name in "abc")
ZONE_A, ZONE_B = (make_shape(node_selector={"zone": zone}) for zone in "ab")


@pytest.fixture
def asked(monkeypatch) -> list[str]:
    """Names of the nodes that were judged, all at a time or one by one."""
    names: list[str] = []
    mask, accepts = NodeFilter.mask, NodeFilter.accepts

    def all_at_a_time(self: NodeFilter, nodes: NodeColumns):
        names.extend(node.name for node in nodes.nodes)
        return mask(self, nodes)

    def one_by_one(self: NodeFilter, node: Node) -> bool:
        names.append(node.name)
        return accepts(self, node)

    monkeypatch.setattr(NodeFilter, "mask", all_at_a_time)
    monkeypatch.setattr(NodeFilter, "accepts", one_by_one)
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


def test_a_pinned_shape_looks_at_its_nodes_only_and_is_not_kept() -> None:
    read = ReadLabels()
    nodes = tuple(read.node(name, zone=name) for name in "abc")
    cache = MaskCache(nodes)
    in_zone = Requirement("zone", "In", ("c",))
    pin = [make_term(in_zone, fields=term.fields) for term in pinned_to("c", "gone")]
    assert cache.mask(make_shape(affinity=pin)).tolist() == [False, False, True]
    assert read.times == 1
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


def _long_affinity(number: int, *, terms: int = 40, lines: int = 11):
    """Return the affinity of one hostile pod: no two pods have the same."""
    return [
        make_term(
            *(Requirement("zone", "In", tuple("xyz")) for _ in range(lines - 1)),
            Requirement("rack", "In", (f"{number}-{term}", "elsewhere")),
        )
        for term in range(terms)
    ]


def test_a_label_of_a_node_is_read_once_however_much_pods_ask_for() -> None:
    """40 pods with 40 terms of 11 lines, on 300 nodes (defect A6)."""
    read = ReadLabels()
    nodes = tuple(read.node(f"n{i:03}", zone=f"{i % 3}", rack=f"{i}") for i in range(300))
    cache = MaskCache(nodes)
    for number in range(40):
        assert not cache.mask(make_shape(affinity=_long_affinity(number))).any()
    keys_that_were_asked = 2
    assert 0 < read.times <= keys_that_were_asked * len(nodes)


def test_a_key_that_no_node_has_is_not_looked_for_on_each_node() -> None:
    """A tenant chooses the keys, and may name thousands (defect A6)."""
    read = ReadLabels()
    cache = MaskCache(tuple(read.node(f"n{i}", a="") for i in range(50)))
    lines = [Requirement(f"key-{i}", "DoesNotExist") for i in range(100)]
    assert cache.mask(make_shape(affinity=[make_term(*lines)])).all()
    assert read.times == 0


def test_requirements_are_read_once_a_class(monkeypatch) -> None:
    """A node that changes is held against sets, not against texts (defect A6)."""
    read: list[object] = []
    made = NodeFilter.__init__

    def counted(self: NodeFilter, shape) -> None:
        read.append(shape)
        made(self, shape)

    monkeypatch.setattr(NodeFilter, "__init__", counted)
    cache = MaskCache((A, B, C))
    for _ in range(3):
        cache.mask(make_shape(affinity=_long_affinity(1)))
        cache = cache.renewed((make_node("a", labels={"zone": "x"}), B, C))
    assert len(read) == 1


def test_what_is_kept_is_bounded_by_its_size_as_well() -> None:
    """Else 512 classes of a tenant hold hundreds of MB after their pods are gone (defect A6)."""
    cache = MaskCache((A, B), most_weight=5000)
    for number in range(20):
        cache.mask(make_shape(affinity=_long_affinity(number)))
    assert len(list(cache.kept())) == 2  # 40 terms of 32 values and 11 lines weigh 1721


def test_many_changed_nodes_are_judged_on_demand(asked) -> None:
    cache = MaskCache((A, B, C))
    cache.mask(ZONE_A)
    asked.clear()
    others = tuple(make_node(f"n{i:02}", labels={"zone": "a"}) for i in range(40))
    new = cache.renewed(others)
    assert asked == []
    assert new.mask(ZONE_A).all()
