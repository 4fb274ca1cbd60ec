"""Admission, planning anew, co-location and the certificate, worked out by hand.

One machine of 4 for workers and one of 4 for servers; L = 1, U = 16 where nothing else is said.
"""

import math
from dataclasses import replace

import numpy as np
import pytest

from extender.core.cluster.utility import Steps
from extender.core.parameters.pricing import (
    AdmissionParameters,
    Granularity,
    Replanning,
    SlotParameters,
)
from extender.core.pricing import admission, certificate, colocation, slot_merge
from tests.unit.core.policies.slot_worlds import (
    check_room,
    check_schedule,
    make_bounds,
    make_cluster,
    make_job,
)

NEVER = AdmissionParameters()
FIRST = AdmissionParameters(replanning=Replanning.ADMITTED_FIRST)
FREELY = AdmissionParameters(replanning=Replanning.WITHOUT_COMMITMENT)


def begin(horizon=4, workers=4.0, **more):
    cluster = make_cluster([[workers]], [[4.0]], horizon, **more)
    return admission.empty(cluster, make_bounds(1.0, 16.0))


def wide(name, value, **fields):
    """All four workers for one slot, worth ``value`` if done in the slot of its arrival."""
    return make_job(name, chunks=4, worker_bandwidth=0.0, utility=Steps(((0.0, value),)), **fields)


def offer(state, job, params=NEVER):
    decision = admission.offer(job, state, params)
    state.accept(job, decision)
    return decision


def test_an_admitted_job_gets_what_its_schedule_says():
    state = begin()
    job = make_job(chunks=2, epochs=2, decay=0.1, target=9.0)
    decision = offer(state, job)
    assert decision.admitted
    assert decision.promise == 2
    assert state.promised.g[:, 0, 0].tolist() == [2.0, 2.0, 0.0, 0.0]
    assert state.promised.v[:, 0, 0].tolist() == [2.0, 2.0, 0.0, 0.0]
    assert state.admitted["job"] == (job, decision.schedule)


def test_a_job_that_is_turned_away_changes_nothing():
    state = begin()
    decision = offer(state, make_job(value=1.0))
    assert (decision.admitted, decision.payoff, decision.schedule, decision.promise) == (
        False,
        0.0,
        None,
        None,
    )
    assert not state.promised.g.any()
    assert state.admitted == {}


def test_the_second_job_pays_the_price_the_first_one_made():
    state = begin()
    half = {"chunks": 2, "worker_bandwidth": 0.0, "utility": Steps(((0.0, 50.0),))}
    assert offer(state, make_job("first", **half)).payoff == pytest.approx(50.0 - 2 * 1.0)
    assert offer(state, make_job("second", **half)).payoff == pytest.approx(50.0 - 2 * 4.0)
    assert not offer(state, make_job("third", **half)).admitted


def test_dense_jobs_are_admitted_where_others_are_not():
    state = begin()
    offer(state, make_job("first", chunks=3, worker_bandwidth=0.0, utility=Steps(((0.0, 50.0),))))
    poor = make_job("poor", worker_bandwidth=0.0, utility=Steps(((0.0, 7.0),)))
    rich = make_job("rich", worker_bandwidth=0.0, utility=Steps(((0.0, 9.0),)))
    assert not offer(state, poor).admitted
    assert offer(state, rich).payoff == pytest.approx(1.0)


def test_a_later_and_denser_job_takes_the_place_only_without_commitment():
    for params, lost, admitted in ((FIRST, (), {"old"}), (FREELY, ("old",), {"new"})):
        state = begin(horizon=2)
        old = wide("old", 50.0, arrival=2)
        offer(state, old)
        found = admission.replan(state, 2, [wide("new", 80.0, arrival=2)], params)
        assert found.lost == lost
        assert set(found.state.admitted) == admitted
        check_room(found.state.promised)


def test_planning_anew_does_only_what_is_left():
    state = begin()
    job = make_job(epochs=3)
    offer(state, job)
    found = admission.replan(state, 2, [], FIRST)
    left, plan = found.state.admitted["job"]
    assert left.done == pytest.approx(1 / 3)
    assert plan.workers.by_slot() == {2: 1, 3: 1}
    assert found.decisions["job"].promise == 3


def test_planning_anew_leaves_the_finished_and_the_past_alone():
    state = begin()
    offer(state, make_job("done"))
    found = admission.replan(state, 2, [make_job("new", arrival=2)], FREELY)
    assert set(found.state.admitted) == {"new"}
    assert found.state.promised.g[:, 0, 0].tolist() == [0.0, 1.0, 0.0, 0.0]
    assert set(state.admitted) == {"done"}


def test_an_admitted_job_is_kept_even_if_it_no_longer_pays():
    state = begin()
    offer(state, make_job(epochs=2))
    dearer = replace(state, bounds=make_bounds(100.0, 1600.0))
    kept = admission.replan(dearer, 2, [], FIRST)
    assert kept.decisions["job"].payoff == pytest.approx(50.0 - 200.0)
    assert (set(kept.state.admitted), kept.lost) == ({"job"}, ())
    assert admission.replan(dearer, 2, [], FREELY).lost == ("job",)


def test_whole_chunks_count_as_done_not_the_workers_time():
    """A worker-slot trains one chunk of 0.6 slots; so two slots are two chunks of three."""
    params = AdmissionParameters(search=SlotParameters(Granularity.CHUNKS))
    state = begin()
    job = make_job(epochs=3, batch_slots=0.6)
    plan = offer(state, job, params).schedule
    assert plan is not None
    assert admission.remaining(job, plan, 3, params).done == pytest.approx(2 / 3)
    assert admission.remaining(job, plan, 3, NEVER).done == 1.0


def test_density_is_value_by_what_is_left():
    job = make_job(chunks=2, epochs=2, worker=(3.0,), utility=Steps(((1.0, 60.0), (2.0, 12.0))))
    assert admission.density(job, 1) == pytest.approx(60.0 / (4 * 3.0))
    assert admission.density(job, 2) == pytest.approx(12.0 / (4 * 3.0))
    assert admission.density(replace(job, done=0.5), 2) == pytest.approx(60.0 / (2 * 3.0))


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
    state = admission.empty(cluster, make_bounds(1.0, 16.0, resources=2))
    return state, admission.offer(job, state, AdmissionParameters(colocation_bandwidth=bandwidth))


def test_the_exchange_inside_a_machine_is_as_much_shorter_as_it_is_faster():
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
    apart = admission.offer(TALKATIVE, together(capacity=1.0)[0], NEVER)
    assert together(capacity=1.0)[1].payoff == apart.payoff


def test_what_a_colocated_job_has_done_counts_at_its_own_speed():
    state, decision = together(capacity=3.0)
    assert decision.schedule is not None
    params = AdmissionParameters(colocation_bandwidth=8.0)
    left = admission.remaining(TALKATIVE, decision.schedule, 2, params)
    assert left.done == pytest.approx(1 / 1.6)
    assert state.admitted == {}


def test_a_schedule_on_one_machine_keeps_to_the_constraints():
    state, decision = together()
    assert decision.schedule is not None
    inside = colocation.inside(TALKATIVE, 8.0)
    check_schedule(inside, decision.schedule, state.promised, state.bounds)


def test_the_certificate_of_an_empty_run_is_capacity_and_payoffs_at_the_lowest_prices():
    """Two slots of 4 + 4 at 1, and a job that would pay 50 - 2 if it had been offered."""
    state = begin(horizon=2)
    found = certificate.certificate([make_job()], state)
    assert found.prices == pytest.approx(16.0)
    assert found.payoffs == pytest.approx(48.0)
    assert (found.bound, found.utility, found.ratio) == (pytest.approx(64.0), 0.0, math.inf)


def test_the_certificate_counts_schedules_that_did_not_fit():
    """The second job would pay 80 - 4·16 in the slot the first one has filled."""
    state = begin(horizon=1)
    jobs = [wide("first", 50.0), wide("second", 80.0)]
    for job in jobs:
        offer(state, job)
    found = certificate.certificate(jobs, state)
    assert found.utility == 50.0
    assert found.prices == pytest.approx(4 * 16.0 + 4 * 1.0)
    assert found.payoffs == pytest.approx(0.0 + (80.0 - 64.0))
    assert found.ratio == pytest.approx(84.0 / 50.0)


def test_a_scale_below_one_can_bring_the_certificate_nearer():
    state = begin(horizon=1)
    jobs = [wide("first", 50.0), wide("second", 20.0)]
    for job in jobs:
        offer(state, job)
    assert certificate.certificate(jobs, state).bound == pytest.approx(68.0)
    scaled = certificate.certificate(jobs, state, scales=(1.0, 0.5))
    assert scaled.bound == pytest.approx(34.0 + (50.0 - 32.0))


def test_divided_servers_cost_their_share_of_the_next_one():
    costs = np.array([[0.0, 1.0, 4.0, np.inf]])
    assert slot_merge.divided(costs, 0.5, 5).tolist() == [
        [0.0, 0.5, 1.0, 2.5, 4.0, math.inf],
    ]


def test_the_cheapest_worker_slots_are_taken_from_all_slots():
    merge = slot_merge.Merge(np.array([[1.0, 9.0], [2.0, 3.0], [1.5, 4.0]]), 3)
    assert [merge.cost(row) for row in range(3)] == [math.inf, 6.0, 4.5]
    assert slot_merge.most_payoff(merge, lambda row: [100.0, 20.0, 19.0][row]) == 14.5
    assert slot_merge.most_payoff(merge, lambda row: [100.0, 20.0, 18.0][row]) == 14.0
    assert slot_merge.most_payoff(merge, lambda row: [100.0, 20.0, 1.0][row]) == 14.0
    assert slot_merge.most_payoff(merge, lambda row: 1.0) == 0.0
