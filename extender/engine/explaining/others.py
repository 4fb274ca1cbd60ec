"""Waiting for others: which running jobs must end, and who comes first when they have."""

from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np

from extender.engine import tenants
from extender.engine.explaining.offers import Offer, names
from extender.engine.explaining.situation import Situation, Trials
from extender.engine.memory import Memory, Reading
from extender.engine.planning import Plan
from extender.policy import reservation
from extender.policy.reservation import Reservation, Tenant
from extender.policy.room import Room, conflicts
from shared import labels
from shared.explanation import Step, StepKind

MOST_REDUCED: Final = 12
"""Jobs of which it is tried whether they are needed; of more, all are named."""
_SHARE: Final = 0.9
"""Of the time until the holder starts: some passes before anybody has read this."""


def wait(s: Situation, trials: Trials, memory: Memory, reading: Reading) -> Iterator[Offer]:
    """Yield the jobs after whose end the job runs, those that are expected to end first."""
    everybody = _tenants(s, memory, reading)
    found = reserved(s, trials, everybody, reading.now)
    if found is None or not found.waits_for:
        return
    leaving = [one for one in everybody if one.job in found.waits_for]
    if 1 < len(leaving) <= MOST_REDUCED:
        needed = trials.needed(
            list(range(len(leaving)))[::-1],
            lambda kept: s.with_room(without(s.room, [leaving[i] for i in kept])),
        )
        leaving = [leaving[i] for i in sorted(needed)]
    steps = tuple(ends(one) for one in leaving)
    end = "end" if len(leaving) > 1 else "ends"
    yield Offer(steps, f"wait until {names([one.job for one in leaving])} {end}{_when(leaving)}")


def wait_behind(
    s: Situation, trials: Trials, holder: Reservation, memory: Memory, reading: Reading
) -> Iterator[Offer]:
    """Yield that the job says it is gone in time, or the start or end of the one it waits for."""
    yield from _short(s, trials, holder, reading)
    before = [one for one in _tenants(s, memory, reading) if one.job in holder.waits_for]
    for field, at, room, says in (
        ("start", holder.starts_at, holder.room, "has started"),
        ("end", None, holder.before, "has ended"),
    ):
        if trials.runs(s.with_room(room)):
            step = Step(kind=StepKind.WAIT, subject=holder.job, field=field, at=at)
            yield Offer((*map(ends, before), step), f"wait until {holder.job} {says}")
            return


def _short(s: Situation, trials: Trials, holder: Reservation, reading: Reading) -> Iterator[Offer]:
    """Yield an expected duration with which the job is gone when the holder starts."""
    left = 0.0 if holder.starts_at is None else holder.starts_at - reading.now
    seconds = int(left * _SHARE)
    if seconds and trials.runs(s.with_room(s.snapshot.room)):
        key, after = labels.EXPECTED_DURATION, f"{seconds}s"
        step = Step(kind=StepKind.SET_ANNOTATION, subject=s.job.key, field=key, after=after)
        yield Offer((step,), f"if it takes no longer: set the annotation {key} to {after}")


def reserved(
    s: Situation, trials: Trials, everybody: Sequence[Tenant], now: float
) -> Reservation | None:
    """Return after whose end, in their order, the job of the situation runs, and its room then."""

    def seat(room: Room) -> Room | None:
        if trials.left <= 0:
            return None
        trials.left -= 1
        plan = s.with_room(room).plan()
        return plan.placement.room if isinstance(plan, Plan) else None

    return reservation.reserve(s.job.key, s.room, everybody, seat, now)


def ends(tenant: Tenant) -> Step:
    """Return the step that waits for the end of a job."""
    return Step(kind=StepKind.WAIT, subject=tenant.job, field="end", at=tenant.ends_at)


def without(room: Room, gone: Sequence[Tenant]) -> Room:
    """Return the room when these have ended."""
    used, ports = room.used.copy(), list(room.ports)
    for shape, node in (seat for tenant in gone for seat in tenant.seats):
        used[node] -= room.demand(shape)
        if shape.host_ports:
            ports[node] = frozenset(p for p in ports[node] if not conflicts([p], shape.host_ports))
    return room.replaced(used=np.maximum(used, 0), ports=tuple(ports))


def _tenants(s: Situation, memory: Memory, reading: Reading) -> list[Tenant]:
    """Return the others that end by themselves, the first one first where that is known."""
    stale_seconds = s.params.migration.stale_seconds
    running = tenants.running(s.snapshot, memory, reading, stale_seconds)
    others = [one.tenant for one in running if one.tenant.job != s.job.key]
    ending = [one for one in others if not one.endless]
    return sorted(ending, key=lambda t: (t.ends_at is None, t.ends_at or t.started_at, t.job))


def _when(leaving: Sequence[Tenant]) -> str:
    known = [tenant.ends_at for tenant in leaving if tenant.ends_at is not None]
    if len(known) == len(leaving):
        return ""
    return "; nobody says when" if not known else "; of some nobody says when"
