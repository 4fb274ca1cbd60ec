"""Nodes whose devices mean the same are one group: nothing else depends on how they are grouped."""

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from extender.core.nodes.device_catalog import Choice, Counted
from extender.core.nodes.device_kinds import Kind
from extender.core.nodes.device_sets import NodeDevices, NodeSets, Seen, node_sets, on_node
from extender.store import device_groups
from extender.store.device_groups import DeviceGroups
from extender.store.device_taints import TaintRules
from shared.model import NodeName, Taint
from shared.objects.devices import Device, DeviceId, DeviceTaintRule, Version
from tests.fakes.device_builders import make_device, make_taint_rule

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


def tainted(published: NodeDevices, rules: list[DeviceTaintRule]) -> NodeDevices:
    """Return the devices with the taints of the rules, device by device."""
    found = []
    for identity, device in published.devices:
        names = {"driver": identity.driver, "pool": identity.pool, "device": identity.device}
        selecting = (r for r in rules if all(getattr(r, n) in {"", v} for n, v in names.items()))
        taints = (*device.taints, *(rule.taint for rule in selecting))
        found.append((identity, replace(device, taints=taints)))
    return NodeDevices(tuple(found))


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


RULES = {
    rule.name: rule
    for rule in (
        make_taint_rule("all"),
        make_taint_rule("driver", driver=DRIVER),
        make_taint_rule("other", driver="nic.example.com"),
        make_taint_rule("pool", pool="a"),
        make_taint_rule("name", device="gpu-0"),
        make_taint_rule("one", driver=DRIVER, pool="b", device="gpu-1"),
    )
}
changes = st.lists(
    st.tuples(st.sampled_from("abc"), devices())
    | st.frozensets(st.sampled_from(sorted(KINDS)))
    | st.sampled_from(sorted(RULES)),
    max_size=12,
)


@given(changes)
def test_each_node_has_what_its_own_devices_mean(
    changed: list[tuple[str, list[Device]] | frozenset[str] | str],
) -> None:
    """With the taints of the rules of the day; a rule comes and goes."""
    groups, columns, there = DeviceGroups(), dict[str, Counted](), dict[str, NodeDevices]()
    rules, before = set[str](), dict[str, NodeSets]()
    for change in changed:
        if isinstance(change, frozenset):
            columns = {name: KINDS[name] for name in change}
            groups.use(columns)
        elif isinstance(change, str):
            rules ^= {change}
            before = {node: groups.sets(NodeName(node)) for node in there}
            of_day = TaintRules(RULES[name] for name in rules)
            moved = groups.taint(of_day, [RULES[change]], map(NodeName, there))
            after = {node: groups.sets(NodeName(node)) for node in there}
            assert {n for n in there if before[n] != after[n]} <= moved
        else:
            node, of_it = change
            there[node] = of_node(node, of_it)
            groups.put(NodeName(node), there[node], frozenset())
    for node, published in there.items():
        found = tainted(published, [RULES[name] for name in sorted(rules)])
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


def test_a_new_column_reads_a_node_that_is_there() -> None:
    """A node that is gone may have differed in what no column read before."""
    groups = DeviceGroups()
    groups.put(NodeName("gone"), of_node("gone", alike(1, uuid="u0")), frozenset())
    groups.put(NodeName("here"), of_node("here", alike(1, uuid="u1")), frozenset())
    groups.remove(NodeName("gone"))
    groups.use({"by uuid": KINDS["by uuid"]})
    assert groups.sets(NodeName("here")).sets == {"by uuid": 1}


def test_what_no_node_has_any_more_is_forgotten() -> None:
    groups = DeviceGroups()
    groups.use({"by uuid": KINDS["by uuid"]})
    for i in range(10):
        groups.put(NodeName("n"), of_node("n", alike(i + 1, uuid=f"u{i}")), frozenset())
        assert len(groups._made) == len({"fixed", "uuid"})
    assert sum(1 for _ in groups.facts()) == 1
    groups.remove(NodeName("n"))
    assert len(groups._made) == 0
