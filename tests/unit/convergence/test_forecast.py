"""What is to come of a run: its remaining time and loss."""

import random

import pytest

from shared.convergence import curve
from shared.convergence.bands import LEAST_SPREAD
from shared.convergence.forecast import MOST_FITTED, Forecast, Point, forecast
from shared.progress import Goal, Span
from tests.unit.convergence.curves import TOTAL, exponential, observed, paper, sublinear

NOISE = 0.003
CURVES = {
    "VAE": paper(5.2, 0.64),
    "GRU": paper(11.5, 0.1),
    "Bi-RNN": paper(19.6, 0.1),
    "slow exponential": exponential(3, 0.3),
    "hyperbola": sublinear(10, 0, 0.2),
    "hyperbola with square": sublinear(5, 20, 0.2),
    "square only": sublinear(0, 50, 0.2),
}
KNOWN = {
    f"{name} seen to {upto} of 1000": (found, upto)
    for name, found in CURVES.items()
    for upto in (400, 600, 800)
}


def remaining(points, goal=Goal.MIN, total=TOTAL, now=None):
    at = points[-1].at_seconds if now is None else now
    return forecast(points, total, at, goal)


@pytest.mark.parametrize(("known", "upto"), KNOWN.values(), ids=KNOWN.keys())
def test_the_remaining_loss_of_a_known_curve_is_found(known, upto):
    found = remaining(observed(known, upto=upto, noise=NOISE)).remaining_loss
    truth, all_of_it = known(upto) - known(TOTAL), known(0) - known(TOTAL)
    assert abs(found.value - truth) <= 0.05 * all_of_it
    assert found.low <= found.value <= found.high


@pytest.mark.parametrize("upto", [200, 400, 600, 800])
def test_the_band_holds_two_thirds_or_more_of_the_true_values(upto):
    """No shape of these is exactly the shape that is fitted, except the exponential."""
    rng = random.Random(45)
    inside, runs = 0, 150
    for seed in range(runs):
        known = (
            exponential(rng.uniform(2, 20), rng.uniform(0.05, 0.7))
            if seed % 2
            else sublinear(rng.uniform(2, 30), rng.uniform(0, 100), rng.uniform(0.05, 0.7))
        )
        points = observed(known, upto=upto, noise=0.01, seed=seed)
        found = remaining(points).remaining_loss
        inside += found.low <= known(upto) - known(TOTAL) <= found.high
    assert inside >= 2 / 3 * runs


def test_an_accuracy_is_predicted_as_a_loss_turned_over():
    points = observed(CURVES["GRU"], upto=300, noise=NOISE)
    over = [Point(p.step, -p.value, p.at_seconds) for p in points]
    assert remaining(over, goal=Goal.MAX) == remaining(points)


def test_a_rising_loss_will_gain_nothing():
    points = [Point(i, 1 + i / 10, float(i)) for i in range(20)]
    found = remaining(points, total=40).remaining_loss
    assert found.value == found.low == 0


def test_the_band_of_a_run_at_rest_has_the_size_of_its_noise():
    quiet, loud = (
        remaining(observed(exponential(40, 0.2), upto=900, noise=noise, seed=3)).remaining_loss
        for noise in (0.001, 0.01)
    )
    assert 0 < quiet.high <= 0.002
    assert 5 * quiet.high < loud.high <= 0.02


@pytest.mark.parametrize("value", [0.0, 0.5, -3.0])
def test_a_constant_loss_will_gain_nothing(value):
    points = [Point(i, value, float(i)) for i in range(20)]
    found = remaining(points, total=40).remaining_loss
    assert (found.value, found.low, found.high) == pytest.approx((0, 0, 0), abs=1e-12)


def test_recent_points_weigh_more():
    """The learning rate was lowered at step 400: what came before must not hide the new slope."""
    steps = range(10, 810, 10)
    curve_then = [1 - 0.0002 * min(s, 400) - 0.001 * max(0, s - 400) for s in steps]
    points = [Point(s, v, float(s)) for s, v in zip(steps, curve_then, strict=True)]
    found = remaining(points).remaining_loss
    assert found.value > 2 * 0.0002 * (TOTAL - points[-1].step)


TIMES = {
    "at the last point": (0.0, 300.0),
    "a little later": (2.0, 298.0),
    "it is silent: no further than to its next point": (1e6, 298.0),
    "the clock was set back": (-50.0, 300.0),
}


@pytest.mark.parametrize(("later", "want"), TIMES.values(), ids=TIMES.keys())
def test_the_remaining_time_of_an_even_run(later, want):
    points = observed(CURVES["VAE"], upto=400, count=100)
    found = remaining(points, now=points[-1].at_seconds + later).remaining_seconds
    assert found.value == pytest.approx(want)
    assert want - found.low == pytest.approx(found.high - want)
    assert found.high <= want * (1 + LEAST_SPREAD)


def test_a_pause_does_not_move_the_remaining_time():
    points = [Point(i, 1.0, i * 2.0 + (5000 if i > 60 else 0)) for i in range(100)]
    assert remaining(points, total=200).remaining_seconds.value == pytest.approx(101 * 2.0)


def test_a_run_that_slowed_down_is_predicted_by_its_new_pace():
    times = [float(i if i < 60 else 60 + (i - 60) * 3) for i in range(100)]
    points = [Point(i, 1.0, t) for i, t in enumerate(times)]
    found = remaining(points, total=200).remaining_seconds
    assert found.value == pytest.approx(101 * 3.0)
    assert found.low < 101 * 2.5


END = {
    "its last step is the last": (99, Span(0, 0, 0)),
    "it went beyond": (50, Span(0, 0, 0)),
}


@pytest.mark.parametrize(("total", "want"), END.values(), ids=END.keys())
def test_at_its_end_nothing_is_left(total, want):
    points = [Point(i, 1 / (1 + i), float(i)) for i in range(100)]
    assert remaining(points, total=total) == Forecast(want, want)


NAN, INF = float("nan"), float("inf")
FALL = [Point(i, 1 / (1 + i), float(i)) for i in range(20)]
UNPREDICTABLE = {
    "no points": ([], 100),
    "no floor is stated": (FALL, None),
    "it ends nowhere": (FALL, INF),
    "it ends at no number": (FALL, NAN),
    "one point": (FALL[:1], 100),
    "two points": (FALL[:2], 100),
    "one step again and again": ([Point(5, p.value, p.at_seconds) for p in FALL], 100),
    "nothing but NaN": ([Point(p.step, NAN, p.at_seconds) for p in FALL], 100),
    "steps beyond all measure": ([Point(1e300 * i, 1.0, float(i)) for i in range(1, 20)], 100),
}


@pytest.mark.parametrize(("points", "total"), UNPREDICTABLE.values(), ids=UNPREDICTABLE.keys())
def test_what_cannot_be_predicted_is_not(points, total):
    assert forecast(points, total, 100.0, Goal.MIN) == Forecast(None, None)


def test_three_points_give_the_time_and_the_loss():
    found = remaining(FALL[:3], total=100)
    assert found.remaining_seconds.value == 98
    assert found.remaining_loss.high > found.remaining_loss.value > 0


def test_points_that_came_all_at_once_give_the_loss_but_not_the_time():
    found = remaining([Point(p.step, p.value, 50.0) for p in FALL], total=100)
    assert found.remaining_seconds is None
    assert found.remaining_loss is not None


def test_bad_points_are_as_if_they_were_not_there():
    bad = [Point(5.5, NAN, 5.5), Point(3, 1.0, 6.0), Point(6.5, 1.0, INF), Point(NAN, 1.0, 7.0)]
    assert remaining([*FALL[:8], *bad, *FALL[8:]], total=100) == remaining(FALL, total=100)


@pytest.mark.parametrize("count", [8, 33, 200, 5_000, 100_000])
def test_no_more_than_some_dozen_points_are_fitted(count, monkeypatch):
    seen = []

    def spy(xs, ys, until):
        seen.append(len(xs))
        return curve.Drop(0.0, 0.0)

    monkeypatch.setattr(curve, "further_drop", spy)
    remaining(observed(CURVES["GRU"], upto=500, count=count))
    assert seen == [min(count, MOST_FITTED)]


def test_a_thinned_series_gives_the_same_forecast():
    few, many = (
        remaining(observed(CURVES["VAE"], upto=500, count=count)).remaining_loss
        for count in (500, 50_000)
    )
    assert many.value == pytest.approx(few.value, rel=0.02)
