"""New points, duplicates, restarts, and points that only look like a restart."""

import math
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.parsing import series as series_module
from shared.parsing.base import Point
from shared.parsing.series import LAG_POINTS, MOST_METRICS, Series

NEW, DOUBLE, RESTART = "new", "duplicate", "restart"


def _kinds(series: Series, steps, value=0.5, metric="loss") -> list[str]:
    taken = [series.take(Point(metric, value, step)) for step in steps]
    return [RESTART if t.restarted else NEW if t.is_new else DOUBLE for t in taken]


CASES = {
    "a run": ([1, 2, 3], [NEW] * 3),
    "steps that say nothing": ([None, None], [NEW, NEW]),
    "the same step again": ([1, 1, 2], [NEW, DOUBLE, NEW]),
    "a run that resumed from its checkpoint": ([10, 20, 30, 20, 30], [NEW] * 3 + [RESTART, NEW]),
    "a run that began from nothing": ([1, 2, 3, 1, 2], [NEW] * 3 + [RESTART, NEW]),
    "two ranks": ([1, 1, 2, 2, 3, 3], [NEW, DOUBLE] * 3),
    "a rank that lags": ([1, 1, 2, 3, 2, 3, 4], [NEW, DOUBLE, NEW, NEW, DOUBLE, DOUBLE, NEW]),
    "two ranks that restart further back": (
        [*range(LAG_POINTS + 9), LAG_POINTS + 8, 3, 3, 4],
        [NEW] * (LAG_POINTS + 9) + [DOUBLE, RESTART, DOUBLE, NEW],
    ),
    "two ranks that restart at a step that was never there": (
        [1, 1, 2, 3, 2.5, 2.5],
        [NEW, DOUBLE, NEW, NEW, RESTART, DOUBLE],
    ),
}


@pytest.mark.parametrize(("steps", "want"), CASES.values(), ids=CASES)
def test_points_are_classified(steps: list[float | None], want: list[str]) -> None:
    assert _kinds(Series(), steps) == want


def test_a_restart_counts_once_for_all_metrics() -> None:
    series = Series()
    for step in (1, 2, 1, 2):
        series.take(Point("loss", 0.5, step))
        series.take(Point("val_loss", 0.5, step))
    assert series.attempt == 2


def test_metrics_of_different_steps_do_not_disturb_each_other() -> None:
    series = Series()
    assert _kinds(series, [100, 200], metric="batch_loss") == [NEW, NEW]
    assert _kinds(series, [1, 2], metric="loss") == [NEW, NEW]


def test_another_unit_is_no_restart() -> None:
    series = Series()
    places = [(100, "step"), (200, "step"), (2, "epoch"), (3, "epoch"), (1, "epoch")]
    taken = [series.take(Point("loss", 0.5, step, unit=unit)) for step, unit in places]
    assert [t.has_new_unit for t in taken] == [False, False, True, False, False]
    assert [t.restarted for t in taken] == [False, False, False, False, True]


def test_nan_is_new_and_not_finite() -> None:
    series = Series()
    assert [series.take(Point("loss", v, 1)).is_finite for v in (math.nan,)] == [False]
    assert not series.take(Point("loss", math.inf, 2)).is_finite
    assert series.take(Point("loss", math.nan, 3)).is_new


def test_a_rewritten_file_with_the_same_points_gives_only_the_new_ones() -> None:
    series = Series()
    rows = [(9, 3.6), (19, 2.8)]
    for step, value in rows:
        series.take(Point("loss", value, step))
    series.file_restarted()
    taken = [series.take(Point("loss", v, s)) for s, v in [*rows, (29, 2.4)]]
    assert [t.is_new for t in taken] == [False, False, True]
    assert series.take(Point("val_loss", 4.7, 9)).is_new
    assert series.attempt == 1


def test_a_rewritten_file_with_other_points_is_a_restart() -> None:
    for rows in ([(0, 0.9)], [(0, 0.9), (1, 0.7)]):
        series = Series()
        for step, value in rows:
            series.take(Point("loss", value, step))
        series.file_restarted()
        assert _kinds(series, [0, 1], value=0.8) == [RESTART, NEW]
        assert series.attempt == 2


def test_a_rewritten_file_that_continues_is_no_restart() -> None:
    series = Series()
    series.take(Point("loss", 0.9, 5))
    series.file_restarted()
    assert _kinds(series, [6, 5]) == [NEW, RESTART]


def test_a_nan_at_the_beginning_is_known_again() -> None:
    series = Series()
    for step in (1, 2):
        series.take(Point("loss", math.nan, step))
    series.file_restarted()
    assert _kinds(series, [1, 2, 3], value=math.nan) == [DOUBLE, DOUBLE, NEW]


def test_endless_names_do_not_fill_the_memory() -> None:
    series = Series()
    taken = [series.take(Point(f"m{i}", 0.5, 1)) for i in range(MOST_METRICS + 5)]
    assert [t.is_new for t in taken[-6:]] == [True] + [False] * 5


PHASES = {
    "another loss at the start of another training": (("Total Loss", 1, 60), True),
    "the same end is the same training": (("Total Loss", 1, 10), False),
    "no end is known": (("Total Loss", 1, None), False),
    "a loss on other data": (("val_loss", 1, 60), False),
    "a quality": (("accuracy", 1, 60), False),
    "a later step": (("Total Loss", 11, 60), False),
}


@pytest.mark.parametrize(("point", "want"), PHASES.values(), ids=PHASES)
def test_a_loss_that_begins_after_another_has_ended_is_of_another_training(point, want) -> None:
    name, step, total = point
    series = Series()
    for before in (9, 10):
        series.take(Point("Loss", 0.5, before, 10, unit="epoch"))
    taken = series.take(Point(name, 0.5, step, total, unit="epoch"))
    assert (taken.has_new_metrics, taken.attempt) == (want, 2 if want else 1)


def test_a_training_that_has_not_ended_is_not_replaced() -> None:
    series = Series()
    series.take(Point("Loss", 0.5, 5, 10, unit="epoch"))
    assert not series.take(Point("Total Loss", 0.5, 1, 60, unit="epoch")).has_new_metrics


STEPS = st.sampled_from((None, 0.0, 1.0, 2.0, 2.5, 3.0, 4.0, 5.0, 9.0, math.nan))
POINTS = st.builds(
    Point,
    st.sampled_from(("loss", "total_loss", "val_loss")),
    st.sampled_from((0.5, 0.25, math.nan)),
    STEPS,
    st.sampled_from((None, 3, 9)),
)


@given(st.lists(st.one_of(POINTS, st.just("the file restarts")), max_size=40))
def test_the_next_step_is_classified_as_all_others(happenings: list[Point | str]) -> None:
    """Without the short way the classification is the definition."""
    series, definition = Series(), Series()
    for point in happenings:
        if isinstance(point, str):
            series.file_restarted()
            definition.file_restarted()
            continue
        with patch.object(series_module._Metric, "goes_on", lambda *_: False):
            want = definition.take(point)
        assert repr(series.take(point)) == repr(want)
