"""Laws of what a curve shows."""

import math

from hypothesis import given
from hypothesis import strategies as st

from shared.convergence import evidence, rate
from shared.convergence.evidence import judge
from shared.convergence.forecast import Point
from shared.convergence.rate import Rate
from shared.progress import Category, Goal, Stage

values = st.lists(st.integers(-400, 400).map(lambda x: x / 64), min_size=1, max_size=80)
goals = st.sampled_from(Goal)
totals = st.none() | st.integers(1, 400).map(float)
learning = st.builds(
    Rate, rises=st.booleans(), changed_at=st.none() | st.integers(0, 80).map(float)
)
wild = st.floats(allow_nan=False, allow_infinity=False, width=32)


def points(losses, stride=1.0):
    return [Point(i * stride, value, 0.0) for i, value in enumerate(losses, 1)]


def exponential(count, speed, floor=0.0):
    return [floor + math.exp(-speed * i) for i in range(count)]


@given(values, goals, totals, learning, st.integers(-8, 8))
def test_the_unit_of_the_metric_does_not_change_the_stage(losses, goal, total, known, exponent):
    scale = 2.0**exponent
    one = judge(points(losses), goal=goal, total_steps=total, rate=known)
    scaled = points([value * scale for value in losses])
    other = judge(scaled, goal=goal, total_steps=total, rate=known)
    assert (other.stage, other.since_step) == (one.stage, one.since_step)


@given(values, totals, learning)
def test_a_metric_that_should_rise_is_a_loss_turned_over(losses, total, known):
    one = judge(points(losses), goal=Goal.MIN, total_steps=total, rate=known)
    over = points([-value for value in losses])
    other = judge(over, goal=Goal.MAX, total_steps=total, rate=known)
    assert (other.stage, other.spread) == (one.stage, one.spread)
    assert other.level == (None if one.level is None else -one.level)


@given(values, goals, totals, st.integers(1, 6))
def test_how_often_a_run_reports_its_step_does_not_matter(losses, goal, total, exponent):
    stride = 2.0**exponent
    one = judge(points(losses), goal=goal, total_steps=total)
    longer = None if total is None else total * stride
    other = judge(points(losses, stride), goal=goal, total_steps=longer)
    assert other.stage is one.stage


@given(st.integers(10, 80), st.integers(1, 9), totals)
def test_an_even_fall_is_no_plateau(count, slope, total):
    losses = [100.0 - i * slope / 8 for i in range(count)]
    found = judge(points(losses), goal=Goal.MIN, total_steps=total)
    left = count if total is None else total - count
    assert found.stage is not Stage.PLATEAU or left < count / 8


@given(st.floats(0.05, 0.5), st.floats(-5, 5))
def test_a_curve_that_falls_ever_less_reaches_a_plateau_and_leaves_it_by_a_rise(speed, floor):
    losses = exponential(400, speed, floor)
    stages = [judge(points(losses[:n]), goal=Goal.MIN).stage for n in range(10, 400, 10)]
    assert stages[-1] is Stage.PLATEAU
    begun = stages.index(Stage.PLATEAU)
    assert set(stages[begun:]) == {Stage.PLATEAU}
    risen = [*losses, *(floor + 0.3 + i / 500 for i in range(200))]
    after = judge(points(risen), goal=Goal.MIN)
    assert after.stage in {Stage.RISING, Stage.DIVERGING}
    assert evidence.category(after.stage) is not Category.CONVERGED


@given(values, goals, totals)
def test_while_the_rate_only_rises_nothing_has_converged(losses, goal, total):
    warm = Rate(last=1.0, rises=True)
    found = judge(points(losses), goal=goal, total_steps=total, rate=warm)
    assert evidence.category(found.stage) is not Category.CONVERGED


@given(st.lists(wild, max_size=80), st.lists(wild, max_size=80), goals, st.none() | wild, learning)
def test_any_curve_is_accepted(steps, losses, goal, total, known):
    rising = sorted(set(steps))
    curve = [Point(x, y, 0.0) for x, y in zip(rising, losses, strict=False)]
    found = judge(curve, goal=goal, total_steps=total, rate=known)
    assert found.level is None or math.isfinite(found.level)
    assert found.spread is None or (math.isfinite(found.spread) and found.spread >= 0)
    assert found.since_step is None or found.since_step in rising
    assert evidence.words(found, "loss")


@given(st.lists(st.floats(), max_size=30))
def test_any_series_of_rates_is_accepted(series):
    known = rate.UNKNOWN
    for step, value in enumerate(series):
        known = rate.observed(known, float(step), value)
    assert known.last is None or (math.isfinite(known.last) and known.last >= 0)
    assert not (known.rises and known.fell)


@given(st.lists(st.floats(1e-9, 1.0), min_size=1, max_size=30).map(sorted))
def test_a_rate_that_only_rises_changes_nothing_suddenly(series):
    known = rate.UNKNOWN
    for step, value in enumerate(series):
        known = rate.observed(known, float(step), value)
    assert known.changed_at is None
