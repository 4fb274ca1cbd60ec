"""How far a curve falls at most, at the trend of its end."""

import math

import pytest

from shared.convergence.trend import further_fall


def slowing(count, fall=0.1):
    """Fall by equal amounts each time the number of steps doubles."""
    return [5.0 - fall * math.log2(i) for i in range(1, count + 1)]


def steps(count):
    return [100.0 * i for i in range(1, count + 1)]


@pytest.mark.parametrize("count", [10, 40, 64])
@pytest.mark.parametrize("doublings", [0.5, 1, 3])
def test_a_curve_that_falls_by_equal_amounts_each_doubling_goes_on_so(count, doublings):
    found = further_fall(steps(count), slowing(count), 0, 0.0, 2**doublings)
    assert found == pytest.approx(0.1 * doublings)


def test_a_single_value_that_jumps_changes_little():
    jumping = [y + (3.0 if i == 35 else 0.0) for i, y in enumerate(slowing(40))]
    found = further_fall(steps(40), jumping, 0, 0.0, 2.0)
    assert found == pytest.approx(0.1, rel=0.3)


def test_what_came_before_the_last_half_does_not_count():
    before = [100.0] * 20 + slowing(40)[20:]
    assert further_fall(steps(40), before, 0, 0.0, 2.0) == pytest.approx(0.1)


def test_noise_makes_the_slope_less_sure_and_many_values_make_it_surer():
    few, many = (further_fall(steps(n), [1.0] * n, 0, 0.5, 2.0) for n in (12, 48))
    assert few > 1.5 * many > 0
    assert further_fall(steps(12), [1.0] * 12, 0, 1.0, 2.0) == pytest.approx(2 * few)


def test_a_curve_that_rises_falls_by_nothing():
    assert further_fall(steps(20), [float(i) for i in range(20)], 0, 0.0, 2.0) == 0


@pytest.mark.parametrize("begin", [36, 37, 39])
def test_too_few_values_at_this_rate_show_no_trend(begin):
    assert further_fall(steps(40), slowing(40), begin, 0.0, 2.0) == math.inf
