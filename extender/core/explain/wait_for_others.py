"""Offers to wait: for jobs that end, are parked or will be, the backfill head, or workers."""

from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from typing import Final

import numpy as np

from extender.core.cluster import job_views
from extender.core.explain.trials import Offer, Scenario, Trials, first_names
from extender.core.nodes.node_table import NodeTable, conflicts
from extender.core.placement.planner import Plan
from extender.core.preemption import by_cause
from extender.core.queue import backfill, running_jobs
from extender.core.queue.backfill import HeadReservation, RunningJob
from extender.core.queue.state import QueueState
from extender.core.records import elastic_workers, parking, rescale
from shared import labels
from shared.model import JobKey, Uid
from shared.readapi.explanation import Step, StepKind

MOST_REDUCED: Final = 12
"""Of at most so many jobs each is tried whether it is needed; of more, all are named."""
_SHARE: Final = 0.9
"""Of the time until the backfill head starts: some passes go by before a user reads this."""
_WORKERS: Final = "workers"
_PARKED: Final = "parked"


def wait(s: Scenario, trials: Trials, state: QueueState) -> Iterator[Offer]:
    """Yield the jobs after whose end the job runs, those that are expected to end first."""
    others = _running_jobs(s, state)
    reservation = _reservation(s, trials, others)
    if reservation is None or not reservation.waits_for:
        return
    leaving = [other for other in others if other.job in reservation.waits_for]
    if 1 < len(leaving) <= MOST_REDUCED:
        needed = trials.needed(
            list(range(len(leaving)))[::-1],
            lambda kept: s.with_node_table(_without(s.node_table, [leaving[i] for i in kept])),
        )
        leaving = [leaving[i] for i in sorted(needed)]
    steps = tuple(_end_step(job) for job in leaving)
    verb = "end" if len(leaving) > 1 else "ends"
    names = first_names([job.job for job in leaving])
    yield Offer(steps, f"wait until {names} {verb}{_unknown_ends(leaving)}")


def wait_behind(
    s: Scenario, trials: Trials, head: HeadReservation, state: QueueState
) -> Iterator[Offer]:
    """Yield an expected duration that ends in time, and the start or end of the backfill head."""
    yield from _short_duration(s, trials, head)
    before = [job for job in _running_jobs(s, state) if job.job in head.waits_for]
    for field, at, table, event in (
        ("start", head.starts_at, head.after, "has started"),
        ("end", None, head.before, "has ended"),
    ):
        if trials.runs(s.with_node_table(table)):
            step = Step(kind=StepKind.WAIT, subject=head.job, field=field, at=at)
            yield Offer((*map(_end_step, before), step), f"wait until {head.job} {event}")
            return


def wait_for_workers(s: Scenario, trials: Trials) -> Iterator[Offer]:
    """Yield the jobs whose workers leave, if the job runs after that."""
    under_way = (record.rescale for record in rescale.rescale_records(s.snapshot).open)
    uids = elastic_workers.leaving_pods(s.snapshot)
    leaving = [_leaving(s, change.job, uids) for change in under_way if change.starts == s.job.key]
    if not leaving or not trials.runs(s.with_node_table(_without(s.node_table, leaving))):
        return
    steps = tuple(
        Step(kind=StepKind.WAIT, subject=job.job, field=_WORKERS, amount=len(job.pods))
        for job in leaving
    )
    count = sum(len(job.pods) for job in leaving)
    names = first_names([job.job for job in leaving])
    verb = "have" if len(leaving) > 1 else "has"
    number = f"{count} workers" if count > 1 else "1 worker"
    yield Offer(steps, f"wait until {names} {verb} given up {number}")


def wait_for_parked(s: Scenario, trials: Trials) -> Iterator[Offer]:
    """Yield the jobs that are parked for this one, if it runs after that."""
    leaving_jobs = parking.leaving_jobs(s.snapshot)
    records = (owned.parking for owned in parking.parking_records(s.snapshot).open)
    parkings = [one for one in records if one.starts == s.job.key and one.job in leaving_jobs]
    uids = parking.leaving_pods(s.snapshot)
    leaving = [_leaving(s, one.job, uids) for one in parkings]
    if not leaving or not trials.runs(s.with_node_table(_without(s.node_table, leaving))):
        return
    cause = parkings[0].cause.value
    steps = tuple(
        Step(kind=StepKind.WAIT, subject=job.job, field=_PARKED, cause=cause) for job in leaving
    )
    names = first_names([job.job for job in leaving])
    verb = "are" if len(leaving) > 1 else "is"
    yield Offer(steps, f"wait until {names} {verb} parked ({cause})")


def wait_for_room_of_others(s: Scenario, trials: Trials) -> Iterator[Offer]:
    """Yield the jobs that will be parked for this one, the cause, and what that costs each."""
    if trials.left <= 0:
        return
    found = by_cause.would_leave(s.session, s.job)
    if found is None:
        return
    trials.left -= 1
    cause = found.cause.value
    steps = tuple(
        Step(kind=StepKind.WAIT, subject=job, field=_PARKED, cause=cause, pod_seconds=cost)
        for job, cost in zip(found.jobs, found.costs, strict=True)
    )
    text = f"it costs about {sum(found.costs):.0f} pod-seconds"
    if len(steps) == 1:
        yield Offer(steps, f"wait until {found.jobs[0]} is parked for it ({cause}): {text}")
        return
    names = [f"{job} ({cost:.0f})" for job, cost in zip(found.jobs, found.costs, strict=True)]
    yield Offer(steps, f"wait until {first_names(names)} are parked for it ({cause}): {text}")


def _short_duration(s: Scenario, trials: Trials, head: HeadReservation) -> Iterator[Offer]:
    """Yield an expected duration with which the job has ended when the backfill head starts."""
    left = 0.0 if head.starts_at is None else head.starts_at - s.session.now
    seconds = int(left * _SHARE)
    if seconds and trials.runs(s.with_node_table(s.snapshot.node_table)):
        key, after = labels.EXPECTED_DURATION, f"{seconds}s"
        step = Step(kind=StepKind.SET_ANNOTATION, subject=s.job.key, field=key, after=after)
        yield Offer((step,), f"if it takes no longer: set the annotation {key} to {after}")


def _reservation(
    s: Scenario, trials: Trials, others: Sequence[RunningJob]
) -> HeadReservation | None:
    """Return after which ends, in the given order, the job runs; None if after none."""

    def place(table: NodeTable) -> NodeTable | None:
        if trials.left <= 0:
            return None
        trials.left -= 1
        plan = s.with_node_table(table).plan()
        return plan.placement.node_table if isinstance(plan, Plan) else None

    return backfill.reserve(s.job.key, s.node_table, others, place, s.session.now)


def _end_step(job: RunningJob) -> Step:
    return Step(kind=StepKind.WAIT, subject=job.job, field="end", at=job.ends_at)


def _without(table: NodeTable, ended: Sequence[RunningJob]) -> NodeTable:
    """Return the nodes without the pods of these jobs."""
    used, ports = table.used.copy(), list(table.ports)
    for shape, node in (pod for job in ended for pod in job.pods):
        used[node] -= table.demand(shape)
        if shape.host_ports:
            ports[node] = frozenset(p for p in ports[node] if not conflicts([p], shape.host_ports))
    return table.replaced(used=np.maximum(used, 0), ports=tuple(ports))


def _running_jobs(s: Scenario, state: QueueState) -> list[RunningJob]:
    """Return the other jobs that end by themselves, in the order of their ends; unknown last."""
    jobs = [ending.job for ending in running_jobs.running(s.session, state)]
    others = [job for job in jobs if job.job != s.job.key and not job.endless]
    return sorted(others, key=lambda j: (j.ends_at is None, j.ends_at or j.started_at, j.job))


def _unknown_ends(jobs: Sequence[RunningJob]) -> str:
    known = [job for job in jobs if job.ends_at is not None]
    if len(known) == len(jobs):
        return ""
    if known:
        return "; some of their ends are unknown"
    return "; its end is unknown" if len(jobs) == 1 else "; their ends are unknown"


def _leaving(s: Scenario, key: JobKey, leaving: AbstractSet[Uid]) -> RunningJob:
    """Return the leaving pods of a job, as a running job of their own."""
    members = job_views.view(s.snapshot, key).members if key in s.snapshot.jobs else ()
    index = s.node_table.index
    pods = [
        (m.shape, index[m.node])
        for m in members
        if m.pod.uid in leaving and m.node is not None and m.node in index
    ]
    return RunningJob(key, 0.0, None, pods)
