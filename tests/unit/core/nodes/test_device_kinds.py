"""Kinds of devices: what is kept is bounded, and devices that are alike share a result."""

import pytest

from extender.core.expressions import evaluation
from extender.core.expressions.errors import UnsupportedError
from extender.core.nodes import device_columns, device_kinds
from extender.core.nodes.device_catalog import Share
from extender.core.nodes.device_columns import layout
from extender.core.nodes.device_kinds import Kind, Selections
from tests.fakes.device_builders import make_device

DRIVER = "gpu.example.com"
BY_INDEX = Kind((f'device.attributes["{DRIVER}"].index > 1',))


def count_evaluations(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    calls = list[object]()
    holds = evaluation.holds

    def counted(*arguments: object) -> bool:
        calls.append(arguments)
        return holds(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(evaluation, "holds", counted)
    return calls


def test_devices_that_are_alike_in_what_is_read_share_a_result(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    calls, seen = count_evaluations(monkeypatch), Selections()
    devices = [make_device(attributes={"index": i % 2 * 2, "uuid": f"{i}"}) for i in range(10)]
    found = [seen.accepts(BY_INDEX, DRIVER, device) for device in devices]
    assert found == [False, True] * 5
    assert len(calls) == 2


def test_a_selector_that_tells_too_many_devices_apart_is_not_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The limit is one of work: devices that are known already cost nothing."""
    monkeypatch.setattr(device_kinds, "MOST_WORK", 23)
    seen, devices = Selections(), [make_device(attributes={"index": i}) for i in range(4)]
    found = [seen.accepts(BY_INDEX, DRIVER, one) for one in devices[:3]]
    assert found == [False, False, True]
    with pytest.raises(UnsupportedError, match="more than 23 steps for all devices"):
        seen.accepts(BY_INDEX, DRIVER, devices[3])
    assert not seen.accepts(BY_INDEX, DRIVER, devices[0])


def test_selectors_are_dropped_when_they_are_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(device_kinds, "MOST_SELECTORS", 3)
    seen = Selections()
    for i in range(10):
        assert seen.accepts(Kind((f"{i} == {i}",)), DRIVER, make_device())
        assert len(seen._read) <= 3


def test_kinds_beyond_the_most_say_so() -> None:
    wanted = {
        f"r{i:03}": ((Share(f"r{i:03}", Kind((f"device.driver == '{i}'",)), 1),),)
        for i in range(device_columns.MOST_KINDS + 1)
    }
    demands = layout(wanted, frozenset(wanted), ()).demands
    reasons = [name for name, demand in demands.items() if demand.reason]
    assert reasons == [f"r{device_columns.MOST_KINDS:03}"]
    assert demands[reasons[0]].reason.endswith("more than 32 kinds of devices are requested")
