"""Rows of the columns of devices: results of searches are kept, and not for ever."""

from collections import Counter

import pytest

from extender.core.nodes.claim_allocation import ClaimOnNode, Offer, Stock
from extender.core.nodes.device_columns import Layout
from extender.core.nodes.device_sets import Claims, NodeSets
from extender.store import device_rows
from extender.store.device_claims import ClaimedDevices
from extender.store.device_rows import DeviceRows
from shared.devices import DeviceId
from tests.fakes.builders import make_device_claim, make_node

COLUMN = "claims"
LAYOUT = Layout({COLUMN: (COLUMN,)})
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
    columns = Counter({COLUMN: waiting})
    of_node = found(devices), order(devices)
    allocatable, used = DeviceRows().row(NODE, *of_node, LAYOUT, columns, claimed)
    return allocatable[COLUMN], used[COLUMN]


def test_claims_and_pods_that_wait_for_devices_are_counted() -> None:
    assert row(0) == (4, 0)
    assert row(1) == (4, 1)
    assert row(0, "gpu-0") == (4, 1)
    assert row(0, "gpu-0", "gpu-3") == (4, 1)
    assert row(2, "gpu-0") == (4, 3)


def test_pods_that_find_no_devices_count_nevertheless() -> None:
    assert row(2, *(f"gpu-{i}" for i in range(7))) == (4, 6)


def test_results_of_searches_are_dropped_when_they_are_many(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(device_rows, "MOST_RESULTS", 3)
    rows, claimed = DeviceRows(), ClaimedDevices()
    for devices in range(2, 12):
        rows.row(NODE, found(devices), order(devices), LAYOUT, Counter(), claimed)
        assert len(rows._results) <= 3
