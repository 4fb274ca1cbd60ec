"""Laws of the price bounds: L below U, and their promises for an empty and a full cluster."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from extender.core.parameters.pricing import BoundsParameters, PriceBoundRule, SlotParameters
from extender.core.pricing import price_bounds, slot_offers
from extender.core.pricing.schedule import best_schedule
from extender.core.pricing.slots import Commitments
from tests.property.slot_enumeration import worlds
from tests.property.test_schedule import Scaled
from tests.unit.core.policies.slot_worlds import discrete_alpha, dual

rules = st.sampled_from(list(PriceBoundRule))
EXACT = BoundsParameters(rule=PriceBoundRule.PRINTED, floor=1e-12)
lows = st.floats(-600, 100)
spans = st.floats(1.0, 600)


def sides(bounds):
    return (
        (bounds.log_low_workers, bounds.log_high_workers),
        (bounds.log_low_servers, bounds.log_high_servers),
    )


@given(worlds(), rules)
def test_a_full_resource_is_dearer_than_an_idle_one(world, rule):
    cluster, jobs = world
    bounds = price_bounds.price_bounds(jobs, cluster, BoundsParameters(rule=rule))
    assert all((high >= low + 1.0).all() for low, high in sides(bounds))
    assert bounds.alpha >= 1.0


@given(lows, spans, st.floats(0.5, 100.0), st.lists(st.integers(0, 1000), min_size=3, max_size=9))
def test_the_price_goes_from_l_to_u_and_rises(low, span, capacity, permille):
    high = min(low + span, 690.0)
    shares = np.array(sorted({0, 1000, *permille})) / 1000.0
    found = slot_offers.prices(shares * capacity, np.full(len(shares), capacity), low, high)
    assert np.log(found[0]) == pytest.approx(low, abs=1e-9)
    assert np.log(found[-1]) == pytest.approx(high, abs=1e-6)
    assert (np.diff(found) > 0).all()
    assert np.log(found) == pytest.approx(low + shares * (high - low), abs=1e-6)


@given(worlds(), rules, st.floats(0.01, 100))
def test_a_factor_on_all_utilities_is_a_factor_on_all_prices(world, rule, factor):
    cluster, jobs = world
    params = BoundsParameters(rule=rule)
    bounds = price_bounds.price_bounds(jobs, cluster, params)
    more = [replace(job, utility=Scaled(job.utility, factor)) for job in jobs]
    for (low, high), (dearer_low, dearer_high) in zip(
        sides(bounds), sides(price_bounds.price_bounds(more, cluster, params)), strict=True
    ):
        idle = low == price_bounds.FREE
        assert dearer_low[~idle] == pytest.approx(low[~idle] + math.log(factor), abs=1e-9)
        assert dearer_high[~idle] == pytest.approx(high[~idle] + math.log(factor), abs=1e-9)


@given(worlds())
def test_printed_an_empty_cluster_admits_whatever_it_can_run(world):
    cluster, jobs = world
    bounds = price_bounds.printed(jobs, cluster, EXACT)
    for job in jobs:
        possible = best_schedule(
            job, cluster, Commitments(cluster), bounds, SlotParameters(), least_payoff=-math.inf
        )
        if possible is not None:
            assert possible.payoff >= possible.utility / 2 > 0


@given(worlds())
def test_printed_an_empty_cluster_is_worth_at_most_half_the_least_utility(world):
    cluster, jobs = world
    bounds = price_bounds.printed(jobs, cluster, EXACT)
    least = min(job.utility.of(cluster.horizon - job.arrival) for job in jobs)
    least_floored = min(
        max(job.utility.of(cluster.horizon - job.arrival), EXACT.floor * job.best_utility)
        for job in jobs
    )
    assume(least == least_floored)
    assert dual([], Commitments(cluster), bounds) <= least / 2 * (1 + 1e-9)


@given(worlds(), st.sampled_from([PriceBoundRule.PRINTED, PriceBoundRule.KAPPA]))
def test_one_pod_on_a_full_machine_costs_more_than_any_job_is_worth(world, rule):
    cluster, jobs = world
    bounds = price_bounds.price_bounds(jobs, cluster, BoundsParameters(rule=rule))
    for job in jobs:
        for demand, (_, highs) in zip((job.worker, job.server), sides(bounds), strict=True):
            for amount, high in zip(demand, highs.tolist(), strict=True):
                if amount:
                    assert math.exp(high) * amount >= job.best_utility * (1 - 1e-9)


@given(worlds(), rules, st.floats(0.01, 1.0))
def test_the_discrete_alpha_is_above_alpha_and_near_it_for_small_pods(world, rule, share):
    cluster, jobs = world
    bounds = price_bounds.price_bounds(jobs, cluster, BoundsParameters(rule=rule))
    assert discrete_alpha(bounds, share) >= bounds.alpha * (1 - 1e-9)
    assert discrete_alpha(bounds, 1e-9) == pytest.approx(bounds.alpha, rel=1e-5)
