"""What jobs with a utility are worth and were promised, as people are told it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from extender.core.cluster.jobs import Job
from extender.core.cluster.snapshot import Snapshot
from extender.core.explain.workers import workers
from extender.core.pricing.outcome import JobStatus
from extender.core.records import slot_plan
from extender.core.records.slot_plan import SlotPlan
from shared.ledgers import WorkersEntry
from shared.model import JobKey
from shared.pricing import AdmissionEntry

_DIGITS = 6


class More(NamedTuple):
    """What is told of a job beside its place and its pods; None: nothing."""

    workers: WorkersEntry | None = None
    admission: AdmissionEntry | None = None


@dataclass(frozen=True)
class Bargains:
    """What is known of the jobs of a snapshot beyond the queue.

    Attributes:
        snapshot: The cluster; None: nothing is known.
        standings: Of jobs with a utility.
        now: Seconds since the epoch.
    """

    snapshot: Snapshot | None = None
    standings: Mapping[JobKey, JobStatus] = field(default_factory=dict)
    now: float = 0.0

    def of(self, job: Job) -> More:
        """Return what is known of one job."""
        if self.snapshot is None:
            return More()
        standing = self.standings.get(job.key)
        return More(workers(self.snapshot, job), admission(standing, now=self.now))


UNKNOWN = Bargains()


def admission(standing: JobStatus | None, *, now: float) -> AdmissionEntry | None:
    """Return how a job stands; None for one that is not admitted by price."""
    if standing is None:
        return None
    plan = standing.plan
    told = AdmissionEntry(
        admitted=plan is not None,
        payoff=round(standing.payoff, _DIGITS),
        utility=_rounded(standing.utility),
        bill=_rounded(standing.bill),
        promise=standing.promise.value if standing.promise else "",
        profile=standing.profile,
    )
    return told if plan is None else _planned(told, plan, now)


def _planned(told: AdmissionEntry, plan: SlotPlan, now: float) -> AdmissionEntry:
    seconds = plan.slot_seconds
    slot = slot_plan.slot_at(now, seconds)
    coming = [span.first for span in plan.spans if span.first > slot]
    workers = plan.workers_at(slot)
    later = min(coming, default=None)
    return AdmissionEntry(
        admitted=True,
        payoff=told.payoff,
        utility=told.utility,
        bill=told.bill,
        promise=told.promise,
        promised_at=slot_plan.begins_at(plan.promise + 1, seconds),
        finish_at=slot_plan.begins_at(plan.completion + 1, seconds),
        resumes_at=None if workers or later is None else slot_plan.begins_at(later, seconds),
        planned_workers=workers,
        profile=told.profile,
    )


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, _DIGITS)
