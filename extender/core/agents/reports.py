"""Agents' reports of jobs and nodes.

Decisions read ``Session.report``, which returns recent reports only; people are shown stale reports
too, marked as such. A node's agent reports the
pods that are bound to that node, and no others.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeVar

from extender.core.agents.requests import rank
from extender.core.cluster.jobs import Job, Member, State
from extender.core.cluster.session import Session
from extender.core.cluster.snapshot import Snapshot
from shared.convergence import evidence
from shared.model import NodeName, Pod, Uid
from shared.progress import Checkpoint, NodeReport, PodReport, Progress
from shared.readapi import api

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


def freshness(session: Session) -> Freshness:
    """Return the clock and the limit of a session."""
    return Freshness(session.monotonic, session.stale_seconds)


def last_progress(session: Session, job: Job) -> tuple[Uid, Progress] | None:
    """Return how far the job is: the first of its pods that reports a step counts for all."""
    for member in sorted(job.having(State.BOUND), key=rank):
        report = session.pod_report(member.pod.uid)
        progress = report.progress if report else None
        if progress is not None and progress.step is not None:
            return member.pod.uid, progress
    return None


def nodes_by_reporting(snapshot: Snapshot, freshness: Freshness) -> Counter[Reporting]:
    """Return the number of nodes by the state of their report."""
    names = (node.name for node in snapshot.node_table.nodes)
    return Counter(freshness.reporting(snapshot.reports.get(name)) for name in names)


def of_pod(snapshot: Snapshot, pod: Pod) -> tuple[NodeReport, PodReport] | None:
    """Return what the agent of the pod's own node reports of it; None if nothing."""
    node = snapshot.bound.get(pod.uid)
    report = snapshot.reports.get(node) if node is not None else None
    pod_report = report.pods.get(pod.uid) if report is not None else None
    return None if report is None or pod_report is None else (report, pod_report)


def progress(snapshot: Snapshot, job: Job, freshness: Freshness) -> api.ProgressEntry | None:
    """Return how far a job is: its first member with a metric counts for it."""
    first = _first(_reports_of_job(snapshot, job), lambda pod: pod.progress)
    if first is None:
        return None
    member, report, reported = first
    return _progress(member, reported, stale=freshness.stale(report))


def progress_problem(snapshot: Snapshot, job: Job) -> str:
    """Return why metrics of the job cannot be read; empty if they can, or there was no attempt.

    Where a member has a metric, the others need none: of most gangs only rank 0 writes it.
    """
    reports = list(_reports_of_job(snapshot, job))
    with_metric = [one for one in reports if one[2].progress is not None]
    first = _first(with_metric or reports, lambda pod: pod.problem or None)
    return "" if first is None else f"{first[0].pod.name}: {first[2]}"


def checkpoint(snapshot: Snapshot, job: Job, *, now: float) -> api.CheckpointEntry | None:
    """Return a job's last checkpoint: the one of its first member that has one.

    ``now`` is in seconds since the epoch.
    """
    reports = list(_reports_of_job(snapshot, job))
    first = _first(reports, _saved) or _first(reports, lambda pod: pod.checkpoint)
    if first is None:
        return None
    member, _, reported = first
    return api.CheckpointEntry(
        pod=member.pod.name,
        step=reported.step,
        age_seconds=None if reported.saved_at is None else max(0.0, now - reported.saved_at),
        problem=reported.problem,
        detail=reported.detail,
    )


def agent(snapshot: Snapshot, node: NodeName, freshness: Freshness) -> api.AgentEntry | None:
    """Return the report of a node's agent; None if there is none."""
    report = snapshot.reports.get(node)
    if report is None:
        return None
    bound = (pod for uid, pod in report.pods.items() if snapshot.bound.get(uid) == node)
    counts = Counter(pod.progress.category.value for pod in bound if pod.progress is not None)
    return api.AgentEntry(
        age_seconds=freshness.age_seconds(report),
        stale=freshness.stale(report),
        complete=report.complete,
        use=report.use,
        cpu_cores=report.cpu_cores,
        gpus=report.gpus,
        **counts,
    )


def _reports_of_job(snapshot: Snapshot, job: Job) -> Iterator[tuple[Member, NodeReport, PodReport]]:
    """Yield the members with their reports: those that stay first, then by index and name."""
    found = ((member, of_pod(snapshot, member.pod)) for member in job.members)
    with_reports = [(member, *reports) for member, reports in found if reports is not None]
    yield from sorted(with_reports, key=_order)


def _order(reported: tuple[Member, NodeReport, PodReport]) -> tuple[bool, int, str]:
    member = reported[0]
    return member.state in _LEFT, member.rank, member.pod.name


def _first(
    reports: Iterable[tuple[Member, NodeReport, PodReport]], part: Callable[[PodReport], T | None]
) -> tuple[Member, NodeReport, T] | None:
    for member, report, pod in reports:
        value = part(pod)
        if value is not None:
            return member, report, value
    return None


def _saved(pod: PodReport) -> Checkpoint | None:
    return pod.checkpoint if pod.checkpoint and pod.checkpoint.step is not None else None


def _progress(member: Member, reported: Progress, *, stale: bool) -> api.ProgressEntry:
    shown = reported.evidence
    return api.ProgressEntry(
        pod=member.pod.name,
        metric=reported.metric,
        category=reported.category,
        source=reported.source,
        value=reported.value,
        step=reported.step,
        total_steps=reported.total_steps,
        curve=reported.curve,
        specon=reported.specon,
        stage=shown.stage if shown else None,
        evidence=evidence.words(shown, reported.metric) if shown else "",
        remaining=reported.remaining_seconds,
        further=reported.remaining_loss,
        attempt=reported.attempt,
        diverged=reported.diverged,
        updated_at=reported.updated_at,
        stale=stale,
    )
