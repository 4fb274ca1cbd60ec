"""Ticks on the metric's own grid: values read live or again give the same category."""

import random
from collections.abc import Sequence
from dataclasses import replace

import pytest

from agent.tracking.track import Track
from shared.convergence.parameters import PRINTED, RECOMMENDED, Rule
from shared.progress import Category, Evidence, Goal, Stage

INTERVAL_SECONDS = 10.0
PARAMS = replace(RECOMMENDED, rule=Rule.SPECON, interval_seconds=INTERVAL_SECONDS)
START = 1000.0
Values = Sequence[tuple[float, float]]


def falling(seconds: int, every: float = 1.0) -> Values:
    """Times and losses of a run that converges."""
    count = int(seconds / every)
    return [(START + n * every, 1.0 + 0.95 ** (n * every)) for n in range(count)]


def live(values: Values, poll_seconds: float = 1.0) -> Track:
    """Read each value soon after it was made, with a poll now and then."""
    track, waiting = Track(Goal.MIN, PARAMS), list(values)
    now = START
    while now < values[-1][0] + INTERVAL_SECONDS:
        while waiting and waiting[0][0] <= now:
            at, value = waiting.pop(0)
            track.take(value, at - START, at)
        track.advance(now)
        now += poll_seconds
    track.advance(now)
    return track


def late(values: Values, delay_seconds: float) -> Track:
    """Read the values in batches, as a writer hands them on that keeps them for a while."""
    track, waiting = Track(Goal.MIN, PARAMS), list(values)
    now = START
    while waiting:
        now += delay_seconds
        while waiting and waiting[0][0] <= now:
            at, value = waiting.pop(0)
            track.take(value, at - START, at)
        for moment in range(int(delay_seconds)):
            track.advance(now + moment)
    return track


def again(values: Values) -> Track:
    """Read everything at once, as a restarted agent does."""
    return late(values, 1e6)


def test_a_run_that_flattens_is_progressing_then_watching_then_converged() -> None:
    seen = [live(falling(seconds)).category for seconds in range(1, 200, 5)]
    assert list(dict.fromkeys(seen)) == [
        Category.PROGRESSING,
        Category.WATCHING,
        Category.CONVERGED,
    ]


@pytest.mark.parametrize("seconds", [15, 45, 75, 95, 115, 155])
def test_values_read_again_give_the_category_that_they_gave_live(seconds: int) -> None:
    assert again(falling(seconds)).state == live(falling(seconds)).state


def test_values_that_come_late_change_little() -> None:
    """A tick in the middle of a batch to come sees a part of its interval."""
    first, second = live(falling(155)).state, late(falling(155), 25.0).state
    assert first.category is second.category is Category.CONVERGED
    assert first.converged_at is not None
    assert second.converged_at == pytest.approx(first.converged_at, abs=2 * INTERVAL_SECONDS)


def test_a_silent_trainer_keeps_its_category() -> None:
    track = live(falling(60))
    before = track.state
    for moment in range(1000):
        track.advance(START + 70 + moment)
    assert track.state == before


def test_silence_counts_with_the_printed_algorithm() -> None:
    track = Track(Goal.MIN, replace(PRINTED, interval_seconds=10.0))
    for at, value in falling(31):
        track.take(value, None, at)
    track.advance(START + 31)
    before = track.category
    track.advance(START + 200)
    assert (before, track.category) == (Category.PROGRESSING, Category.WATCHING)


def test_a_silence_of_years_takes_no_time() -> None:
    track = live(falling(60))
    track.take(0.9, 61.0, START + 1e9)
    track.advance(START + 1e9 + 60)
    assert track.state.ticked_at is not None
    assert track.state.ticked_at >= START + 1e9 - 10


def test_a_clock_that_was_set_back_does_not_stop_the_ticks() -> None:
    track = live(falling(60))
    for second in range(120):
        at = START - 5000 + second
        track.take(1.0, None, at)
        track.advance(at)
    assert track.state.ticked_at is not None
    assert START - 5000 <= track.state.ticked_at <= START - 5000 + 120


def test_first_last_and_best_value_are_kept() -> None:
    track = Track(Goal.MAX, PARAMS)
    for number, value in enumerate((0.5, 0.9, 0.7)):
        track.take(value, float(number), START + number)
    assert (track.first_value, track.best_value, track.value, track.points) == (0.5, 0.9, 0.7, 3)


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), float("-inf")])
def test_a_value_that_is_no_number_is_divergence_and_never_a_value(bad: float) -> None:
    track = Track(Goal.MIN, PARAMS)
    track.take(2.0, 1.0, START)
    track.take(bad, 2.0, START + 1)
    assert (track.diverged, track.value, track.points) == (True, 2.0, 2)
    assert track.curve.values() == (2.0,)
    track.take(1.0, 3.0, START + 2)
    assert (track.diverged, track.value) == (False, 1.0)


def test_a_run_that_begins_with_no_number_has_no_value_yet() -> None:
    track = Track(Goal.MIN, PARAMS)
    track.take(float("nan"), 1.0, START)
    track.advance(START + 100)
    assert (track.value, track.state.ticked_at) == (None, None)


def test_a_restart_begins_the_standing_anew_and_keeps_what_came_before_it() -> None:
    track = live(falling(150))
    assert track.category is Category.CONVERGED
    track.restart(100.0)
    assert (track.category, track.state.converged_at) == (Category.PROGRESSING, None)
    assert track.first_value == 2.0
    assert max(point.step for point in track.curve.points()) < 100.0


def test_the_end_is_predicted_and_comes_nearer_between_two_fits() -> None:
    track, rng = Track(Goal.MIN, PARAMS), random.Random(1)
    for second in range(100):
        track.take(1.0 + 0.97**second + rng.gauss(0, 0.001), float(second), START + second)
    track.predict(200.0, START + 99)
    first = track.remaining_seconds
    assert first is not None
    assert first.value == pytest.approx(101, abs=3)
    assert track.remaining_loss is not None
    track.take(1.05, 100.0, START + 105)
    track.predict(200.0, START + 105)
    second = track.remaining_seconds
    assert second is not None
    assert second.value == pytest.approx(first.value - 6)


def test_without_an_end_nothing_is_predicted() -> None:
    track = live(falling(60))
    track.predict(None, START + 60)
    assert (track.remaining_seconds, track.remaining_loss) == (None, None)


def test_a_number_of_points_is_not_a_number_of_steps() -> None:
    track = Track(Goal.MIN, PARAMS)
    for n in range(40):
        track.take(3.0 - n / 20, None, START + n)
    track.predict(20, START + 40)  # it would be over, if points were steps
    assert track.remaining_seconds is None


def test_a_value_without_a_step_belongs_to_the_last_step() -> None:
    """Hugging Face prints the epoch with two digits: the next lines have the same one."""
    track = Track(Goal.MIN, PARAMS)
    for n in range(60):
        track.take(3.0 - n / 30, n // 3 / 100 if n % 3 == 0 else None, START + n)
    track.predict(3, START + 60)
    assert track.remaining_seconds is not None
    assert track.remaining_seconds.value == pytest.approx(2.81 * 300, rel=0.1)


def flat() -> Track:
    """A run by the evidence, on its plateau at 300 s."""
    track = Track(Goal.MIN, RECOMMENDED)
    for n in range(300):
        track.take(1.0 + 0.95**n, n, START + n)
    track.predict(600, START + 300)
    return track


def test_a_plateau_is_converged_with_its_beginning() -> None:
    track = flat()
    assert (track.evidence.stage, track.category) == (Stage.PLATEAU, Category.CONVERGED)
    assert track.converged_at == START + 299
    since = track.evidence.since_step
    assert since is not None
    assert 40 < since < 200
    track.take(1.0, 300, START + 300)
    track.predict(600, START + 1000)
    assert track.converged_at == START + 299


def test_a_nan_ends_a_plateau_at_once() -> None:
    track = flat()
    track.take(float("nan"), 300, START + 301)
    assert (track.evidence, track.category) == (
        Evidence(stage=Stage.DIVERGING, since_step=300),
        Category.PROGRESSING,
    )
    assert track.converged_at is None


def test_a_rise_ends_a_plateau() -> None:
    track = flat()
    for n in range(100):
        track.take(1.0 + n / 100, 300 + n, START + 300 + n)
    track.predict(600, START + 1000)
    assert (track.evidence.stage, track.category) == (Stage.RISING, Category.WATCHING)
    assert track.converged_at is None


def test_a_restart_begins_anew() -> None:
    track = flat()
    track.restart(10)
    assert (track.evidence, track.category) == (Evidence(), Category.PROGRESSING)


def test_specons_category_is_kept_beside_the_evidence() -> None:
    """A slow run with most of its way to go: Algorithm 1 sees a small growth that falls."""
    track = Track(Goal.MIN, replace(RECOMMENDED, interval_seconds=INTERVAL_SECONDS))
    for n in range(300):
        track.take((n + 1) ** -0.1, n, START + n)
        track.advance(START + n)
    track.predict(3000, START + 300)
    assert (track.state.category, track.category) == (Category.CONVERGED, Category.PROGRESSING)
