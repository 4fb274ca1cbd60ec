"""The best schedule that can be followed: nobody moves from slot to slot, no node is taken twice.

The paper's schedule (``admission``) may put a job on other machines in every slot. First each
worker gets a machine on which it stays (``machine_assignment``). If that cannot be done, the job is
offered only what every machine has left in all slots of a stretch: there everybody can stay. At
last it is offered the same number of workers in slots in a row, wherever machines are free.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from extender.core.parameters.pricing import AdmissionParameters
from extender.core.pricing import admission, machine_assignment, rigid_schedules, slot_offers
from extender.core.pricing.admission import SlotState
from extender.core.pricing.machine_assignment import BoolVector, Counts, RoleAssignment
from extender.core.pricing.slots import Allocation, Commitments, FloatCube, Pool, Schedule
from extender.core.pricing.training_job import ROUNDING, TrainingJob

GRACE: Final = 0.05
"""Part of a slot that may have passed before what begins in it has lost something: starting takes
that long anyway."""
_MOST_TRIES: Final = 32
_MOST_WIDTHS: Final = 16
_NOWHERE: Final = np.zeros(0, dtype=np.int64)
_NO_ALLOCATION: Final = Allocation(_NOWHERE, _NOWHERE, _NOWHERE)


@dataclass(frozen=True, eq=False)
class ScheduleRequest:
    """A job to be planned.

    Attributes:
        job: The job, in the units of the machines.
        usable: Rows on which its workers may run.
        usable_servers: Rows on which its parameter servers may run.
        changes: Whether its workers may leave and come back from slot to slot.
        here: Rows of the workers that run, by index.
        here_servers: Rows of the servers that run.
    """

    job: TrainingJob
    usable: BoolVector
    usable_servers: BoolVector
    changes: bool
    here: tuple[int, ...] = ()
    here_servers: tuple[int, ...] = ()


def best_stable_schedule(
    wanted: ScheduleRequest,
    state: SlotState,
    params: AdmissionParameters,
    *,
    elapsed: float = 0.0,
    least_payoff: float = 0.0,
) -> Schedule | None:
    """Return the schedule with the largest payoff that was found; None if none can be followed.

    Slot 1 is the present one.

    Args:
        wanted: The job.
        state: What is promised; only read.
        params: How jobs are admitted.
        elapsed: Part of the present slot that is over: what runs in it does so much less.
        least_payoff: The payoff must be above this.
    """
    one = wanted
    for _ in range(3):
        found = _best(one, state, params, 1, least_payoff)
        lost = elapsed * _workers_at(found, 1) if elapsed > GRACE else 0.0
        missing = wanted.job.whole_work * (1.0 - wanted.job.done) + lost
        if found is None or found.workers.total + ROUNDING >= missing:
            return found
        done = wanted.job.done - lost / wanted.job.whole_work
        one = replace(wanted, job=replace(wanted.job, done=done))
    return None if wanted.here else _best(wanted, state, params, 2, least_payoff)


def _workers_at(schedule: Schedule | None, slot: int) -> int:
    return 0 if schedule is None else sum(schedule.workers.at(slot).values())


def _best(
    wanted: ScheduleRequest,
    state: SlotState,
    params: AdmissionParameters,
    start: int,
    least_payoff: float,
) -> Schedule | None:
    open_state = _without_unusable(wanted, state)
    if not wanted.changes:
        return _unchanging(wanted, state, open_state, start, least_payoff)
    found = admission.offer(
        wanted.job, open_state, params, start=start, least_payoff=least_payoff
    ).schedule
    if found is None:
        return None
    counts = found.workers.by_slot()
    settled = _settled(wanted, state, counts, (found.workers, found.servers), least_payoff)
    return (
        settled
        or _level(wanted, state, open_state, params, found, least_payoff)
        or _unchanging(wanted, state, open_state, start, least_payoff)
        or _elsewhere(wanted, state, open_state, least_payoff)
    )


def _unchanging(
    wanted: ScheduleRequest,
    state: SlotState,
    open_state: SlotState,
    start: int,
    least_payoff: float,
) -> Schedule | None:
    job, horizon = wanted.job, state.cluster.horizon
    starts, widths = (max(start, job.arrival), horizon), _widths(job)
    if wanted.here:
        starts, widths = (1, 1), [min(max(len(wanted.here), job.least_workers), job.chunks)]
    tries = rigid_schedules.by_payoff(job, open_state, widths, starts, least_payoff)
    for _, one in zip(range(_MOST_TRIES), tries, strict=False):
        likes = (one.likes, _NO_ALLOCATION)
        if settled := _settled(wanted, state, one.counts, likes, least_payoff):
            return settled
    return None


def _elsewhere(
    wanted: ScheduleRequest, state: SlotState, open_state: SlotState, least_payoff: float
) -> Schedule | None:
    """Search for a job that runs as if it paused first: then it may come back anywhere."""
    if not wanted.here:
        return None
    paused = replace(wanted, here=(), here_servers=())
    return _unchanging(paused, state, open_state, 2, least_payoff)


def _widths(job: TrainingJob) -> list[int]:
    """Return numbers of workers between the least and the most, not too many."""
    step = max(1, -(-(job.chunks - job.least_workers) // _MOST_WIDTHS))
    return sorted({*range(job.least_workers, job.chunks + 1, step), job.chunks})


def _level(
    wanted: ScheduleRequest,
    state: SlotState,
    open_state: SlotState,
    params: AdmissionParameters,
    found: Schedule,
    least_payoff: float,
) -> Schedule | None:
    """Search in stretches of slots in which every machine offers the same all the time."""
    first = int(found.workers.slots[0])
    for last in _lasts(first, found.completion_slot, state.cluster.horizon):
        flat = _flat(open_state, first, last)
        likes, job = _NO_ALLOCATION, wanted.job
        if state.cluster.common and job.fixed_servers:
            reserved = _servers(wanted, flat, first, last)
            if reserved is None:
                continue
            likes = reserved
            flat.promised.workers.take(likes, job.server)
            job = replace(job, fixed_servers=0)
        again = admission.offer(job, flat, params, start=first, least_payoff=least_payoff).schedule
        if again is None:
            continue
        counts = again.workers.by_slot()
        if settled := _settled(wanted, state, counts, (again.workers, likes), least_payoff):
            return settled
    return None


def _lasts(first: int, last: int, horizon: int) -> Iterator[int]:
    yield from sorted({last, min(horizon, 2 * last - first + 1), horizon})


def _flat(state: SlotState, first: int, last: int) -> SlotState:
    """Return a state in which a machine has in all of the slots what it has in the worst of them.

    Outside of them nothing is left.
    """
    promised = state.promised.copy()
    for pool in {id(pool): pool for pool in (promised.workers, promised.servers)}.values():
        most = pool.used[:, first - 1 : last].max(axis=1)
        pool.used[:] = pool.capacity[:, None, :]
        pool.used[:, first - 1 : last] = most[:, None, :]
    return SlotState(state.cluster, state.bounds, promised)


def _servers(wanted: ScheduleRequest, state: SlotState, first: int, last: int) -> Allocation | None:
    counts = dict.fromkeys(range(first, last + 1), wanted.job.fixed_servers or 0)
    kind = _kind(wanted, state, counts, _NO_ALLOCATION, _free(state.promised.servers), servers=True)
    return kind.allocation() if machine_assignment.assign_machines([kind], 1) else None


def _settled(
    wanted: ScheduleRequest,
    state: SlotState,
    counts: Counts,
    likes: tuple[Allocation, Allocation],
    least_payoff: float,
) -> Schedule | None:
    """Return the schedule with so many workers in each slot, all placed, at its true bill."""
    job, promised = wanted.job, state.promised
    served = {slot: job.servers_for(count) for slot, count in counts.items()}
    free = _free(promised.workers)
    also = free if state.cluster.common else _free(promised.servers)
    servers = _kind(wanted, state, served, likes[1], also, servers=True)
    workers = _kind(wanted, state, counts, likes[0], free, servers=False)
    if not machine_assignment.assign_machines([servers, workers], 1):
        return None
    bill = sum(_bill(kind) for kind in (workers, servers))
    end = max(slot for slot, count in counts.items() if count)
    utility = job.utility.of(end - job.arrival)
    if utility - bill <= least_payoff:
        return None
    allocation = workers.allocation(), servers.allocation()
    return Schedule(utility - bill, utility, bill, end, *allocation)


def _bill(kind: RoleAssignment) -> float:
    return float(sum(kind.prices[slot - 1, m] * n for (slot, m), n in kind.taken.items()))


def _kind(
    wanted: ScheduleRequest,
    state: SlotState,
    counts: Counts,
    likes: Allocation,
    free: FloatCube,
    *,
    servers: bool,
) -> RoleAssignment:
    job, bounds, promised = wanted.job, state.bounds, state.promised
    pool = promised.servers if servers else promised.workers
    low = bounds.log_low_servers if servers else bounds.log_low_workers
    high = bounds.log_high_servers if servers else bounds.log_high_workers
    demand = job.server if servers else job.worker
    everything = slice(0, state.cluster.horizon)
    return RoleAssignment(
        counts=counts,
        demand=demand,
        free=free,
        usable=wanted.usable_servers if servers else wanted.usable,
        prices=slot_offers.unit_prices(pool, everything, demand, low, high),
        likes=likes,
        here=wanted.here_servers if servers else wanted.here,
    )


def _free(pool: Pool) -> FloatCube:
    return pool.capacity[:, None, :] - pool.used


def _without_unusable(wanted: ScheduleRequest, state: SlotState) -> SlotState:
    """Return the state in which machines that the job may not use are full.

    Its servers may perhaps use others than its workers: so common machines come apart here.
    """
    if wanted.usable.all() and wanted.usable_servers.all():
        return state
    promised = Commitments(replace(state.cluster, common=False))
    promised.workers.used[:] = state.promised.workers.used
    promised.servers.used[:] = state.promised.servers.used
    _fill(promised.workers, wanted.usable, wanted.here)
    _fill(promised.servers, wanted.usable_servers, wanted.here_servers)
    return SlotState(promised.cluster, state.bounds, promised)


def _fill(pool: Pool, usable: BoolVector, here: Sequence[int]) -> None:
    shut = ~usable
    shut[list(here)] = False
    pool.used[:, :, shut] = pool.capacity[:, None, shut]
