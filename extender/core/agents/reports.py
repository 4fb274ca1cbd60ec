"""Members of a job that agents' reports and requests go by: rank 0 speaks for all.

Of the pods that share a checkpoint directory the one of rank 0 is asked to save.
"""

from collections.abc import Sequence
from typing import Final

from extender.core.cluster import job_spec
from extender.core.cluster.jobs import Job, Member, State
from extender.core.cluster.owners import above
from extender.core.cluster.session import Session
from extender.core.cluster.snapshot import Snapshot
from shared import places
from shared.model import Uid
from shared.progress import Progress

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
        variables = places.PathVariables(
            pod.namespace, job.name, pod.name, pod.uid, role=member.role, index=member.index
        )
        first.setdefault(places.checkpoint_directory(text, variables), pod.uid)
    return frozenset(first.values())


def rank(member: Member) -> tuple[int, int, str]:
    """Rank 0 in front: a master, else the first worker; parameter servers come last."""
    tier = 0 if member.role in _CHIEFS else 1 if member.role in _WORKERS else 2
    return (tier, member.rank, member.pod.name)


def last_progress(session: Session, job: Job) -> tuple[Uid, Progress] | None:
    """Return how far the job is: the first of its pods that reports a step counts for all."""
    for member in sorted(job.having(State.BOUND), key=rank):
        report = session.pod_report(member.pod.uid)
        progress = report.progress if report else None
        if progress is not None and progress.step is not None:
            return member.pod.uid, progress
    return None
