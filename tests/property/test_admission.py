"""Laws of admission: every promise is kept, and the dual pays for it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from extender.core.parameters.pricing import (
    AdmissionParameters,
    BoundsParameters,
    Granularity,
    PriceBoundRule,
    SlotParameters,
)
from extender.core.pricing import admission, price_bounds
from tests.property.slot_enumeration import worlds
from tests.unit.core.policies.slot_worlds import check_room, discrete_alpha, dual

rules = st.sampled_from(list(PriceBoundRule)).map(
    lambda rule: BoundsParameters(rule=rule, kappa=1000.0)
)
params = st.sampled_from(list(Granularity)).map(
    lambda granularity: AdmissionParameters(search=SlotParameters(granularity=granularity))
)


def begin(world, rule):
    cluster, jobs = world
    return admission.empty_state(cluster, price_bounds.price_bounds(jobs, cluster, rule)), jobs


@given(worlds(most_jobs=6, horizon=6), params, rules)
def test_nothing_is_promised_twice_and_promises_and_prices_only_grow(world, params, rule):
    state, jobs = begin(world, rule)
    for job in jobs:
        before = state.promised.copy()
        decision = admission.offer(job, state, params)
        assert (state.promised.g == before.g).all()
        state.accept(job, decision)
        check_room(state.promised)
        assert (state.promised.g >= before.g).all()
        assert (state.promised.v >= before.v).all()
        assert decision.admitted == (decision.payoff > 0) == (job.name in state.admitted)
        assert decision.admitted == ((state.promised.g > before.g).any())


@given(worlds(most_jobs=6, horizon=4), params, rules)
def test_the_dual_rises_by_at_most_alpha_times_the_utility(world, params, rule):
    """Allocation-cost relation with demands that are not small: the discrete α."""
    state, jobs = begin(world, rule)
    payoffs, utility, shares = [], 0.0, [0.0]
    duals = [dual([], state.promised, state.bounds)]
    for job in jobs:
        before = state.promised.copy()
        decision = admission.offer(job, state, params)
        state.accept(job, decision)
        if decision.schedule is None:
            continue
        payoffs.append(decision.payoff)
        duals.append(dual(payoffs, state.promised, state.bounds))
        cluster = state.cluster
        shares.append(float(((state.promised.g - before.g) / cluster.worker_capacity).max()))
        shares.append(float(((state.promised.v - before.v) / cluster.server_capacity).max()))
        alpha = discrete_alpha(state.bounds, max(shares))
        assert duals[-1] - duals[-2] <= alpha * decision.schedule.utility * (1 + 1e-9)
        utility += decision.schedule.utility
    assert utility >= (duals[-1] - duals[0]) / discrete_alpha(state.bounds, max(shares)) * (
        1 - 1e-9
    )


@given(worlds(), params, rules)
def test_a_full_cluster_admits_no_job(world, params, rule):
    state, jobs = begin(world, rule)
    state.promised.workers.used[:] = state.promised.workers.capacity[:, None, :]
    assert not any(admission.offer(job, state, params).admitted for job in jobs)


@given(worlds(), rules)
def test_released_amounts_are_free_again(world, rule):
    state, jobs = begin(world, rule)
    for job in jobs:
        state.accept(job, admission.offer(job, state, AdmissionParameters()))
    for job, plan in state.admitted.values():
        state.promised.give_back(job, plan)
    assert state.promised.g == pytest.approx(0.0, abs=1e-9)
    assert state.promised.v == pytest.approx(0.0, abs=1e-9)
