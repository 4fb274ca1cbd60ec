"""Virtual time: order of events, and the clocks."""

import pytest

from simulator.cluster.decider import next_tick
from simulator.cluster.events import EPOCH_SECONDS, EventHeap, Kind, VirtualClock


def test_both_clocks_show_the_time_of_the_workload():
    clock = VirtualClock()
    clock.advance(12.5)
    assert clock.now() == clock.monotonic() == EPOCH_SECONDS + 12.5


def test_the_clock_never_goes_back():
    clock = VirtualClock(5.0)
    with pytest.raises(ValueError, match="in the past"):
        clock.advance(4.0)


def test_events_come_by_time_then_by_kind_then_in_order_of_insertion():
    heap = EventHeap()
    heap.push(2.0, Kind.DECIDE)
    heap.push(2.0, Kind.ARRIVAL, "second")
    heap.push(2.0, Kind.ARRIVAL, "a third")
    heap.push(2.0, Kind.END, "first")
    heap.push(1.0, Kind.DECIDE)
    result = []
    while heap:
        event = heap.pop()
        result.append((event.at, event.job or event.kind.name))
    assert result == [
        (1.0, "DECIDE"),
        (2.0, "first"),
        (2.0, "second"),
        (2.0, "a third"),
        (2.0, "DECIDE"),
    ]


@pytest.mark.parametrize(("now", "tick"), [(0.0, 600.0), (599.9, 600.0), (600.0, 1200.0)])
def test_ticks_are_multiples_of_the_interval(now, tick):
    assert next_tick(now, 600.0) == tick


@pytest.mark.parametrize("every", [0.1, 0.3, 7.7])
def test_the_next_tick_is_always_later(every):
    now = 0.0
    for _ in range(1000):
        assert next_tick(now, every) > now
        now = next_tick(now, every)
