"""The trend of the end of a curve beside SciPy's Theil-Sen line."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import theilslopes

from shared.convergence.trend import LEAST_POINTS, PART, further_fall

steps = st.lists(st.integers(0, 10_000), min_size=10, max_size=50, unique=True).map(sorted)


@given(steps, st.data(), st.floats(1.01, 50))
def test_without_noise_the_fall_is_that_of_the_theil_sen_line(xs, data, longer):
    count = len(xs)
    ys = data.draw(st.lists(st.floats(-100, 100), min_size=count, max_size=count))
    found = further_fall(list(map(float, xs)), ys, 0, 0.0, longer)
    gap = (xs[-1] - xs[0]) / (count - 1)
    since = xs[-1] - PART * (xs[-1] - xs[0])
    end = [(math.log(x - xs[0] + gap), y) for x, y in zip(xs, ys, strict=True) if x > since]
    if len(end) < LEAST_POINTS:
        assert found == math.inf
        return
    slope = theilslopes([y for _, y in end], [x for x, _ in end]).slope
    assert found == pytest.approx(max(0.0, -slope) * math.log(longer), rel=1e-6, abs=1e-6)
