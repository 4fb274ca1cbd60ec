"""Laws of the categories and of the forecast."""

import math
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.convergence.bands import LEAST_SPREAD
from shared.convergence.forecast import Point, forecast
from shared.convergence.parameters import PRINTED, RECOMMENDED, ConvergenceParameters, Normalisation
from shared.progress import Category, Goal
from tests.unit.convergence.curves import TOTAL, exponential, observed, sublinear
from tests.unit.convergence.runs import C, P, W, categories, standings

goals = st.sampled_from(Goal)
losses = st.floats(0.01, 100) | st.integers(1, 40).map(lambda x: x / 8)  # so that some are equal
series = st.lists(losses, max_size=20)
gaps = st.lists(losses | st.none() | st.just(math.nan) | st.just(math.inf), max_size=20)
anything = st.lists(st.floats(), max_size=20)
params = st.builds(
    ConvergenceParameters,
    alpha=st.sampled_from([0.001, 0.01, 0.125, 0.5]),
    normalisation=st.sampled_from(Normalisation),
    signed=st.booleans(),
    count_silent_ticks=st.booleans(),
)


def by_hand(values, goal, params):
    """Algorithm 1 as the specification writes it, in exact numbers; no value: not a tick."""
    found = []
    pc, wc, cc = True, False, False
    seen: list[Fraction] = []
    before = math.inf
    for value in values:
        seen += _exact(value, goal, seen if params.count_silent_ticks else [])
        if len(seen) > 1 and (_is_value(value) or params.count_silent_ticks):
            growth = _growth(seen, params)
            if growth >= Fraction(params.alpha):
                pc, wc, cc = True, False, False
            elif growth < before:
                pc, wc, cc = False, pc, wc or cc
            before = growth
        found.append(P if pc else W if wc else C)
    return found


def _is_value(value):
    return value is not None and math.isfinite(value)


def _exact(value, goal, seen):
    """The value of this tick, as one that should fall; none if it has none."""
    if not _is_value(value):
        return seen[-1:]
    return [Fraction(value) if goal is Goal.MIN else -Fraction(value)]


def _growth(seen, params):
    change = abs(seen[-1] - seen[-2])
    if params.signed:
        change = max(Fraction(0), seen[-2] - seen[-1])
    if params.normalisation is Normalisation.ABSOLUTE:
        return change
    previous = params.normalisation is Normalisation.RELATIVE_TO_PREVIOUS
    unit = abs(seen[-2]) if previous else abs(seen[0] - min(seen))
    return change / max(unit, Fraction(params.epsilon))


dyadic = st.lists(
    st.integers(-64, 64).map(lambda x: x / 16) | st.none() | st.just(math.nan), max_size=15
)


@given(dyadic, goals, params)
def test_the_categories_are_those_of_the_algorithm_by_hand(values, goal, params):
    binary = replace(params, normalisation=Normalisation.ABSOLUTE, alpha=0.125)
    assert categories(values, params=binary, goal=goal) == by_hand(values, goal, binary)


@given(gaps, goals, params)
def test_divisions_give_the_same_categories_unless_two_growths_are_nearly_equal(
    values, goal, params
):
    found = standings(values, params=params, goal=goal)
    growths = [params.alpha, *(s.growth for s in found if math.isfinite(s.growth) and s.growth)]
    ordered = sorted(set(growths))
    if all(b - a > 1e-9 * b for a, b in pairwise(ordered)):
        assert [s.category for s in found] == by_hand(values, goal, params)


@given(gaps, goals, params, st.integers(-30, 30))
def test_scaling_the_loss_does_not_change_the_category(values, goal, params, exponent):
    relative = [Normalisation.RELATIVE_TO_PREVIOUS, Normalisation.RELATIVE_TO_TOTAL_DROP]
    scaled = [None if v is None else v * 2.0**exponent for v in values]
    for normalisation in relative:
        how = replace(params, normalisation=normalisation, epsilon=1e-300)
        assert categories(scaled, params=how, goal=goal) == categories(
            values, params=how, goal=goal
        )


@given(gaps, params)
def test_a_metric_that_should_rise_is_a_loss_turned_over(values, params):
    over = [None if v is None else -v for v in values]
    assert categories(over, params=params, goal=Goal.MAX) == categories(values, params=params)


@given(gaps, goals, params)
def test_categories_come_one_step_at_a_time_and_only_fall_back_to_progressing(values, goal, params):
    found = [P, *categories(values, params=params, goal=goal)]
    steps = {(P, P), (P, W), (W, W), (W, C), (C, C), (W, P), (C, P)}
    assert set(pairwise(found)) <= steps


@given(gaps, goals, params)
def test_converged_at_is_kept_as_long_as_it_is_converged(values, goal, params):
    found = standings(values, params=params, goal=goal)
    since = None
    for standing in found:
        if standing.category is not Category.CONVERGED:
            since = None
        elif since is None:
            since = standing.ticked_at
        assert standing.converged_at == since


@given(st.data(), series, goals, params)
def test_a_tick_without_a_value_does_not_count(data, values, goal, params):
    how = replace(params, count_silent_ticks=False)
    nothing = st.sampled_from([None, math.nan, math.inf, -math.inf])
    with_gaps = []
    for value in values:
        with_gaps += [*data.draw(st.lists(nothing, max_size=2)), value]
    found = categories(with_gaps, params=how, goal=goal)
    kept = [c for c, v in zip(found, with_gaps, strict=True) if v is not None and math.isfinite(v)]
    assert kept == categories(values, params=how, goal=goal)


@given(series, st.integers(1, 50))
def test_a_silent_trainer_keeps_its_category(values, silent):
    found = categories([*values, *[None] * silent])
    assert set(found[len(values) :]) == {([P, *found])[len(values)]}


@given(series)
def test_a_loss_that_never_falls_never_converges(values):
    assert C not in categories(sorted(values))


@given(anything, goals, params)
def test_any_value_is_accepted(values, goal, params):
    for standing in standings(values, params=params, goal=goal):
        assert standing.growth >= 0
        assert standing.previous_growth >= 0
        assert standing.value is None or math.isfinite(standing.value)


@given(series, goals)
def test_both_presets_agree_on_an_improving_metric_around_one(values, goal):
    """With E(t-1) = 1 absolute and relative growth are the same."""
    pair = [1.0, (0.5 if goal is Goal.MIN else 1.5)]
    one, other = (standings(pair, params=p, goal=goal)[-1] for p in (RECOMMENDED, PRINTED))
    assert one.growth == other.growth


floors = st.floats(0.05, 0.7)
curves = st.builds(exponential, st.floats(2, 20), floors) | st.builds(
    sublinear, st.floats(2, 30), st.floats(0, 50), floors
)
upto = st.integers(400, 900)
seeds = st.integers(0, 10_000)


def remaining(points, goal=Goal.MIN, total=TOTAL):
    return forecast(points, total, points[-1].at_seconds, goal)


@given(curves, upto, seeds)
def test_the_remaining_loss_of_a_known_curve_is_found_through_noise(curve, upto, seed):
    found = remaining(observed(curve, upto=upto, noise=0.003, seed=seed)).remaining_loss
    truth, all_of_it = curve(upto) - curve(TOTAL), curve(0) - curve(TOTAL)
    assert abs(found.value - truth) <= 0.15 * all_of_it


@given(curves, upto, st.floats(0.001, 100))
def test_the_remaining_time_of_an_even_run_is_exact(curve, upto, pace):
    points = observed(curve, upto=upto, seconds_per_step=pace)
    found = remaining(points).remaining_seconds
    assert found.value == pytest.approx((TOTAL - upto) * pace, rel=1e-6)
    assert found.high - found.low <= 2.1 * LEAST_SPREAD * found.value


@given(curves, upto, seeds, st.integers(-20, 20))
def test_the_forecast_has_the_unit_of_the_metric(curve, upto, seed, exponent):
    points = observed(curve, upto=upto, noise=0.003, seed=seed)
    scaled = [Point(p.step, p.value * 2.0**exponent, p.at_seconds) for p in points]
    one, other = remaining(points).remaining_loss, remaining(scaled).remaining_loss
    for name in ("value", "low", "high"):
        assert getattr(other, name) == getattr(one, name) * 2.0**exponent


@given(curves, upto, seeds)
def test_an_accuracy_is_predicted_as_a_loss_turned_over(curve, upto, seed):
    points = observed(curve, upto=upto, noise=0.003, seed=seed)
    over = [Point(p.step, -p.value, p.at_seconds) for p in points]
    assert remaining(over, goal=Goal.MAX) == remaining(points)


wild = st.floats() | st.floats(-10, 10) | st.integers(-5, 50).map(float)


@given(
    st.lists(st.builds(Point, wild, wild, wild), max_size=40),
    st.none() | wild,
    wild,
    goals,
)
def test_the_forecast_accepts_any_series(points, total, now, goal):
    found = forecast(points, total, now, goal)
    for span in (found.remaining_seconds, found.remaining_loss):
        if span is not None:
            assert all(math.isfinite(x) for x in (span.value, span.low, span.high))
            assert 0 <= span.low <= span.value <= span.high


@given(st.lists(wild, min_size=8, max_size=60), st.integers(1, 10**6), goals)
def test_the_fit_accepts_any_values(values, further, goal):
    points = [Point(i, v, float(i)) for i, v in enumerate(values)]
    found = forecast(points, len(points) + further, 0.0, goal).remaining_loss
    if found is not None:
        assert all(math.isfinite(x) for x in (found.value, found.low, found.high))
        assert 0 <= found.low <= found.value <= found.high
