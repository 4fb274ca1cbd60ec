"""One source: steps, times, restarts, and which of its metrics is followed."""

from dataclasses import replace

import pytest

from agent.tracking.allowance import Allowance
from agent.tracking.source import MOST_NAMES
from agent.tracking.streams import Batch, Reading
from shared.convergence.parameters import RECOMMENDED, Rule
from shared.convergence.rate import UNKNOWN
from shared.parsing.base import Point
from shared.places import MetricsPlace
from shared.progress import Category, Goal, Stage
from tests.unit.agent.tracking.streams import NOW, GivenSource, loss

NAN = float("nan")


def test_the_first_metric_gives_the_step_between_values_of_the_followed_one() -> None:
    source = GivenSource(place=MetricsPlace(metric="eval_loss"))
    source.say(loss(1, 2.0), loss(1, 0.1, name="lr"), loss(1, 2.5, name="eval_loss"))
    source.say(loss(9, 1.0), loss(10, 0.1, name="lr"))
    assert source.step == 9


def test_the_total_is_known_if_the_source_has_it() -> None:
    source = GivenSource()
    source.say(loss(1, 2.0))
    assert source.total_steps is None
    source.say(Point("loss", 1.0, 2.0, 50))
    assert source.total_steps == 50


def test_steps_and_totals_of_different_units_are_kept_apart() -> None:
    source = GivenSource()
    source.say(Point("loss", 2.0, 100.0), Point("val_accuracy", 0.5, 1.0, 40, unit="epoch"))
    source.say(Point("loss", 1.5, 200.0), Point("val_accuracy", 0.6, 2.0, 40, unit="epoch"))
    assert (source.step, source.total_steps) == (200.0, None)


def test_a_metric_that_counts_in_another_unit_from_here_on_has_not_restarted() -> None:
    source = GivenSource()
    source.say(loss(100, 3.0), loss(200, 2.5))
    happened = source.say(
        Point("loss", 2.4, 2.0, 9, unit="epoch"),
        Point("loss", 2.2, None, 9, unit="epoch"),
        Point("loss", 2.0, 3.0, 9, unit="epoch"),
    )
    assert (source.step, source.total_steps, source.attempt) == (3.0, 9, 1)
    track = source.tracks["loss"]
    assert [point.step for point in track.curve.points()] == [2.0, 2.0, 3.0]
    assert (track.points, track.first_value, list(happened)) == (5, 3.0, [])


def test_a_second_training_is_followed_once_the_first_has_ended() -> None:
    source = GivenSource()
    source.say(Point("Loss", 0.5, 1.0, 2, unit="epoch"), Point("Loss", 0.4, 2.0, 2, unit="epoch"))
    source.say(Point("Total Loss", 3.0, 1.0, 60, unit="epoch"))
    assert (set(source.tracks), source.step, source.total_steps) == ({"Total Loss"}, 1.0, 60)
    assert source.attempt == 2


def test_a_total_that_the_run_has_passed_is_not_its_total() -> None:
    source = GivenSource()
    source.say(Point("loss", 2.0, 9.0, 10))
    assert source.total_steps == 10
    source.say(Point("loss", 1.5, 11.0))
    assert source.total_steps is None


def test_values_that_are_written_together_were_made_since_the_ones_before() -> None:
    source = GivenSource()
    source.say(loss(100, 3.0), now=NOW)
    points = [loss(100 + 10 * n, 3.0 - n / 10) for n in range(1, 11)]
    source.given.batch = Batch(readings=[Reading(p, share=n / 10) for n, p in enumerate(points, 1)])
    source.read(NOW + 600, 0.0, Allowance())
    track = source.tracks["loss"]
    times = [point.at_seconds for point in track.curve.points()]
    assert times == pytest.approx([NOW + 60 * n for n in range(11)])
    track.predict(1000, NOW + 600)
    assert track.remaining_seconds is not None
    assert track.remaining_seconds.value == pytest.approx(800 * 6, rel=0.05)


BAD_STEPS = {"below 0": -1.0, "too large": 1e30, "not there": None}


@pytest.mark.parametrize("step", BAD_STEPS.values(), ids=BAD_STEPS)
def test_a_step_that_is_none_leaves_the_one_before(step: float | None) -> None:
    source = GivenSource()
    source.say(loss(5, 2.0))
    source.say(loss(step, 1.0))
    assert source.step == 5


def test_validation_is_followed_once_it_has_two_values() -> None:
    source = GivenSource()
    source.say(loss(1, 2.0), loss(2, 1.9))
    source.say(loss(2, 2.5, name="eval_loss"))
    assert list(source.tracks) == ["loss", "eval_loss"]
    source.say(loss(3, 1.8), loss(4, 2.4, name="eval_loss"))
    assert list(source.tracks) == ["eval_loss"]
    assert source.tracks["eval_loss"].first_value == 2.5
    source.say(loss(5, 1.7))
    assert (source.step, list(source.tracks)) == (5.0, ["eval_loss"])


def test_only_the_metric_that_the_user_named_is_followed() -> None:
    source = GivenSource(place=MetricsPlace(metric="reward", goal=Goal.MAX))
    source.say(loss(1, 2.0), loss(1, 5.0, name="reward"))
    assert list(source.tracks) == ["reward"]
    assert source.tracks["reward"].goal is Goal.MAX
    assert source.names == {"loss", "reward"}


def test_a_metric_that_should_rise_is_known_by_its_name() -> None:
    source = GivenSource(place=MetricsPlace(metric="val_accuracy"))
    source.say(loss(1, 0.5, name="val_accuracy"))
    assert source.tracks["val_accuracy"].goal is Goal.MAX


def test_names_without_end_do_not_fill_the_memory_nor_hide_the_metric() -> None:
    source = GivenSource(place=MetricsPlace(metric="mine"))
    source.say(*(loss(n, 1.0, name=f"made-up-{n}") for n in range(300)))
    source.say(loss(400, 1.0, name="mine"))
    assert len(source.names) == MOST_NAMES
    assert list(source.tracks) == []  # more names than one source may have


def test_a_nan_is_one_event_until_there_is_a_number_again() -> None:
    source = GivenSource()
    happened = source.say(loss(1, 2.0), loss(2, NAN), loss(3, NAN), loss(4, 1.0), loss(5, NAN))
    assert [one.kind for one in happened] == ["nan", "nan"]
    assert happened[0].detail == "loss is nan at step 2"


def test_a_step_that_goes_back_is_a_restart() -> None:
    source = GivenSource()
    source.say(loss(1, 2.0), loss(2, 1.0), loss(100, 0.5))
    happened = source.say(loss(50, 0.7))
    assert [(one.kind, one.detail) for one in happened] == [("restart", "step 50 after 100")]
    assert (source.attempt, source.step) == (2, 50.0)
    assert [p.step for p in source.tracks["loss"].curve.points()] == [1.0, 2.0, 50.0]


def test_a_truncated_file_is_an_event_with_its_name() -> None:
    source = GivenSource("team/job/x.jsonl")
    source.say(loss(1, 2.0), loss(2, 1.0))
    happened = source.say(loss(1, 3.0), truncated=True)
    assert [one.kind for one in happened] == ["truncated", "restart"]
    assert happened[0].detail == "team/job/x.jsonl"


def test_a_file_that_was_written_anew_with_what_it_held_is_no_restart() -> None:
    source = GivenSource()
    points = [loss(n, 1.0 / n) for n in range(1, 6)]
    source.say(*points)
    happened = source.say(*points, loss(6, 0.1), truncated=True)
    assert [one.kind for one in happened] == ["truncated"]
    assert (source.attempt, source.tracks["loss"].points) == (1, 6)


def test_what_lay_there_before_makes_no_events() -> None:
    source = GivenSource()
    happened = source.say(loss(5, 1.0), loss(1, NAN), backlog=True)
    assert (happened, source.attempt, source.tracks["loss"].diverged) == ([], 2, True)


MOMENTS: dict[str, tuple[float | None, bool, float]] = {
    "live, without a time": (None, False, NOW),
    "live, with its time": (NOW - 5, False, NOW - 5),
    "old, with its time": (NOW - 500, True, NOW - 500),
    "old, without a time": (None, True, NOW - 100),
    "a time to come is now": (NOW + 30, False, NOW),
    "a time long to come is none": (NOW + 1000, False, NOW),
    "a time before all times is none": (-1.0, True, NOW - 100),
}


@pytest.mark.parametrize(("reported_at", "backlog", "at"), MOMENTS.values(), ids=MOMENTS)
def test_a_value_has_the_time_that_can_be_believed(
    reported_at: float | None, backlog: bool, at: float
) -> None:
    source = GivenSource(written_at=NOW - 100)
    source.say(loss(1, 2.0, reported_at), backlog=backlog)
    assert (source.first_at, source.last_at) == (at, at)


def test_times_do_not_go_back() -> None:
    source = GivenSource()
    source.say(loss(1, 2.0, NOW - 5), loss(2, 1.0, NOW - 50))
    assert source.last_at == NOW - 5


def test_a_clock_that_was_set_back_is_believed() -> None:
    source = GivenSource()
    source.say(loss(1, 2.0))
    source.say(loss(2, 1.0), now=NOW - 3600)
    assert source.last_at == NOW - 3600


def test_the_past_of_a_run_gives_its_category() -> None:
    source = GivenSource(params=replace(RECOMMENDED, rule=Rule.SPECON, interval_seconds=10.0))
    past = [loss(n, 1.0 + 0.95**n, NOW - 300 + n) for n in range(300)]
    source.say(*past, backlog=True)
    assert source.tracks["loss"].category is Category.CONVERGED


def _lowered(rates: tuple[float, float]) -> GivenSource:
    """A run that flattens; before its last tenth its learning rate changes."""
    source = GivenSource()
    for n in range(300):
        rate = rates[n >= 270]
        source.say(loss(n, 1.0 + 0.95**n, NOW + n), loss(n, rate, NOW + n, "train/lr"), now=NOW + n)
    source.tracks["loss"].predict(600, NOW + 300, source.rate)
    return source


def test_a_plateau_that_ends_with_its_learning_rate_is_none() -> None:
    same, lower = (_lowered(rates).tracks["loss"].category for rates in ((0.1, 0.1), (0.1, 0.01)))
    assert (same, lower) == (Category.CONVERGED, Category.PROGRESSING)


def test_a_restart_forgets_the_learning_rate() -> None:
    source = _lowered((0.1, 0.01))
    source.say(loss(5, 1.5, NOW + 400), now=NOW + 400)
    assert source.rate == UNKNOWN


def test_a_reward_never_converges() -> None:
    source = GivenSource(place=MetricsPlace(metric="ep_rew_mean"))
    source.say(*(loss(n, 1 - 0.95**n, NOW - 300 + n, "ep_rew_mean") for n in range(300)))
    track = source.tracks["ep_rew_mean"]
    track.predict(600, NOW)
    assert (track.evidence.stage, track.category) == (Stage.UNJUDGED, Category.PROGRESSING)
