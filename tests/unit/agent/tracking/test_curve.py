"""A series of any length in bounded memory, spread over the whole run."""

import math

import pytest

from agent.tracking.curve import MOST_INTERVALS, Curve
from shared.convergence.forecast import Point
from shared.progress import MOST_CURVE_POINTS


def curve(*values: float, first: int = 1) -> Curve:
    made = Curve()
    for step, value in enumerate(values, start=first):
        made.add(float(step), value, 10.0 * step)
    return made


def test_few_values_are_kept_as_they_are() -> None:
    made = curve(3.0, 2.0, 1.0)
    assert made.values() == (3.0, 2.0, 1.0)
    assert list(made.points()) == [
        Point(1.0, 3.0, 10.0),
        Point(2.0, 2.0, 20.0),
        Point(3.0, 1.0, 30.0),
    ]


@pytest.mark.parametrize("count", [0, 1, 31, 32, 33, 63, 64, 65, 127, 128, 129, 1000, 100_000])
def test_the_curve_is_bounded_and_has_both_ends_of_the_run(count: int) -> None:
    made = curve(*(float(n) for n in range(1, count + 1)))
    values = made.values()
    points = list(made.points())
    assert len(values) == min(len(points), MOST_CURVE_POINTS)
    assert len(points) <= MOST_INTERVALS
    if count:
        length = math.ceil(count / len(points))
        assert values[0] <= length
        assert values[-1] >= count - length
    assert list(values) == sorted(values)


def test_a_stretch_is_the_mean_of_what_was_read_in_it() -> None:
    made = curve(*(float(n % 2) for n in range(2 * MOST_INTERVALS)))
    assert set(made.values()) == {0.5}
    first = next(made.points())
    assert (first.step, first.at_seconds) == (2.5, 25.0)


def test_a_stretch_that_is_not_full_is_a_mean_too() -> None:
    made = curve(*([1.0] * MOST_INTERVALS))
    made.add(100.0, 5.0, 1000.0)
    assert made.values()[-1] == 5.0
    assert list(made.points())[-1] == Point(100.0, 5.0, 1000.0)


def test_the_largest_numbers_there_are_stay_finite() -> None:
    made = curve(*([1.7e308, -1.7e308, 1.7e308] * MOST_INTERVALS))
    assert all(math.isfinite(value) for value in made.values())


def test_repeated_steps_replace_earlier_values() -> None:
    made = curve(*(1.0 / n for n in range(1, 11)))
    made.cut(5.0)
    assert [point.step for point in made.points()] == [1.0, 2.0, 3.0, 4.0]
    made.add(5.0, 0.2, 200.0)
    assert made.values() == (1.0, 0.5, 0.333333, 0.25, 0.2)
