"""Slot plans of owners as schedules over the machines, and back."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from extender.core.pricing.machines import Machines
from extender.core.pricing.slots import Allocation, Commitments, Pool, Schedule
from extender.core.pricing.training_job import ROUNDING, TrainingJob
from extender.core.records.slot_plan import SlotPlan, Span
from shared.model import NodeName

_NONE: Final = np.zeros(0, dtype=np.int64)


@dataclass(frozen=True, eq=False)
class UnkeepablePlan:
    """Why a plan cannot be kept: nodes that are gone, or have less than was promised."""

    nodes: tuple[NodeName, ...] = ()


def schedule_of(plan: SlotPlan, machines: Machines, first: int) -> Schedule | UnkeepablePlan:
    """Return the rest of a plan from slot ``first`` on, which becomes slot 1.

    Slots beyond the horizon are left out: they come into it before those of all new jobs.
    """
    spans = [span for span in plan.spans if span.last >= first]
    gone = [
        name
        for span in spans
        for there, rows in ((span.workers, machines.rows), (span.servers, machines.server_rows))
        for name in there
        if name not in rows
    ]
    if gone:
        return UnkeepablePlan(tuple(dict.fromkeys(gone)))
    workers = [(span.first, span.last, span.workers) for span in spans]
    servers = [(span.first, span.last, span.servers) for span in spans]
    horizon = machines.cluster.horizon
    return Schedule(
        payoff=plan.payoff,
        utility=plan.utility,
        bill=plan.bill,
        completion_slot=plan.completion - first + 1,
        workers=_allocation(workers, machines.rows, first, horizon),
        servers=_allocation(servers, machines.server_rows, first, horizon),
    )


def spans_of(schedule: Schedule, machines: Machines, first: int) -> tuple[Span, ...]:
    """Return a schedule as spans of slots since the epoch; its slot 1 is ``first``."""
    workers = _by_slot(schedule.workers, machines.names)
    servers = _by_slot(schedule.servers, machines.server_names)
    joined: list[Span] = []
    for slot in sorted(workers):
        here, serving = workers[slot], servers.get(slot, {})
        last = joined[-1] if joined else None
        at = slot + first - 1
        if last and last.last == at - 1 and (last.workers, last.servers) == (here, serving):
            joined[-1] = Span(last.first, at, here, serving)
        else:
            joined.append(Span(at, at, here, serving))
    return tuple(joined)


def fits(job: TrainingJob, schedule: Schedule, promised: Commitments) -> bool:
    """Return True if a schedule fits beside the promised amounts, which do not change."""
    promised.take(job, schedule)  # in place: a copy of all slots for each plan would cost too much
    sides = ((promised.workers, schedule.workers), (promised.servers, schedule.servers))
    fit = all(_holds(pool, pods) for pool, pods in sides)
    promised.give_back(job, schedule)
    return fit


def _holds(pool: Pool, pods: Allocation) -> bool:
    used = pool.used[:, pods.slots - 1, pods.machines]
    return bool((used <= pool.capacity[:, pods.machines] + ROUNDING).all())


def _allocation(
    spans: Sequence[tuple[int, int, Mapping[NodeName, int]]],
    rows: Mapping[NodeName, int],
    first: int,
    horizon: int,
) -> Allocation:
    entries = sorted(
        (slot - first + 1, rows[name], count)
        for begin, end, there in spans
        for slot in range(max(begin, first), min(end, first + horizon - 1) + 1)
        for name, count in there.items()
        if count
    )
    if not entries:
        return Allocation(_NONE, _NONE, _NONE)
    slots, machines, counts = (np.array(c, dtype=np.int64) for c in zip(*entries, strict=True))
    return Allocation(slots, machines, counts)


def _by_slot(pods: Allocation, names: Sequence[NodeName]) -> dict[int, dict[NodeName, int]]:
    by_slot: dict[int, dict[NodeName, int]] = {}
    rows = zip(pods.slots.tolist(), pods.machines.tolist(), pods.counts.tolist(), strict=True)
    for slot, machine, count in rows:
        by_slot.setdefault(slot, {})[names[machine]] = count
    return by_slot
