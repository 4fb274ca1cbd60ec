"""Laws of the expected gain of a move."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from extender.core.migration import migration_gain
from extender.core.parameters.migration import GainParameters

remaining = st.floats(0, 1e6)
shares = st.floats(0.01, 128)
costs = st.floats(0, 1e4)
params = st.builds(
    GainParameters, minimum_ratio=st.floats(0, 10), first_cost_seconds=st.floats(0, 100)
)


@given(remaining, shares, shares)
def test_the_gain_is_the_difference_of_the_two_ends(remaining, now, then):
    work = remaining * now
    gain = migration_gain.gain_seconds(remaining, now, then)
    assert gain == pytest.approx(remaining - work / then, rel=1e-9, abs=1e-6)
    assert gain <= remaining


@given(remaining, shares, shares, st.floats(0.1, 100))
def test_the_unit_of_the_shares_does_not_matter(remaining, now, then, unit):
    assert migration_gain.gain_seconds(remaining, now * unit, then * unit) == pytest.approx(
        migration_gain.gain_seconds(remaining, now, then), rel=1e-9, abs=1e-6
    )


@given(remaining, shares, shares)
def test_the_sign_is_that_of_the_change_of_the_share(remaining, now, then):
    gain = migration_gain.gain_seconds(remaining, now, then)
    assert gain >= 0 if then >= now else gain <= 0


@given(st.none() | remaining, shares, shares, st.none() | costs, params, st.floats(0, 1e5))
def test_more_to_gain_never_makes_it_less_worth(remaining, now, then, cost, params, more):
    before = migration_gain.expected_gain(remaining, now, then, cost, params)
    wider = migration_gain.expected_gain(remaining, now, then + more, cost, params)
    assert wider.worth_it >= before.worth_it
    if remaining is not None:
        longer = migration_gain.expected_gain(remaining + more, now, then, cost, params)
        assert longer.worth_it >= before.worth_it


@given(st.none() | remaining, shares, shares, costs, params, costs)
def test_a_higher_cost_never_makes_it_worth_more(remaining, now, then, cost, params, more):
    before = migration_gain.expected_gain(remaining, now, then, cost, params)
    dearer = migration_gain.expected_gain(remaining, now, then, cost + more, params)
    assert dearer.worth_it <= before.worth_it


@given(st.integers(1, 64), st.integers(1, 20), st.integers(0, 20), st.none() | shares)
def test_a_move_to_no_fewer_containers_on_as_many_cores_gains_nothing(cores, here, more, most):
    now = migration_gain.share_cores(cores, here, most)
    then = migration_gain.share_cores(cores, here + more, most)
    assert migration_gain.gain_seconds(1000.0, now, then) <= 0


@given(st.lists(costs, min_size=1, max_size=20))
def test_the_running_cost_stays_within_the_measured_range(measured):
    mean = None
    for cost in measured:
        mean = migration_gain.smoothed(mean, cost)
    assert min(measured) - 1e-6 <= mean <= max(measured) + 1e-6
