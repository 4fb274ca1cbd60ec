"""Machines of pods over the slots, and schedules in which no pod moves."""

import numpy as np
import pytest

from extender.core.cluster.utility import Sigmoid, Steps
from extender.core.parameters.pricing import AdmissionParameters, BoundsParameters, PriceBoundRule
from extender.core.pricing import (
    admission,
    machine_assignment,
    price_bounds,
    rigid_schedules,
    stable_schedule,
)
from extender.core.pricing.machine_assignment import RoleAssignment
from extender.core.pricing.slots import Allocation, SlotCluster
from extender.core.pricing.stable_schedule import ScheduleRequest
from extender.core.pricing.training_job import TrainingJob

NONE = Allocation(*(np.zeros(0, dtype=np.int64) for _ in range(3)))


def role_of(counts, free, *, demand=1.0, current=(), preferred=None, prices=None, usable=None):
    """``free``: machine → amounts by slot."""
    room = np.array(free, dtype=float).T[None]
    machines = room.shape[2]
    return RoleAssignment(
        counts=counts,
        demand=(demand,),
        free=room,
        usable=np.ones(machines, dtype=bool) if usable is None else np.array(usable),
        prices=np.ones(room.shape[1:]) if prices is None else np.array(prices, dtype=float),
        preferred=preferred or NONE,
        current=current,
    )


def by_slot(role):
    return {slot: role.allocation().at(slot) for slot in role.counts}


def test_the_pod_that_stays_longest_gets_the_machine_that_is_free_longest():
    role = role_of({1: 2, 2: 1}, [[1, 0], [1, 1]])
    assert machine_assignment.assign_machines([role], 1)
    assert by_slot(role) == {1: {0: 1, 1: 1}, 2: {1: 1}}


def test_assignment_fails_if_a_pod_would_have_to_move():
    assert not machine_assignment.assign_machines([role_of({1: 1, 2: 1}, [[1, 0], [0, 1]])], 1)


def test_a_pod_may_change_its_machine_after_a_pause():
    role = role_of({1: 1, 3: 1}, [[1, 0, 0], [0, 0, 1]])
    assert machine_assignment.assign_machines([role], 1)
    assert by_slot(role) == {1: {0: 1}, 3: {1: 1}}


def test_a_pod_may_change_its_machine_after_a_smaller_slot():
    role = role_of({1: 2, 2: 1, 3: 2}, [[1, 1, 1], [1, 0, 0], [0, 0, 1]])
    assert machine_assignment.assign_machines([role], 1)
    assert by_slot(role) == {1: {0: 1, 1: 1}, 2: {0: 1}, 3: {0: 1, 2: 1}}


def test_a_running_pod_stays_on_its_machine():
    role = role_of({1: 2, 2: 2}, [[2, 2], [2, 2]], current=(1,))
    assert machine_assignment.assign_machines([role], 1)
    assert by_slot(role)[1][1] >= 1


def test_assignment_fails_if_the_machine_of_a_running_pod_is_full_later():
    assert not machine_assignment.assign_machines(
        [role_of({1: 1, 2: 1}, [[1, 1], [1, 0]], current=(1,))], 1
    )


def test_a_running_pod_that_leaves_needs_no_later_room():
    role = role_of({1: 1, 2: 1}, [[1, 1], [0, 0]], current=(0, 1))
    assert machine_assignment.assign_machines([role], 1)
    assert by_slot(role) == {1: {0: 1}, 2: {0: 1}}


def test_preferred_machines_come_first_then_cheap_ones():
    preferred = Allocation(np.array([1]), np.array([2]), np.array([1]))
    role = role_of({1: 2}, [[5], [5], [5]], preferred=preferred, prices=[[3, 1, 2]])
    assert machine_assignment.assign_machines([role], 1)
    assert by_slot(role) == {1: {1: 1, 2: 1}}


def test_roles_on_common_machines_share_the_room():
    servers = role_of({1: 1}, [[2], [1]])
    workers = role_of({1: 2}, [[2], [1]])
    workers.free = servers.free
    assert machine_assignment.assign_machines([servers, workers], 1)
    assert sum(by_slot(servers)[1].values()) + sum(by_slot(workers)[1].values()) == 3
    assert not machine_assignment.assign_machines([role_of({1: 1}, [[0]])], 1)


def job_of(work, most, *, least=1, servers=0, utility=None, arrival=1):
    return TrainingJob(
        name="job",
        arrival=arrival,
        epochs=1,
        chunks=most,
        batches=1,
        batch_slots=work / most,
        worker=(1.0,),
        server=(1.0,) if servers else (0.0,),
        worker_bandwidth=0.0,
        server_bandwidth=1.0,
        utility=utility or Sigmoid(100.0, 0.0, 1.0),
        least_workers=least,
        fixed_servers=servers,
    )


def state_of(free, *, size=4.0, job):
    """Machines of one size; ``free``: machine → free amounts by slot."""
    left = np.array(free, dtype=float)
    capacity = np.full((len(left), 1), size)
    cluster = SlotCluster(capacity, capacity, left.shape[1], common=True)
    bounds = price_bounds.price_bounds([job], cluster, BoundsParameters(rule=PriceBoundRule.KAPPA))
    state = admission.empty_state(cluster, bounds)
    state.promised.workers.used[0] = size - left.T
    return state


def best(job, free, *, can_change=True, current=(), elapsed=0.0, usable=None, **options):
    state = state_of(free, job=job)
    machines = len(free)
    may = np.ones(machines, dtype=bool) if usable is None else np.array(usable)
    request = ScheduleRequest(job, may, np.ones(machines, dtype=bool), can_change, current)
    return stable_schedule.best_stable_schedule(
        request, state, AdmissionParameters(), elapsed=elapsed, **options
    )


def test_the_search_goes_on_if_the_best_schedule_would_move_a_pod():
    urgent = Steps(((1.0, 100.0), (3.0, 60.0)))
    schedule = best(job_of(2, 1, utility=urgent), [[1, 0, 0, 0], [0, 1, 1, 0]])
    assert (schedule.workers.by_slot(), schedule.utility) == ({2: 1, 3: 1}, 60.0)


def test_a_rigid_job_without_a_stable_schedule_gets_none():
    assert best(job_of(4, 2, least=2), [[2, 0], [0, 2]], can_change=False) is None


def test_unusable_machines_are_not_used():
    schedule = best(job_of(2, 2), [[2, 2], [2, 2]], usable=[False, True])
    assert schedule.workers.at(1) == {1: 2}


def test_a_rigid_job_has_the_same_workers_in_all_slots():
    hurried = Sigmoid(100.0, 2.0, 3.0)
    schedule = best(job_of(6, 3, utility=hurried), [[2, 2, 3, 3, 3]], can_change=False)
    assert schedule.workers.by_slot() == {1: 2, 2: 2, 3: 2}


def test_a_running_rigid_job_begins_now_with_its_present_workers():
    schedule = best(job_of(4, 4, least=2), [[4, 4, 4]], can_change=False, current=(0, 0))
    assert schedule.workers.by_slot() == {1: 2, 2: 2}


@pytest.mark.parametrize(("elapsed", "slots"), [(0.04, 2), (0.5, 3)])
def test_the_part_of_a_slot_that_is_over_is_added_to_the_work(elapsed, slots):
    schedule = best(job_of(4, 2), [[2] * 4], elapsed=elapsed)
    assert len(schedule.workers.by_slot()) == slots


def test_servers_stay_too_and_take_from_common_machines():
    schedule = best(job_of(4, 2, servers=1), [[2, 2, 2], [1, 1, 1]])
    assert schedule.servers.by_slot() == dict.fromkeys(schedule.workers.by_slot(), 1)
    for slot in schedule.workers.by_slot():
        together = schedule.workers.at(slot).get(0, 0) + schedule.servers.at(slot).get(0, 0)
        assert together <= 2


def test_rigid_schedules_come_by_payoff():
    job = job_of(4, 2, utility=Sigmoid(100.0, 1.0, 2.0))
    state = state_of([[2, 2, 2, 2]], job=job)
    schedule = list(rigid_schedules.by_payoff(job, state, [1, 2], (1, 4), 0.0))
    payoffs = [one.payoff for one in schedule]
    assert payoffs == sorted(payoffs, reverse=True)
    assert {(one.first, one.last, one.workers) for one in schedule} == {
        (1, 2, 2), (2, 3, 2), (3, 4, 2), (1, 4, 1),
    }  # fmt: skip
