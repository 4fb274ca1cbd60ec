"""Laws of the simulator's own policies: certificate, replanning, co-location."""

import itertools
import math
from dataclasses import replace

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from extender.core.parameters.pricing import AdmissionParameters, Replanning
from extender.core.pricing import admission, price_bounds
from simulator.policies import certificate, colocation, replanning
from tests.property.slot_enumeration import worlds
from tests.property.test_admission import begin, params, rules
from tests.unit.core.policies.slot_worlds import check_room, check_schedule, entries

kinds = st.sampled_from([Replanning.ADMITTED_FIRST, Replanning.WITHOUT_COMMITMENT])


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


@given(worlds(most_jobs=6, horizon=6), params, rules, kinds, st.integers(1, 6))
def test_replanning_does_the_remaining_work_in_future_slots(world, params, rule, kind, now):
    state, jobs = begin(world, rule)
    params = replace(params, replanning=kind)
    now = min(now, state.cluster.horizon)
    early = [job for job in jobs if job.arrival < now]
    late = [job for job in jobs if job.arrival >= now]
    for job in early:
        state.accept(job, admission.offer(job, state, params))
    unfinished = {n for n, (_, plan) in state.admitted.items() if plan.completion_slot >= now}
    result = replanning.replan(state, now, late, params)
    check_room(result.state.promised)
    assert not result.state.promised.g[: now - 1].any()
    assert set(result.decisions) == unfinished | {job.name for job in late}
    assert set(result.lost) == unfinished - set(result.state.admitted)
    for name, (job, plan) in result.state.admitted.items():
        assert plan.workers.slots.min() >= max(now, job.arrival)
        if name in unfinished:
            before, old = state.admitted[name]
            assert plan.workers.total >= before.work - old.workers.before(now).total
    for name, (job, plan) in result.state.admitted.items():
        if len(result.state.admitted) == 1:
            check_schedule(job, plan, _without(result.state, name), state.bounds, start=now)


def _without(state, name):
    promised = state.promised.copy()
    promised.give_back(*state.admitted[name])
    return promised


@given(worlds(most_jobs=6, horizon=6), rules, st.integers(1, 6))
def test_a_job_that_was_admitted_alone_is_never_lost(world, rule, now):
    """Alone, an admitted job can always keep its schedule."""
    state, jobs = begin(world, rule)
    params = AdmissionParameters(replanning=Replanning.ADMITTED_FIRST)
    state.accept(jobs[0], admission.offer(jobs[0], state, params))
    result = replanning.replan(state, min(now, state.cluster.horizon), jobs[1:], params)
    assert result.lost == ()


@given(worlds(most_jobs=5, horizon=5), rules)
def test_on_one_machine_workers_and_servers_share_it_in_each_slot(world, rule):
    cluster, jobs = world
    cluster = replace(cluster, network=1)
    state = admission.empty_state(cluster, price_bounds.price_bounds(jobs, cluster, rule))
    together = AdmissionParameters(colocation_bandwidth=10.0)
    for job in jobs:
        job = replace(job, exchange_slots=job.batch_slots / 2)  # noqa: PLW2901 - the same, with an exchange to save
        apart = admission.offer(job, state, AdmissionParameters())
        result = colocation.offer(job, state, together)
        assert result.payoff >= apart.payoff
        plan = result.schedule
        if plan is None or not plan.colocated:
            assert result.payoff == apart.payoff
        else:
            assert result.payoff > apart.payoff
            where = {slot: machine for slot, machine, _ in entries(plan.workers)}
            assert len(where) == len(plan.workers.slots)
            assert all(where[slot] == machine for slot, machine, _ in entries(plan.servers))
            after = state.promised.copy()
            after.take(job, plan)
            assert (after.g[..., 1] == state.promised.g[..., 1]).all()
            assert (after.v == state.promised.v).all()
        state.accept(job, result)
        check_room(state.promised)
