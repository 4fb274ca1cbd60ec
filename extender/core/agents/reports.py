"""Members of a job that agents' reports and requests go by: rank 0 speaks for all.

Of the pods that share a checkpoint directory the one of rank 0 is asked to save.
"""

from collections.abc import Sequence
from typing import Final

from extender.core.cluster import job_spec
from extender.core.cluster.jobs import Job, Member, State
from extender.core.cluster.owners import above
from extender.core.cluster.session import Reading
from extender.core.cluster.snapshot import Snapshot
from shared import places
from shared.model import NodeName, Uid
from shared.progress import NodeReport, PodReport, Progress


def fresh(
    snapshot: Snapshot, node: NodeName, reading: Reading, stale_seconds: float
) -> NodeReport | None:
    """Return the report of a node; None unless it is complete and no older than ``stale_seconds``.

    A takeover thus waits for the first full report of every agent.
    """
    report = snapshot.reports.get(node)
    if report is None or not report.complete:
        return None
    return report if reading.monotonic - report.received_at <= stale_seconds else None


def of_pod(
    snapshot: Snapshot, uid: Uid, reading: Reading, stale_seconds: float
) -> PodReport | None:
    """Return what is freshly known of a pod on the node it is bound to; None if nothing is."""
    node = snapshot.bound.get(uid)
    report = None if node is None else fresh(snapshot, node, reading, stale_seconds)
    return None if report is None else report.pods.get(uid)


_CHIEFS: Final = ("master", "chief", "launcher")


_WORKERS: Final = ("worker", "")


def asked(snapshot: Snapshot, job: Job, members: Sequence[Member]) -> frozenset[Uid]:
    """Return the pod that saves each checkpoint directory; none: the job is not opted in.

    Raises:
        InputError: The annotation does not name a directory below the job's own.
    """
    first: dict[str, Uid] = {}
    for member in sorted(members, key=rank):
        pod = member.pod
        text = job_spec.checkpoint(pod, above(snapshot, pod))
        if text is None:
            continue
        whose = places.PathVariables(
            pod.namespace, job.name, pod.name, pod.uid, member.role, member.index
        )
        first.setdefault(places.checkpoint_directory(text, whose), pod.uid)
    return frozenset(first.values())


def rank(member: Member) -> tuple[int, int, str]:
    """Rank 0 in front: a master, else the first worker; parameter servers come last."""
    tier = 0 if member.role in _CHIEFS else 1 if member.role in _WORKERS else 2
    return (tier, member.rank, member.pod.name)


def last_progress(
    snapshot: Snapshot, job: Job, reading: Reading, stale_seconds: float
) -> tuple[Uid, Progress] | None:
    """Return how far the job is: the first of its pods that reports a step counts for all."""
    for member in sorted(job.having(State.BOUND), key=rank):
        report = of_pod(snapshot, member.pod.uid, reading, stale_seconds)
        progress = report.progress if report else None
        if progress is not None and progress.step is not None:
            return member.pod.uid, progress
    return None
