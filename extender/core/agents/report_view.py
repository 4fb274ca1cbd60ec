"""Agents' reports of jobs and nodes for people: stale reports are shown and marked.

Decisions read ``Session.report``, which returns recent reports only. A node's agent reports the
pods that are bound to that node, and no others.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeVar

from extender.core.cluster.jobs import Job, Member, State
from extender.core.cluster.snapshot import Snapshot
from shared import api
from shared.model import NodeName, Pod
from shared.progress import Checkpoint, NodeReport, PodReport, Progress

T = TypeVar("T")

_LEFT = frozenset({State.FAILED, State.LEAVING})
"""Members that have left, whether replaced or not."""


class Reporting(StrEnum):
    """How usable the report of a node is."""

    FRESH = "fresh"
    STALE = "stale"
    """Its agent has been silent for too long."""
    INCOMPLETE = "incomplete"
    """Its agent has not sent a full report yet."""
    SILENT = "silent"
    """Its agent has never reported."""


@dataclass(frozen=True)
class Freshness:
    """The clock and the limit for the age of a report.

    Attributes:
        monotonic: Now, on the clock of ``NodeReport.received_at``.
        stale_seconds: A report that is older is stale.
    """

    monotonic: float
    stale_seconds: float

    def age_seconds(self, report: NodeReport) -> float:
        """Return the time since the last heartbeat."""
        return max(0.0, self.monotonic - report.received_at)

    def stale(self, report: NodeReport) -> bool:
        """Return True if the agent has been silent for too long."""
        return self.age_seconds(report) > self.stale_seconds

    def reporting(self, report: NodeReport | None) -> Reporting:
        """Return how usable the report is; decisions read fresh ones only."""
        if report is None:
            return Reporting.SILENT
        if self.stale(report):
            return Reporting.STALE
        return Reporting.FRESH if report.complete else Reporting.INCOMPLETE


def nodes_by_reporting(snapshot: Snapshot, freshness: Freshness) -> Counter[Reporting]:
    """Return the number of nodes by the state of their report."""
    names = (node.name for node in snapshot.node_table.nodes)
    return Counter(freshness.reporting(snapshot.reports.get(name)) for name in names)


def of_pod(snapshot: Snapshot, pod: Pod) -> tuple[NodeReport, PodReport] | None:
    """Return what the agent of the pod's own node reports of it; None if nothing."""
    node = snapshot.bound.get(pod.uid)
    report = snapshot.reports.get(node) if node is not None else None
    found = report.pods.get(pod.uid) if report is not None else None
    return None if report is None or found is None else (report, found)


def progress(snapshot: Snapshot, job: Job, freshness: Freshness) -> api.ProgressEntry | None:
    """Return how far a job is: its first member with a metric counts for it."""
    found = _first(_reports_of_job(snapshot, job), lambda pod: pod.progress)
    if found is None:
        return None
    member, report, now = found
    return _progress(member, now, stale=freshness.stale(report))


def progress_problem(snapshot: Snapshot, job: Job) -> str:
    """Return why no metric of the job can be read; empty if one can, or there was no attempt."""
    found = _first(_reports_of_job(snapshot, job), lambda pod: pod.problem or None)
    return "" if found is None else f"{found[0].pod.name}: {found[2]}"


def checkpoint(snapshot: Snapshot, job: Job, *, now: float) -> api.CheckpointEntry | None:
    """Return a job's last checkpoint: the one of its first member that has one.

    ``now`` is in seconds since the epoch.
    """
    said = list(_reports_of_job(snapshot, job))
    found = _first(said, _saved) or _first(said, lambda pod: pod.checkpoint)
    if found is None:
        return None
    member, _, seen = found
    return api.CheckpointEntry(
        pod=member.pod.name,
        step=seen.step,
        age_seconds=None if seen.saved_at is None else max(0.0, now - seen.saved_at),
        problem=seen.problem,
        detail=seen.detail,
    )


def agent(snapshot: Snapshot, node: NodeName, freshness: Freshness) -> api.AgentEntry | None:
    """Return the report of a node's agent; None if there is none."""
    report = snapshot.reports.get(node)
    if report is None:
        return None
    here = (pod for uid, pod in report.pods.items() if snapshot.bound.get(uid) == node)
    counts = Counter(pod.progress.category.value for pod in here if pod.progress is not None)
    return api.AgentEntry(
        age_seconds=freshness.age_seconds(report),
        stale=freshness.stale(report),
        complete=report.complete,
        use=report.use,
        cpu_cores=report.cpu_cores,
        **counts,
    )


def _reports_of_job(snapshot: Snapshot, job: Job) -> Iterator[tuple[Member, NodeReport, PodReport]]:
    """Yield what is said of the members, those that stay first, then by index and name."""
    for member in sorted(job.members, key=lambda m: (m.state in _LEFT, m.rank, m.pod.name)):
        said = of_pod(snapshot, member.pod)
        if said is not None:
            yield member, *said


def _first(
    said: Iterable[tuple[Member, NodeReport, PodReport]], part: Callable[[PodReport], T | None]
) -> tuple[Member, NodeReport, T] | None:
    for member, report, pod in said:
        found = part(pod)
        if found is not None:
            return member, report, found
    return None


def _saved(pod: PodReport) -> Checkpoint | None:
    return pod.checkpoint if pod.checkpoint and pod.checkpoint.step is not None else None


def _progress(member: Member, seen: Progress, *, stale: bool) -> api.ProgressEntry:
    return api.ProgressEntry(
        pod=member.pod.name,
        metric=seen.metric,
        category=seen.category,
        value=seen.value,
        step=seen.step,
        total_steps=seen.total_steps,
        curve=seen.curve,
        remaining=seen.remaining_seconds,
        attempt=seen.attempt,
        diverged=seen.diverged,
        updated_at=seen.updated_at,
        stale=stale,
    )
