"""Laws of sharing a machine, and a search for the water level as a second opinion."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulator.models.fluid import cpu_shares

tasks = st.lists(st.tuples(st.floats(0.01, 2.0), st.floats(0.01, 100.0)), min_size=1, max_size=8)
capacities = st.floats(0.1, 4.0)


def by_level(capacity, limits, weights):
    """Pour until the machine is full: the level by bisection."""
    if sum(limits) <= capacity:
        return limits
    low, high = 0.0, max(limit / weight for limit, weight in zip(limits, weights, strict=True))
    for _ in range(200):
        level = (low + high) / 2
        poured = sum(min(x, level * w) for x, w in zip(limits, weights, strict=True))
        low, high = (level, high) if poured < capacity else (low, level)
    return [min(x, low * w) for x, w in zip(limits, weights, strict=True)]


@given(capacities, tasks)
def test_weighted_parts_are_those_of_the_water_level(capacity, found):
    limits, weights = [limit for limit, _ in found], [weight for _, weight in found]
    expected = by_level(capacity, limits, weights)
    assert cpu_shares(capacity, limits, weights) == pytest.approx(expected, rel=1e-9, abs=1e-12)


@given(capacities, tasks)
def test_no_weights_are_equal_weights(capacity, found):
    limits = [limit for limit, _ in found]
    expected = by_level(capacity, limits, [1.0] * len(limits))
    assert cpu_shares(capacity, limits) == pytest.approx(expected, rel=1e-9, abs=1e-12)


@given(capacities, tasks)
def test_all_capacity_is_given_exactly_once(capacity, found):
    limits, weights = [limit for limit, _ in found], [weight for _, weight in found]
    given_ = cpu_shares(capacity, limits, weights)
    assert all(0 <= part <= limit for part, limit in zip(given_, limits, strict=True))
    assert sum(given_) == pytest.approx(min(capacity, sum(limits)))
