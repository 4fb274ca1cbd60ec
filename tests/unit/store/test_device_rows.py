"""Rows of the columns of devices: results of searches are kept, and not for ever."""

import pytest

from extender.core.nodes.claim_allocation import ClaimOnNode, Offer, Stock
from extender.core.nodes.device_columns import Demand, Layout
from extender.core.nodes.device_sets import Claims, NodeSets
from extender.store import device_rows
from extender.store.device_claims import ClaimedDevices
from extender.store.device_holders import Waiting
from extender.store.device_rows import DeviceRows, Load, load
from shared.objects.devices import DeviceId
from tests.fakes.builders import make_node
from tests.fakes.device_builders import make_device_claim

COLUMN = "claims"
TEMPLATE = "of claims"
LAYOUT = Layout({COLUMN: (COLUMN,)}, demands={TEMPLATE: Demand(((COLUMN, 1),))})
NODE = make_node("n")


def found(devices: int) -> NodeSets:
    """Return a node on which each claim takes two devices."""
    offer = Offer("", tuple(range(devices)), ((),) * devices, 2)
    stock = Stock(takes=((),) * devices, counters=(), capacity=(None,) * devices)
    claims = Claims(ClaimOnNode((("r", (offer,)),), (), stock), devices // 2)
    return NodeSets(claims={COLUMN: claims})


def order(devices: int) -> tuple[DeviceId, ...]:
    return tuple(DeviceId("gpu.example.com", "n", f"gpu-{i}") for i in range(devices))


def row(waiting: int, *held: str, devices: int = 8) -> tuple[int, int]:
    claimed = ClaimedDevices()
    claimed.change(None, make_device_claim("held", *(("n", name) for name in held)))
    on_node = load(order(devices), claimed, Waiting(claims=((TEMPLATE, waiting),)))
    (allocatable,), (used,) = DeviceRows().row(NODE, found(devices), on_node, LAYOUT)
    return allocatable, used


def test_claims_and_pods_that_wait_for_devices_are_counted() -> None:
    assert row(0) == (4, 0)
    assert row(1) == (4, 1)
    assert row(0, "gpu-0") == (4, 1)
    assert row(0, "gpu-0", "gpu-3") == (4, 1)
    assert row(2, "gpu-0") == (4, 3)


def test_pods_that_find_no_devices_count_nevertheless() -> None:
    assert row(2, *(f"gpu-{i}" for i in range(7))) == (4, 6)


@pytest.mark.parametrize("limit", ["MOST_RESULTS", "MOST_ROWS"])
def test_results_of_searches_and_rows_are_dropped_when_they_are_many(
    monkeypatch: pytest.MonkeyPatch, limit: str
) -> None:
    monkeypatch.setattr(device_rows, limit, 3)
    rows = DeviceRows()
    for devices in range(2, 12):
        (allocatable,), _ = rows.row(NODE, found(devices), Load(), LAYOUT)
        assert allocatable == devices // 2
        assert min(len(rows._results), len(rows._kept)) <= 3


def test_nodes_that_are_alike_have_one_row() -> None:
    rows, of_node = DeviceRows(), found(8)
    one = rows.row(NODE, of_node, Load(), LAYOUT)
    assert rows.row(make_node("other"), of_node, Load(), LAYOUT) is one
    assert rows.row(NODE, of_node, Load(alone=1), LAYOUT) is not one
    assert rows.row(NODE, of_node, Load(), Layout({})) == ([], [])
