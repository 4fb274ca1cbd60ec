"""Who sits where over the slots, and what is offered where that cannot be done."""

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


def kind_of(counts, free, *, demand=1.0, here=(), likes=None, prices=None, usable=None):
    """``free``: machine → amounts by slot."""
    room = np.array(free, dtype=float).T[None]
    machines = room.shape[2]
    return RoleAssignment(
        counts=counts,
        demand=(demand,),
        free=room,
        usable=np.ones(machines, dtype=bool) if usable is None else np.array(usable),
        prices=np.ones(room.shape[1:]) if prices is None else np.array(prices, dtype=float),
        likes=likes or NONE,
        here=here,
    )


def sits(kind):
    return {slot: kind.allocation().at(slot) for slot in kind.counts}


def test_who_stays_longest_gets_the_machine_that_is_free_longest():
    kind = kind_of({1: 2, 2: 1}, [[1, 0], [1, 1]])
    assert machine_assignment.assign_machines([kind], 1)
    assert sits(kind) == {1: {0: 1, 1: 1}, 2: {1: 1}}


def test_it_is_said_where_somebody_would_have_to_move():
    assert not machine_assignment.assign_machines([kind_of({1: 1, 2: 1}, [[1, 0], [0, 1]])], 1)


def test_after_a_pause_one_may_be_elsewhere():
    kind = kind_of({1: 1, 3: 1}, [[1, 0, 0], [0, 0, 1]])
    assert machine_assignment.assign_machines([kind], 1)
    assert sits(kind) == {1: {0: 1}, 3: {1: 1}}


def test_who_comes_back_after_a_smaller_slot_may_be_elsewhere():
    kind = kind_of({1: 2, 2: 1, 3: 2}, [[1, 1, 1], [1, 0, 0], [0, 0, 1]])
    assert machine_assignment.assign_machines([kind], 1)
    assert sits(kind) == {1: {0: 1, 1: 1}, 2: {0: 1}, 3: {0: 1, 2: 1}}


def test_whoever_runs_stays():
    kind = kind_of({1: 2, 2: 2}, [[2, 2], [2, 2]], here=(1,))
    assert machine_assignment.assign_machines([kind], 1)
    assert sits(kind)[1][1] >= 1


def test_whoever_runs_where_no_room_is_left_cannot_stay():
    assert not machine_assignment.assign_machines(
        [kind_of({1: 1, 2: 1}, [[1, 1], [1, 0]], here=(1,))], 1
    )


def test_whoever_runs_and_leaves_needs_no_room():
    kind = kind_of({1: 1, 2: 1}, [[1, 1], [0, 0]], here=(0, 1))
    assert machine_assignment.assign_machines([kind], 1)
    assert sits(kind) == {1: {0: 1}, 2: {0: 1}}


def test_liked_machines_come_first_then_cheap_ones():
    likes = Allocation(np.array([1]), np.array([2]), np.array([1]))
    kind = kind_of({1: 2}, [[5], [5], [5]], likes=likes, prices=[[3, 1, 2]])
    assert machine_assignment.assign_machines([kind], 1)
    assert sits(kind) == {1: {1: 1, 2: 1}}


def test_kinds_on_common_machines_leave_each_other_room():
    servers = kind_of({1: 1}, [[2], [1]])
    workers = kind_of({1: 2}, [[2], [1]])
    workers.free = servers.free
    assert machine_assignment.assign_machines([servers, workers], 1)
    assert sum(sits(servers)[1].values()) + sum(sits(workers)[1].values()) == 3
    assert not machine_assignment.assign_machines([kind_of({1: 1}, [[0]])], 1)


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
    """Machines of one size; ``free``: machine → what is left of it, by slot."""
    left = np.array(free, dtype=float)
    capacity = np.full((len(left), 1), size)
    cluster = SlotCluster(capacity, capacity, left.shape[1], common=True)
    bounds = price_bounds.price_bounds([job], cluster, BoundsParameters(rule=PriceBoundRule.KAPPA))
    state = admission.empty_state(cluster, bounds)
    state.promised.workers.used[0] = size - left.T
    return state


def best(job, free, *, changes=True, here=(), elapsed=0.0, usable=None, **said):
    state = state_of(free, job=job)
    machines = len(free)
    may = np.ones(machines, dtype=bool) if usable is None else np.array(usable)
    wanted = ScheduleRequest(job, may, np.ones(machines, dtype=bool), changes, here)
    return stable_schedule.best_stable_schedule(
        wanted, state, AdmissionParameters(), elapsed=elapsed, **said
    )


def test_where_somebody_would_have_to_move_another_schedule_is_found():
    urgent = Steps(((1.0, 100.0), (3.0, 60.0)))
    found = best(job_of(2, 1, utility=urgent), [[1, 0, 0, 0], [0, 1, 1, 0]])
    assert (found.workers.by_slot(), found.utility) == ({2: 1, 3: 1}, 60.0)


def test_no_schedule_is_better_than_one_that_cannot_be_followed():
    assert best(job_of(4, 2, least=2), [[2, 0], [0, 2]], changes=False) is None


def test_machines_that_it_may_not_use_are_not_used():
    found = best(job_of(2, 2), [[2, 2], [2, 2]], usable=[False, True])
    assert found.workers.at(1) == {1: 2}


def test_without_changes_it_has_the_same_workers_all_the_time():
    hurried = Sigmoid(100.0, 2.0, 3.0)
    found = best(job_of(6, 3, utility=hurried), [[2, 2, 3, 3, 3]], changes=False)
    assert found.workers.by_slot() == {1: 2, 2: 2, 3: 2}


def test_whoever_cannot_pause_and_runs_begins_now_with_those_it_has():
    found = best(job_of(4, 4, least=2), [[4, 4, 4]], changes=False, here=(0, 0))
    assert found.workers.by_slot() == {1: 2, 2: 2}


@pytest.mark.parametrize(("elapsed", "slots"), [(0.04, 2), (0.5, 3)])
def test_the_part_of_a_slot_that_is_over_is_added_to_the_work(elapsed, slots):
    found = best(job_of(4, 2), [[2] * 4], elapsed=elapsed)
    assert len(found.workers.by_slot()) == slots


def test_servers_stay_too_and_take_from_common_machines():
    found = best(job_of(4, 2, servers=1), [[2, 2, 2], [1, 1, 1]])
    assert found.servers.by_slot() == dict.fromkeys(found.workers.by_slot(), 1)
    for slot in found.workers.by_slot():
        together = found.workers.at(slot).get(0, 0) + found.servers.at(slot).get(0, 0)
        assert together <= 2


def test_steady_schedules_come_by_payoff():
    job = job_of(4, 2, utility=Sigmoid(100.0, 1.0, 2.0))
    state = state_of([[2, 2, 2, 2]], job=job)
    found = list(rigid_schedules.by_payoff(job, state, [1, 2], (1, 4), 0.0))
    payoffs = [one.payoff for one in found]
    assert payoffs == sorted(payoffs, reverse=True)
    assert {(one.first, one.last, one.workers) for one in found} == {
        (1, 2, 2), (2, 3, 2), (3, 4, 2), (1, 4, 1),
    }  # fmt: skip
