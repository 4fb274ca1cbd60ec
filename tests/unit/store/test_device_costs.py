"""What a new selector costs: it is evaluated on the event loop, so that is bounded."""

import time

import pytest

from extender.core.expressions import evaluation
from extender.core.expressions.evaluation import Scope
from extender.core.expressions.syntax import Node
from extender.core.nodes import device_kinds
from extender.store.store import ClusterStore
from shared.devices import DeviceRequest
from shared.model import Upsert
from tests.fakes.builders import (
    make_claim_template,
    make_device,
    make_device_class,
    make_node,
    make_pod,
    make_slice,
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
