"""Waiting for others: which running jobs must end, and who comes first when they have."""

from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np

from extender.core.cluster import job_views
from extender.core.cluster.session import Reading, Session
from extender.core.explain.offers import Offer, names
from extender.core.explain.trial import Situation, Trials
from extender.core.nodes.node_table import NodeTable, conflicts
from extender.core.placement.planner import Plan
from extender.core.queue import backfill, running_jobs
from extender.core.queue.backfill import HeadReservation, RunningJob
from extender.core.queue.state import QueueState
from extender.core.records import elastic_workers, rescale
from shared import labels
from shared.explanation import Step, StepKind
from shared.model import JobKey

MOST_REDUCED: Final = 12
"""Jobs of which it is tried whether they are needed; of more, all are named."""


_SHARE: Final = 0.9
"""Of the time until the backfill head starts: some passes before anybody has read this."""


def wait(s: Situation, trials: Trials, memory: QueueState, reading: Reading) -> Iterator[Offer]:
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
    s: Situation, trials: Trials, head: HeadReservation, memory: QueueState, reading: Reading
) -> Iterator[Offer]:
    """Yield that the job says it is gone in time, or the start or end of the one it waits for."""
    yield from _short(s, trials, head, reading)
    before = [one for one in _tenants(s, memory, reading) if one.job in head.waits_for]
    for field, at, room, says in (
        ("start", head.starts_at, head.after, "has started"),
        ("end", None, head.before, "has ended"),
    ):
        if trials.runs(s.with_room(room)):
            step = Step(kind=StepKind.WAIT, subject=head.job, field=field, at=at)
            yield Offer((*map(ends, before), step), f"wait until {head.job} {says}")
            return


def _short(
    s: Situation, trials: Trials, head: HeadReservation, reading: Reading
) -> Iterator[Offer]:
    """Yield an expected duration with which the job is gone when the backfill head starts."""
    left = 0.0 if head.starts_at is None else head.starts_at - reading.now
    seconds = int(left * _SHARE)
    if seconds and trials.runs(s.with_room(s.snapshot.room)):
        key, after = labels.EXPECTED_DURATION, f"{seconds}s"
        step = Step(kind=StepKind.SET_ANNOTATION, subject=s.job.key, field=key, after=after)
        yield Offer((step,), f"if it takes no longer: set the annotation {key} to {after}")


def reserved(
    s: Situation, trials: Trials, everybody: Sequence[RunningJob], now: float
) -> HeadReservation | None:
    """Return after whose end, in their order, the job of the situation runs, and its room then."""

    def seat(room: NodeTable) -> NodeTable | None:
        if trials.left <= 0:
            return None
        trials.left -= 1
        plan = s.with_room(room).plan()
        return plan.placement.room if isinstance(plan, Plan) else None

    return backfill.reserve(s.job.key, s.room, everybody, seat, now)


def ends(tenant: RunningJob) -> Step:
    """Return the step that waits for the end of a job."""
    return Step(kind=StepKind.WAIT, subject=tenant.job, field="end", at=tenant.ends_at)


def without(room: NodeTable, gone: Sequence[RunningJob]) -> NodeTable:
    """Return the room when these have ended."""
    used, ports = room.used.copy(), list(room.ports)
    for shape, node in (seat for tenant in gone for seat in tenant.pods):
        used[node] -= room.demand(shape)
        if shape.host_ports:
            ports[node] = frozenset(p for p in ports[node] if not conflicts([p], shape.host_ports))
    return room.replaced(used=np.maximum(used, 0), ports=tuple(ports))


def _tenants(s: Situation, memory: QueueState, reading: Reading) -> list[RunningJob]:
    """Return the others that end by themselves, the first one first where that is known."""
    endings = running_jobs.running(Session(s.snapshot, reading, s.params), memory)
    others = [ending.job for ending in endings if ending.job.job != s.job.key]
    ending = [one for one in others if not one.endless]
    return sorted(ending, key=lambda t: (t.ends_at is None, t.ends_at or t.started_at, t.job))


def _when(leaving: Sequence[RunningJob]) -> str:
    known = [tenant.ends_at for tenant in leaving if tenant.ends_at is not None]
    if len(known) == len(leaving):
        return ""
    return "; nobody says when" if not known else "; of some nobody says when"


# === Waiting for workers that others give up so that the job starts: whose, and how many.


FIELD = "workers"


def wait_for_workers(s: Situation, trials: Trials) -> Iterator[Offer]:
    """Yield those whose workers leave, if the job runs when they have left."""
    under_way = (noted.rescale for noted in rescale.rescale_records(s.snapshot).open)
    found = [_leaving(s, one.job) for one in under_way if one.starts == s.job.key]
    if not found or not trials.runs(s.with_room(without(s.room, found))):
        return
    steps = tuple(
        Step(kind=StepKind.WAIT, subject=one.job, field=FIELD, amount=len(one.pods))
        for one in found
    )
    count = sum(len(one.pods) for one in found)
    have = "have" if len(found) > 1 else "has"
    left = f"{count} workers" if count > 1 else "1 worker"
    yield Offer(steps, f"wait until {names([one.job for one in found])} {have} given up {left}")


def _leaving(s: Situation, key: JobKey) -> RunningJob:
    """Return the workers of a job that leave, as a tenant of their own."""
    going = elastic_workers.leaving_pods(s.snapshot)
    members = job_views.view(s.snapshot, key).members if key in s.snapshot.jobs else ()
    index = s.room.index
    seats = [
        (m.shape, index[m.node])
        for m in members
        if m.pod.uid in going and m.node is not None and m.node in index
    ]
    return RunningJob(key, 0.0, None, seats)
