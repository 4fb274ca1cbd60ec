"""The best schedule that can be carried out: no pod moves from slot to slot.

The paper's schedule (``admission``) may use other machines in every slot. First the machines are
assigned so that each worker stays where it is (``machine_assignment``). If that is not possible,
the job is offered only what every machine has free in all slots of a stretch, where all workers can
stay. At last it is offered the same number of workers in slots in a row (``rigid_schedules``).
"""

import itertools
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
"""Part of a slot that may be over without a loss for what begins in it: starting takes that long
anyway."""
_MOST_TRIES: Final = 32
_MOST_WORKER_COUNTS: Final = 16
_NOWHERE: Final = np.zeros(0, dtype=np.int64)
_NOTHING: Final = Allocation(_NOWHERE, _NOWHERE, _NOWHERE)


@dataclass(frozen=True, eq=False)
class ScheduleRequest:
    """A job to be planned.

    Attributes:
        job: The job, in the units of the machines.
        usable: Machines on which its workers may run.
        usable_servers: Machines on which its parameter servers may run.
        can_change: Whether its workers may leave and come back from slot to slot.
        current: Machines of the workers that run, by index.
        current_servers: Machines of the servers that run.
    """

    job: TrainingJob
    usable: BoolVector
    usable_servers: BoolVector
    can_change: bool
    current: tuple[int, ...] = ()
    current_servers: tuple[int, ...] = ()


def best_stable_schedule(
    request: ScheduleRequest,
    state: SlotState,
    params: AdmissionParameters,
    *,
    elapsed: float = 0.0,
    least_payoff: float = 0.0,
) -> Schedule | None:
    """Return the schedule with the largest payoff; None if the search finds none.

    Slot 1 is the present one.

    Args:
        request: The job.
        state: Promised amounts; not changed.
        params: How jobs are admitted.
        elapsed: Part of the present slot that is over: what runs in it does so much less.
        least_payoff: The payoff must be above this.
    """
    open_state = _without_unusable(request, state)
    search = _Search(request, state, open_state, params, least_payoff)
    attempt = search
    for _ in range(3):
        schedule = attempt.best(1)
        lost = elapsed * _workers_at(schedule, 1) if elapsed > GRACE else 0.0
        missing = request.job.whole_work * (1.0 - request.job.done) + lost
        if schedule is None or schedule.workers.total + ROUNDING >= missing:
            return schedule
        done = request.job.done - lost / request.job.whole_work
        longer = replace(request, job=replace(request.job, done=done))
        attempt = replace(search, request=longer)
    return None if request.current else search.best(2)


def _workers_at(schedule: Schedule | None, slot: int) -> int:
    return 0 if schedule is None else sum(schedule.workers.at(slot).values())


@dataclass(frozen=True, eq=False)
class _Search:
    """The search for one job.

    Attributes:
        request: The job.
        state: Promised amounts.
        open_state: The same, with machines that the job may not use full.
        params: How jobs are admitted.
        least_payoff: The payoff must be above this.
    """

    request: ScheduleRequest
    state: SlotState
    open_state: SlotState
    params: AdmissionParameters
    least_payoff: float

    def best(self, start: int) -> Schedule | None:
        """Return the best schedule from slot ``start`` on."""
        if not self.request.can_change:
            return self.rigid(start)
        schedule = self._offer(self.request.job, self.open_state, start)
        if schedule is None:
            return None
        counts = schedule.workers.by_slot()
        return (
            self._assigned(counts, (schedule.workers, schedule.servers))
            or self._in_stretches(schedule)
            or self.rigid(start)
            or self._after_pause()
        )

    def _offer(self, job: TrainingJob, state: SlotState, start: int) -> Schedule | None:
        return admission.offer(
            job, state, self.params, start=start, least_payoff=self.least_payoff
        ).schedule

    def rigid(self, start: int) -> Schedule | None:
        """Return the best schedule with the same workers in slots in a row."""
        request, job = self.request, self.request.job
        starts = (max(start, job.arrival), self.state.cluster.horizon)
        worker_counts = _worker_counts(job)
        if request.current:
            starts = (1, 1)
            worker_counts = [min(max(len(request.current), job.least_workers), job.chunks)]
        schedules = rigid_schedules.by_payoff(
            job, self.open_state, worker_counts, starts, self.least_payoff
        )
        for rigid in itertools.islice(schedules, _MOST_TRIES):
            if schedule := self._assigned(rigid.counts, (rigid.cheapest, _NOTHING)):
                return schedule
        return None

    def _after_pause(self) -> Schedule | None:
        """Return the best schedule of a running job that pauses first and may return anywhere."""
        if not self.request.current:
            return None
        paused = replace(self.request, current=(), current_servers=())
        return replace(self, request=paused).rigid(2)

    def _in_stretches(self, unassigned: Schedule) -> Schedule | None:
        """Return a schedule in slots in which every machine offers the same all the time."""
        first = int(unassigned.workers.slots[0])
        for last in _last_slots(first, unassigned.completion_slot, self.state.cluster.horizon):
            level = _level_state(self.open_state, first, last)
            servers, job = _NOTHING, self.request.job
            if self.state.cluster.common and job.fixed_servers:
                assigned = self._fixed_servers(level, first, last)
                if assigned is None:
                    continue
                servers = assigned
                level.promised.workers.take(servers, job.server)
                job = replace(job, fixed_servers=0)
            offered = self._offer(job, level, first)
            if offered is None:
                continue
            counts = offered.workers.by_slot()
            if schedule := self._assigned(counts, (offered.workers, servers)):
                return schedule
        return None

    def _fixed_servers(self, state: SlotState, first: int, last: int) -> Allocation | None:
        counts = dict.fromkeys(range(first, last + 1), self.request.job.fixed_servers or 0)
        free = _free(state.promised.servers)
        servers = _servers(self.request, state, counts, _NOTHING, free)
        if not machine_assignment.assign_machines([servers], 1):
            return None
        return servers.allocation()

    def _assigned(
        self, counts: Counts, preferred: tuple[Allocation, Allocation]
    ) -> Schedule | None:
        """Return the schedule with so many workers in each slot at its true bill.

        None if some pod gets no machine, or if it does not pay.

        Args:
            counts: Workers by slot.
            preferred: Machines of the workers and of the servers that are taken first.
        """
        request, state, job = self.request, self.state, self.request.job
        served = {slot: job.servers_for(count) for slot, count in counts.items()}
        free = _free(state.promised.workers)
        free_for_servers = free if state.cluster.common else _free(state.promised.servers)
        servers = _servers(request, state, served, preferred[1], free_for_servers)
        workers = _workers(request, state, counts, preferred[0], free)
        if not machine_assignment.assign_machines([servers, workers], 1):
            return None
        bill = sum(_bill(role) for role in (workers, servers))
        end = max(slot for slot, count in counts.items() if count)
        utility = job.utility.of(end - job.arrival)
        if utility - bill <= self.least_payoff:
            return None
        return Schedule(
            payoff=utility - bill,
            utility=utility,
            bill=bill,
            completion_slot=end,
            workers=workers.allocation(),
            servers=servers.allocation(),
        )


def _worker_counts(job: TrainingJob) -> list[int]:
    """Return numbers of workers between the least and the most, not too many."""
    step = max(1, -(-(job.chunks - job.least_workers) // _MOST_WORKER_COUNTS))
    return sorted({*range(job.least_workers, job.chunks + 1, step), job.chunks})


def _last_slots(first: int, last: int, horizon: int) -> Iterator[int]:
    yield from sorted({last, min(horizon, 2 * last - first + 1), horizon})


def _level_state(state: SlotState, first: int, last: int) -> SlotState:
    """Return a state in which a machine has the same free in all slots: the least of any of them.

    Outside of the slots nothing is free.
    """
    promised = state.promised.copy()
    for pool in {id(pool): pool for pool in (promised.workers, promised.servers)}.values():
        most = pool.used[:, first - 1 : last].max(axis=1)
        pool.used[:] = pool.capacity[:, None, :]
        pool.used[:, first - 1 : last] = most[:, None, :]
    return SlotState(state.cluster, state.bounds, promised)


def _bill(role: RoleAssignment) -> float:
    return float(sum(role.prices[slot - 1, m] * n for (slot, m), n in role.taken.items()))


def _workers(
    request: ScheduleRequest,
    state: SlotState,
    counts: Counts,
    preferred: Allocation,
    free: FloatCube,
) -> RoleAssignment:
    pool, demand = state.promised.workers, request.job.worker
    low, high = state.bounds.log_low_workers, state.bounds.log_high_workers
    every_slot = slice(0, state.cluster.horizon)
    return RoleAssignment(
        counts=counts,
        demand=demand,
        free=free,
        usable=request.usable,
        prices=slot_offers.unit_prices(pool, every_slot, demand, low, high),
        preferred=preferred,
        current=request.current,
    )


def _servers(
    request: ScheduleRequest,
    state: SlotState,
    counts: Counts,
    preferred: Allocation,
    free: FloatCube,
) -> RoleAssignment:
    pool, demand = state.promised.servers, request.job.server
    low, high = state.bounds.log_low_servers, state.bounds.log_high_servers
    every_slot = slice(0, state.cluster.horizon)
    return RoleAssignment(
        counts=counts,
        demand=demand,
        free=free,
        usable=request.usable_servers,
        prices=slot_offers.unit_prices(pool, every_slot, demand, low, high),
        preferred=preferred,
        current=request.current_servers,
    )


def _free(pool: Pool) -> FloatCube:
    return pool.capacity[:, None, :] - pool.used


def _without_unusable(request: ScheduleRequest, state: SlotState) -> SlotState:
    """Return the state in which machines that the job may not use are full.

    Workers and servers may be allowed on different machines, so common pools are separated.
    """
    if request.usable.all() and request.usable_servers.all():
        return state
    promised = Commitments(replace(state.cluster, common=False))
    promised.workers.used[:] = state.promised.workers.used
    promised.servers.used[:] = state.promised.servers.used
    _fill(promised.workers, request.usable, request.current)
    _fill(promised.servers, request.usable_servers, request.current_servers)
    return SlotState(promised.cluster, state.bounds, promised)


def _fill(pool: Pool, usable: BoolVector, current: Sequence[int]) -> None:
    closed = ~usable
    closed[list(current)] = False
    pool.used[:, :, closed] = pool.capacity[:, None, closed]
