"""Pauses between values are measured by when they are read."""

import math
from pathlib import Path

import pytest

from agent.tracking import pod
from agent.tracking.pace import MOST_GAPS
from shared.progress import Pace, Progress
from tests.fakes.extender import place
from tests.unit.agent.tracking.test_tracker import START, A, Yard

TICK_SECONDS = 3.0
"""The interval of readings in these tests."""


@pytest.fixture
def yard(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Yard:
    monkeypatch.setattr(pod, "STEADY_SECONDS", math.inf)
    return Yard(tmp_path)


def progress(yard: Yard) -> Progress:
    found = yard.turn(place("a")).reports[A].progress
    assert found is not None
    return found


def pace(yard: Yard) -> Pace:
    found = progress(yard).pace
    assert found is not None
    return found


def wait(yard: Yard, seconds: float) -> Pace:
    for _ in range(int(seconds / TICK_SECONDS)):
        yard.seconds += TICK_SECONDS
        last = pace(yard)
    return last


def train(yard: Yard, *steps: int) -> Pace:
    yard.train("a", *steps)
    return wait(yard, TICK_SECONDS)


def test_what_a_file_had_before_gives_no_pause(yard: Yard) -> None:
    yard.train("a", *range(1, 50))
    assert pace(yard).gaps == 0
    assert train(yard, 50).gaps == 0  # since the past of the file: not a pause that was seen
    assert train(yard, 51) == Pace(
        moved_at=START + 2 * TICK_SECONDS, gaps=1, usual_seconds=3.0, longest_seconds=3.0
    )


def test_values_that_are_written_together_are_one_moment(yard: Yard) -> None:
    yard.train("a", 1)
    wait(yard, 3)
    for burst in range(1, 4):
        wait(yard, 57)
        found = train(yard, *range(10 * burst, 10 * burst + 10))
    assert (found.gaps, found.usual_seconds) == (2, 60.0)


def test_silence_changes_nothing_and_the_longest_pause_is_kept(yard: Yard) -> None:
    yard.train("a", 1)
    wait(yard, 3)
    for step in range(2, 12):
        train(yard, step)
    before = pace(yard)
    assert wait(yard, 300) == before
    assert train(yard, 12).longest_seconds == 303.0
    assert pace(yard).usual_seconds == 3.0


def test_a_restart_of_the_training_is_no_pause(yard: Yard) -> None:
    yard.train("a", 1)
    wait(yard, 3)
    for step in range(2, 12):
        train(yard, step)
    wait(yard, 600)
    assert train(yard, 5, 6).longest_seconds == 3.0
    assert progress(yard).attempt == 2


def test_only_the_last_pauses_are_kept(yard: Yard) -> None:
    yard.train("a", 1)
    wait(yard, 3)
    train(yard, 2)
    wait(yard, 300)
    assert train(yard, 3).longest_seconds == 303.0
    for step in range(4, 4 + MOST_GAPS):
        found = train(yard, step)
    assert (found.gaps, found.longest_seconds) == (MOST_GAPS, 3.0)


def test_bad_values_are_counted_until_one_is_finite(yard: Yard) -> None:
    def write(step: int, loss: str) -> Progress:
        file = yard.root / "team" / "a" / "metrics" / "a.jsonl"
        with file.open("a") as stream:
            stream.write(f'{{"step": {step}, "loss": {loss}}}\n')
        yard.seconds += TICK_SECONDS
        return progress(yard)

    yard.train("a", 1, 2)
    assert progress(yard).bad_values == 0
    for bad, step in enumerate((3, 4, 5), start=1):
        found = write(step, "NaN")
        assert (found.bad_values, found.bad_since_step, found.diverged) == (bad, 3, True)
    found = write(6, "0.5")
    assert (found.bad_values, found.bad_since_step, found.diverged) == (0, None, False)
