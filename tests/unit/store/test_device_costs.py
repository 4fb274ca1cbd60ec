"""What news about devices costs: it is read on the event loop, so that is bounded."""

import time

import pytest

from extender.core.expressions import evaluation
from extender.core.expressions.evaluation import Scope
from extender.core.expressions.syntax import Node
from extender.core.nodes import device_kinds
from extender.store import device_groups, device_taints, devices
from extender.store.store import ClusterStore
from shared.model import Delete, Upsert
from shared.objects.devices import DeviceRequest
from tests.fakes.builders import make_node, make_pod
from tests.fakes.device_builders import (
    make_claim_template,
    make_device,
    make_device_claim,
    make_device_class,
    make_slice,
    make_taint_rule,
)
from tests.unit.core.clusters import store_of

OWN = 'device.attributes["gpu.example.com"]'
COSTLY = "[1, 2, 3, 4, 5, 6].all(x, [1, 2, 3, 4, 5, 6].exists(y, y == x))"
SELECTORS = {
    "one value of all devices": f'{OWN}.model == "H100" && {COSTLY}',
    "a value of each device": f'{OWN}.uuid != "x" && {COSTLY}',
    "all attributes": f'{OWN}.all(name, name != "x") && {COSTLY}',
}
MOST_SECONDS = 0.25
"""Of processor time: some 20 ms on an idle machine, where each device by itself took 2 s."""


def cluster(nodes: int, *, racks: int) -> ClusterStore:
    """Return nodes of eight devices; of a rack all devices have the same serial number."""
    store = store_of(make_device_class("gpu", resource=""))
    for n in range(nodes):
        attributes = [{"model": "H100", "uuid": f"{n % racks}-{i}", "index": i} for i in range(8)]
        devices = [make_device(f"gpu-{i}", attributes=a) for i, a in enumerate(attributes)]
        store.apply(Upsert(make_node(f"n{n}")))
        store.apply(Upsert(make_slice(f"n{n}", devices)))
    store.snapshot()
    return store


@pytest.mark.parametrize("racks", [1, 100, 1000], ids="{} different nodes".format)
@pytest.mark.parametrize("selector", SELECTORS.values(), ids=SELECTORS)
def test_a_costly_selector_is_evaluated_for_what_differs_and_no_longer_than_the_limit(
    monkeypatch: pytest.MonkeyPatch, selector: str, racks: int
) -> None:
    store, taken, holds = cluster(1000, racks=racks), list[int](), evaluation.holds

    def counted(tree: Node, scope: Scope) -> bool:
        try:
            return holds(tree, scope)
        finally:
            taken.append(scope.taken)

    monkeypatch.setattr(evaluation, "holds", counted)
    request = DeviceRequest(device_class="gpu", selectors=(selector,))
    store.apply(Upsert(make_claim_template("gpus", request)))
    store.apply(Upsert(make_pod("p", device_claims=["gpus"])))
    begin = time.thread_time()
    store.snapshot()
    seconds = time.thread_time() - begin
    assert sum(taken) < device_kinds.MOST_WORK + evaluation.MOST_STEPS
    assert len(taken) <= 8 * racks
    assert seconds < MOST_SECONDS


class Calls:
    """Counts the calls of a function, which goes on working."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, module: object, name: str) -> None:
        self.number, function = 0, getattr(module, name)

        def counted(*given: object, **named: object) -> object:
            self.number += 1
            return function(*given, **named)

        monkeypatch.setattr(module, name, counted)


def claiming(store: ClusterStore) -> None:
    """A pod comes that claims a device."""
    store.apply(Upsert(make_claim_template("gpus")))
    store.apply(Upsert(make_pod("p", device_claims=["gpus"])))
    store.snapshot()


@pytest.mark.parametrize("held", [False, True], ids=["idle", "all devices are taken"])
def test_the_first_claim_after_a_start_counts_nothing_anew_that_is_taken(
    monkeypatch: pytest.MonkeyPatch, *, held: bool
) -> None:
    store = cluster(1000, racks=1)
    for n in range(1000 if held else 0):
        store.apply(Upsert(make_device_claim(f"c{n}", *((f"n{n}", f"gpu-{i}") for i in range(8)))))
    store.snapshot()
    loads, found = Calls(monkeypatch, devices, "load"), Calls(monkeypatch, device_groups, "on_node")
    claiming(store)
    assert loads.number == 0
    assert found.number == 1  # one column, and all nodes are alike


WIDE = {"all devices": {}, "the devices of a driver": {"driver": "gpu.example.com"}}


@pytest.mark.parametrize("selected", WIDE.values(), ids=WIDE)
def test_a_rule_for_all_nodes_is_applied_once_to_each_of_those_that_differ(
    monkeypatch: pytest.MonkeyPatch, selected: dict[str, str]
) -> None:
    store, rule = cluster(1000, racks=1), make_taint_rule(**selected)
    claiming(store)
    tainted = Calls(monkeypatch, device_taints, "replace")
    found = Calls(monkeypatch, device_groups, "on_node")
    loads = Calls(monkeypatch, devices, "load")
    store.apply(Upsert(rule))
    store.snapshot()
    assert (tainted.number, found.number, loads.number) == (8, 1, 0)
    store.apply(Delete("DeviceTaintRule", rule.key, rule.uid))
    store.snapshot()
    assert (tainted.number, found.number, loads.number) == (8, 2, 0)


def test_a_rule_for_a_pool_reads_the_nodes_of_that_pool(monkeypatch: pytest.MonkeyPatch) -> None:
    store = cluster(1000, racks=1)
    claiming(store)
    tainted = Calls(monkeypatch, device_taints, "replace")
    found = Calls(monkeypatch, device_groups, "on_node")
    store.apply(Upsert(make_taint_rule(pool="n7")))
    store.snapshot()
    assert (tainted.number, found.number) == (8, 1)
