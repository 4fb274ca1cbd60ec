"""Heartbeats in, an answer out."""

import pytest

from shared.health import Health


class Watch:
    """A clock that is set by hand."""

    seconds = 100.0

    def __call__(self) -> float:
        return self.seconds


@pytest.fixture
def watch() -> Watch:
    return Watch()


@pytest.mark.parametrize(("silent_seconds", "alive"), [(0.0, True), (5.0, True), (5.1, False)])
def test_a_loop_is_alive_until_its_silence_is_too_long(
    watch: Watch, silent_seconds: float, alive: bool
) -> None:
    health = Health(watch)
    health.heartbeat("schedule", max_age_seconds=5.0)
    watch.seconds += silent_seconds
    assert health.livez()[0] is alive


def test_a_beat_ends_the_silence_and_the_answer_names_who_is_silent(watch: Watch) -> None:
    health = Health(watch)
    first, _ = health.heartbeat("first", 5.0), health.heartbeat("second", 5.0)
    watch.seconds += 6.0
    first.beat()
    want = {"first": "ok", "second": "silent for 6.0 s, allowed are 5 s"}
    assert health.livez() == (False, want)


def test_two_heartbeats_of_one_name_are_a_mistake(watch: Watch) -> None:
    health = Health(watch)
    health.heartbeat("schedule", 5.0)
    with pytest.raises(ValueError, match="schedule"):
        health.heartbeat("schedule", 5.0)


@pytest.mark.parametrize("holds", [True, False])
def test_ready_means_that_every_condition_holds(watch: Watch, holds: bool) -> None:
    health = Health(watch, {"synced": lambda: True, "serving": lambda: holds})
    assert health.readyz() == (holds, {"synced": "ok", "serving": "ok" if holds else "not yet"})


def test_without_loops_and_conditions_all_is_well(watch: Watch) -> None:
    assert Health(watch).livez() == Health(watch).readyz() == (True, {})
