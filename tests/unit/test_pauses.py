"""A scheduling loop that has nothing to do takes no more than its share of a core."""

import pytest

from extender.loops.schedule import MOST_PAUSE_SECONDS, pause_seconds

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
