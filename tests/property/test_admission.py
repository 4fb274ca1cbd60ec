"""Laws of admission: no promise is broken, the dual pays for it, and the optimum stays below it."""

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from extender.core.parameters.pricing import (
    AdmissionParameters,
    BoundsParameters,
    Granularity,
    PriceBoundRule,
    Replanning,
    SlotParameters,
)
from extender.core.pricing import admission, certificate, price_bounds
from tests.property.slot_enumeration import worlds
from tests.unit.core.policies.slot_worlds import check_room, check_schedule, dual, entries

rules = st.sampled_from(list(PriceBoundRule)).map(
    lambda rule: BoundsParameters(rule=rule, kappa=1000.0)
)
params = st.sampled_from(list(Granularity)).map(
    lambda granularity: AdmissionParameters(search=SlotParameters(granularity))
)
anew = st.sampled_from([Replanning.ADMITTED_FIRST, Replanning.WITHOUT_COMMITMENT])


def begin(world, rule):
    cluster, jobs = world
    return admission.empty(cluster, price_bounds.of(jobs, cluster, rule)), jobs


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
        alpha = state.bounds.discrete_alpha(max(shares))
        assert duals[-1] - duals[-2] <= alpha * decision.schedule.utility * (1 + 1e-9)
        utility += decision.schedule.utility
    assert utility >= (duals[-1] - duals[0]) / state.bounds.discrete_alpha(max(shares)) * (1 - 1e-9)


@given(worlds(), params, rules)
def test_a_full_cluster_admits_nobody(world, params, rule):
    state, jobs = begin(world, rule)
    state.promised.workers.used[:] = state.promised.workers.capacity[:, None, :]
    assert not any(admission.offer(job, state, params).admitted for job in jobs)


@given(worlds(most_jobs=3, horizon=2), params, rules)
def test_the_certificate_is_above_the_optimum(world, params, rule):
    """The optimum of a relaxed problem, even: machines of a kind are one, servers are no limit."""
    cluster, jobs = world
    one = type(cluster)(cluster.worker_capacity[:1], cluster.server_capacity[:1], cluster.horizon)
    state, jobs = begin((one, jobs), rule)
    for job in jobs:
        state.accept(job, admission.offer(job, state, params))
    best = optimum(one, jobs)
    bound = certificate.certificate(jobs, state, scales=(1.0, 0.1, 1e-3))
    assert bound.bound >= best * (1 - 1e-9)
    assert bound.bound >= bound.utility * (1 - 1e-9)
    assert bound.ratio == math.inf or bound.ratio >= 1 - 1e-9


def optimum(cluster, jobs):
    """Return the largest utility of all workers by job and slot, on one machine of each kind."""
    choices = []
    for job in jobs:
        ways = [(0.0, (0,) * cluster.horizon, (0,) * cluster.horizon)]
        for y in itertools.product(range(job.chunks + 1), repeat=cluster.horizon):
            if sum(y) >= job.work and not any(y[: job.arrival - 1]):
                last = max(slot for slot, count in enumerate(y, 1) if count)
                z = tuple(map(job.servers_for, y))
                ways.append((job.utility.of(last - job.arrival), y, z))
        choices.append(ways)
    best = 0.0
    for chosen in itertools.product(*choices):
        value = sum(way[0] for way in chosen)
        if value > best and _fits(cluster, jobs, chosen):
            best = value
    return best


def _fits(cluster, jobs, chosen):
    workers = sum(np.outer(way[1], job.worker) for job, way in zip(jobs, chosen, strict=True))
    servers = sum(np.outer(way[2], job.server) for job, way in zip(jobs, chosen, strict=True))
    return bool(
        (workers <= cluster.worker_capacity[0] + 1e-9).all()
        and (servers <= cluster.server_capacity[0] + 1e-9).all()
    )


@given(worlds(most_jobs=6, horizon=6), params, rules, anew, st.integers(1, 6))
def test_planning_anew_does_the_rest_of_the_work_in_the_slots_to_come(
    world, params, rule, replanning, now
):
    state, jobs = begin(world, rule)
    params = replace(params, replanning=replanning)
    now = min(now, state.cluster.horizon)
    early = [job for job in jobs if job.arrival < now]
    late = [job for job in jobs if job.arrival >= now]
    for job in early:
        state.accept(job, admission.offer(job, state, params))
    unfinished = {n for n, (_, plan) in state.admitted.items() if plan.completion_slot >= now}
    found = admission.replan(state, now, late, params)
    check_room(found.state.promised)
    assert not found.state.promised.g[: now - 1].any()
    assert set(found.decisions) == unfinished | {job.name for job in late}
    assert set(found.lost) == unfinished - set(found.state.admitted)
    for name, (job, plan) in found.state.admitted.items():
        assert plan.workers.slots.min() >= max(now, job.arrival)
        if name in unfinished:
            before, old = state.admitted[name]
            assert plan.workers.total >= before.work - old.workers.before(now).total
    for name, (job, plan) in found.state.admitted.items():
        if len(found.state.admitted) == 1:
            check_schedule(job, plan, _without(found.state, name), state.bounds, start=now)


def _without(state, name):
    promised = state.promised.copy()
    promised.give_back(*state.admitted[name])
    return promised


@given(worlds(most_jobs=6, horizon=6), rules, st.integers(1, 6))
def test_who_was_admitted_first_is_lost_only_to_others_like_it(world, rule, now):
    """Alone, an admitted job can always keep what it had."""
    state, jobs = begin(world, rule)
    params = AdmissionParameters(replanning=Replanning.ADMITTED_FIRST)
    state.accept(jobs[0], admission.offer(jobs[0], state, params))
    found = admission.replan(state, min(now, state.cluster.horizon), jobs[1:], params)
    assert found.lost == ()


@given(worlds(most_jobs=5, horizon=5), rules)
def test_on_one_machine_workers_and_servers_share_it_in_each_slot(world, rule):
    cluster, jobs = world
    cluster = replace(cluster, network=1)
    state = admission.empty(cluster, price_bounds.of(jobs, cluster, rule))
    together = AdmissionParameters(colocation_bandwidth=10.0)
    for job in jobs:
        job = replace(job, exchange_slots=job.batch_slots / 2)  # noqa: PLW2901 - the same, with an exchange to save
        apart = admission.offer(job, state, AdmissionParameters())
        found = admission.offer(job, state, together)
        assert found.payoff >= apart.payoff
        plan = found.schedule
        if plan is None or not plan.colocated:
            assert found.payoff == apart.payoff
        else:
            assert found.payoff > apart.payoff
            where = {slot: machine for slot, machine, _ in entries(plan.workers)}
            assert len(where) == len(plan.workers.slots)
            assert all(where[slot] == machine for slot, machine, _ in entries(plan.servers))
            after = state.promised.copy()
            after.take(job, plan)
            assert (after.g[..., 1] == state.promised.g[..., 1]).all()
            assert (after.v == state.promised.v).all()
        state.accept(job, found)
        check_room(state.promised)


@given(worlds(), rules)
def test_what_is_given_back_is_free_again(world, rule):
    state, jobs = begin(world, rule)
    for job in jobs:
        state.accept(job, admission.offer(job, state, AdmissionParameters()))
    for job, plan in state.admitted.values():
        state.promised.give_back(job, plan)
    assert state.promised.g == pytest.approx(0.0, abs=1e-9)
    assert state.promised.v == pytest.approx(0.0, abs=1e-9)
