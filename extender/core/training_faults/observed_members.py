"""What agents report of the members of a job, as the rules of faults read it.

All times are differences on the agent's own clock, up to its last heartbeat: clocks of nodes may
differ, and what came after that heartbeat is unknown.
"""

from collections.abc import Iterator
from typing import Final

from msgspec.structs import replace

from extender.core.cluster.jobs import Job, Member, State
from extender.core.cluster.session import Session
from extender.core.cluster.snapshot import Snapshot
from extender.core.records import parking, rescale
from extender.core.training_faults.fault_detection import Observed
from shared.model import JobKey
from shared.progress import Checkpoint, CheckpointPhase, NodeReport, PodReport

_ENDED: Final = frozenset({State.SUCCEEDED, State.FAILED})
_HELD: Final = frozenset({CheckpointPhase.ASKED, CheckpointPhase.ACKED})


def reported_jobs(session: Session) -> Iterator[JobKey]:
    """Yield the jobs of which an agent reports progress."""
    for key, pods in session.snapshot.jobs.items():
        for pod in pods:
            report = session.pod_report(pod.uid)
            if report is not None and report.progress is not None:
                yield key
                break


def changing_jobs(snapshot: Snapshot) -> frozenset[JobKey]:
    """Return the jobs that are moved or parked, or whose workers change."""
    moved = (m.job for m in snapshot.migrations.values() if m.open)
    return rescale.rescale_records(snapshot).busy.union(moved, parking.open_jobs(snapshot))


def observed(session: Session, job: Job) -> tuple[Observed, ...] | None:
    """Return the running members; None if a comparison of them would mean nothing now.

    That is: a member does not run, its report is missing or not complete, its values cannot be read
    or not all of them, or no member has any; or the training waits for us or has ended.
    """
    members: list[Observed] = []
    for member in job.members:
        if member.state in _ENDED:
            continue
        node = None if member.node is None else session.report(member.node)
        report = None if node is None else node.pods.get(member.pod.uid)
        runs = member.state is State.BOUND and member.pod.phase == "Running"
        if node is None or report is None or not runs or not _is_readable(report):
            return None
        if _is_held(report.checkpoint) or _is_done(report):
            return None
        members.append(_observed(member, node, report))
    return tuple(members) if any(m.moved_at is not None for m in members) else None


def _is_readable(report: PodReport) -> bool:
    """Return False if values may have come that the agent could not read."""
    return report.progress is None or not report.problem


def _is_held(checkpoint: Checkpoint | None) -> bool:
    return checkpoint is not None and checkpoint.phase in _HELD


def _is_done(report: PodReport) -> bool:
    """Return True if all steps are made: what follows, such as an upload, has no pace."""
    progress, checkpoint = report.progress, report.checkpoint
    if checkpoint is not None and checkpoint.done:
        return True
    if progress is None or progress.step is None or progress.total_steps is None:
        return False
    return progress.step >= progress.total_steps


def _observed(member: Member, node: NodeReport, report: PodReport) -> Observed:
    progress = report.progress
    observed = Observed(
        uid=member.pod.uid,
        pod=member.pod.name,
        node=node.node,
        role=member.role,
        idle_seconds=None if report.use is None else report.use.idle_seconds,
    )
    if progress is None or (pace := progress.pace) is None:
        return observed
    return replace(
        observed,
        step=progress.step,
        attempt=progress.attempt,
        moved_at=pace.moved_at,
        silent_seconds=max(0.0, node.sent_at - pace.moved_at),
        gaps=pace.gaps,
        usual_seconds=pace.usual_seconds,
        longest_seconds=pace.longest_seconds,
        bad_values=progress.bad_values,
        bad_since_step=progress.bad_since_step,
        metric=progress.metric,
    )
