"""Nodes whose devices mean the same are one group: nothing else depends on how they are grouped."""

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from extender.core.nodes.device_catalog import Choice, Counted
from extender.core.nodes.device_kinds import Kind
from extender.core.nodes.device_sets import NodeDevices, Seen, node_sets, on_node
from extender.store import device_groups
from extender.store.device_groups import DeviceGroups
from shared.devices import Device, DeviceId, Version
from shared.model import NodeName, Taint
from tests.fakes.builders import make_device

DRIVER = "gpu.example.com"
OWN = f'device.attributes["{DRIVER}"]'
KINDS: Mapping[str, Counted] = {
    "all": Kind(()),
    "first": Kind((f"{OWN}.index < 1",)),
    "by uuid": Kind((f'{OWN}.uuid == "u1"',)),
    "by name": Kind((f'device.attributes["{DRIVER}"].?x.orValue(true)',)),
    "every attribute": Kind((f'{OWN}.all(name, name != "x")',)),
    "either": Choice((Kind((f"{OWN}.index < 1",)), Kind((f'{OWN}.uuid == "u0"',))), 1),
}
VALUES = st.sampled_from([True, 1, 0, "u0", "u1", Version("1.0.0")])
NAMES = st.sampled_from(["index", "uuid", "x", f"{DRIVER}/uuid"])
ILL = Taint("ill", "", "NoSchedule")


def of_node(node: str, devices: list[Device]) -> NodeDevices:
    return NodeDevices(tuple((DeviceId(DRIVER, node, one.name), one) for one in devices))


def alike(count: int, **attributes: int | str) -> list[Device]:
    return [make_device(f"gpu-{i}", attributes=attributes) for i in range(count)]


@st.composite
def devices(draw: st.DrawFn) -> list[Device]:
    return [
        make_device(
            f"gpu-{i}",
            attributes=draw(st.dictionaries(NAMES, VALUES, max_size=3)),
            taints=[ILL] if draw(st.booleans()) else [],
        )
        for i in range(draw(st.integers(0, 2)))
    ]


changes = st.lists(
    st.tuples(st.sampled_from("abc"), devices()) | st.sets(st.sampled_from(sorted(KINDS))),
    max_size=12,
)


@given(changes)
def test_each_node_has_what_its_own_devices_mean(
    changed: list[tuple[str, list[Device]] | set[str]],
) -> None:
    groups, columns, there = DeviceGroups(), dict[str, Counted](), dict[str, NodeDevices]()
    for change in changed:
        if isinstance(change, set):
            columns = {name: KINDS[name] for name in change}
            groups.use(columns)
            continue
        node, of_it = change
        there[node] = of_node(node, of_it)
        groups.put(NodeName(node), there[node], frozenset())
    for node, found in there.items():
        seen = {name: on_node(counts, found, Seen()) for name, counts in columns.items()}
        alone = node_sets(found, seen if found.devices else {})
        assert groups.sets(NodeName(node)) == alone
        assert groups.order(NodeName(node)) == tuple(identity for identity, _ in found.devices)


def test_an_attribute_that_no_column_reads_makes_no_group(monkeypatch: pytest.MonkeyPatch) -> None:
    groups, calls = DeviceGroups(), list[object]()
    monkeypatch.setattr(
        device_groups, "on_node", lambda *given: calls.append(given) or on_node(*given)
    )
    for i in range(20):
        found = of_node(f"n{i}", alike(2, index=i % 2, uuid=f"u{i}"))
        groups.put(NodeName(f"n{i}"), found, frozenset())
    groups.use({"first": KINDS["first"]})
    assert len(calls) == len({0, 1})
    groups.use({"first": KINDS["first"], "all": KINDS["all"]})
    assert len(calls) == 2 * len({0, 1})
    groups.use({"all": KINDS["all"]})
    assert len(calls) == 2 * len({0, 1})
    assert sum(1 for _ in groups.facts()) == len({0, 1})  # finer than needed, but few


def test_a_column_that_tells_too_many_nodes_apart_is_not_modelled(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Others are; and it is again once there are fewer."""
    monkeypatch.setattr(device_groups, "MOST_APART", 2)
    groups = DeviceGroups()
    groups.use({name: KINDS[name] for name in ("all", "by uuid")})

    def reasons() -> dict[str, str]:
        return dict(pair for facts in groups.facts() for pair in facts.reasons)

    for i in range(3):
        assert not reasons()
        groups.put(NodeName(f"n{i}"), of_node(f"n{i}", alike(1, uuid=f"u{i}")), frozenset())
    assert reasons() == {"by uuid": "selector not read: it tells more than 2 nodes apart"}
    assert groups.sets(NodeName("n1")).sets == {"all": 1}
    groups.remove(NodeName("n0"))
    assert not reasons()
    assert groups.sets(NodeName("n1")).sets == {"all": 1, "by uuid": 1}


def test_kinds_of_nodes_are_dropped_when_they_are_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(device_groups, "MOST_FIXED", 3)
    groups = DeviceGroups()
    groups.use({"all": KINDS["all"]})
    for i in range(10):
        groups.put(NodeName(f"n{i}"), of_node(f"n{i}", alike(i + 1)), frozenset())
        assert len(groups._fixed) <= 3
    assert [groups.sets(NodeName(f"n{i}")).sets["all"].bit_count() for i in range(10)] == [
        *range(1, 11)
    ]
