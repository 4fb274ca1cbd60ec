"""Co-location, worked out by hand."""

import pytest

from extender.core.cluster.utility import Steps
from extender.core.parameters.pricing import AdmissionParameters
from extender.core.pricing import admission
from simulator.policies import colocation, replanning
from tests.unit.core.policies.slot_worlds import (
    check_schedule,
    make_bounds,
    make_cluster,
    make_job,
)

TALKATIVE = make_job(
    chunks=2,
    epochs=2,
    exchange_slots=0.8,
    worker=(1.0, 2.0),
    server=(1.0, 2.0),
    worker_bandwidth=2.0,
    server_bandwidth=2.0,
    utility=Steps(((0.0, 90.0), (1.0, 60.0))),
)


def together(bandwidth=8.0, capacity=4.0, job=TALKATIVE):
    cluster = make_cluster([[capacity, 4.0]], [[4.0, 4.0]], 3, network=1)
    state = admission.empty_state(cluster, make_bounds(1.0, 16.0, resources=2))
    return state, colocation.offer(job, state, AdmissionParameters(colocation_bandwidth=bandwidth))


def test_the_exchange_inside_a_machine_is_shorter_by_its_speed():
    inside = colocation.inside(TALKATIVE, 8.0)
    assert inside.exchange_slots == pytest.approx(0.8 / 4)
    assert inside.batch_slots == pytest.approx(0.2 + 0.8 / 4)
    assert colocation.inside(TALKATIVE, 1.0) == TALKATIVE


def test_on_one_machine_a_job_is_done_sooner_and_uses_no_network():
    """W = ⌈2·2·0.4⌉ = 2: two workers and two servers for a slot, each at L = 1."""
    state, decision = together()
    plan = decision.schedule
    assert plan is not None
    assert plan.colocated
    assert plan.completion_slot == 1
    assert decision.payoff == pytest.approx(90.0 - 4.0)
    state.accept(TALKATIVE, decision)
    assert state.promised.g[0, 0].tolist() == [4.0, 0.0]
    assert not state.promised.v.any()


def test_a_machine_too_small_for_the_whole_job_takes_fewer_workers_or_none():
    _, decision = together(capacity=3.0)
    assert decision.schedule is not None
    assert decision.schedule.workers.by_slot() == {1: 1, 2: 1}
    apart = admission.offer(TALKATIVE, together(capacity=1.0)[0], AdmissionParameters())
    assert together(capacity=1.0)[1].payoff == apart.payoff


def test_a_schedule_on_one_machine_keeps_to_the_constraints():
    state, decision = together()
    assert decision.schedule is not None
    inside = colocation.inside(TALKATIVE, 8.0)
    check_schedule(inside, decision.schedule, state.promised, state.bounds)


def test_the_work_of_a_colocated_job_counts_at_its_own_speed():
    state, decision = together(capacity=3.0)
    assert decision.schedule is not None
    params = AdmissionParameters(colocation_bandwidth=8.0)
    left = replanning.remaining(TALKATIVE, decision.schedule, 2, params)
    assert left.done == pytest.approx(1 / 1.6)
    assert state.admitted == {}
