"""The scheduling loop takes no more than its share of a core, idle or not."""

import pytest

from extender.controllers.queue import (
    MOST_PAUSE_SECONDS,
    MOST_SETTLE_SECONDS,
    pause_seconds,
    settling_seconds,
)

PAUSES: dict[str, tuple[float, float, float]] = {
    "short cycles: every interval": (2.0, 0.01, 2.0),
    "longer ones: a twentieth of the time": (2.0, 0.25, 5.0),
    "very long ones: yet one every few seconds": (2.0, 3.0, MOST_PAUSE_SECONDS),
    "an interval that is longer than that stays": (60.0, 3.0, 60.0),
}


@pytest.mark.parametrize(("interval", "cycle", "want"), PAUSES.values(), ids=PAUSES)
def test_the_pause_grows_with_what_a_cycle_takes(
    interval: float, cycle: float, want: float
) -> None:
    assert pause_seconds(interval, cycle) == pytest.approx(want)


SETTLES: dict[str, tuple[float, float, float]] = {
    "short cycles: as it is set": (0.2, 0.01, 0.2),
    "longer ones: a fifth of the time": (0.2, 0.25, 1.0),
    "very long ones: yet one every few seconds": (0.2, 1.0, MOST_SETTLE_SECONDS),
    "longer than that: half the time": (0.2, 3.0, 3.0),
    "what is set longer stays": (5.0, 1.0, 5.0),
}


@pytest.mark.parametrize(("settle", "cycle", "want"), SETTLES.values(), ids=SETTLES)
def test_changes_wait_for_each_other_longer_where_a_cycle_is_long(
    settle: float, cycle: float, want: float
) -> None:
    assert settling_seconds(settle, cycle) == pytest.approx(want)
