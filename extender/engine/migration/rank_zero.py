"""Who is asked to save: of the pods that share a checkpoint directory the one called rank 0."""

from collections.abc import Sequence
from typing import Final

from extender.engine import owner_keys
from extender.engine.above import above
from extender.engine.jobs import Job, Member
from extender.engine.snapshot import Snapshot
from shared import places
from shared.model import Uid

_CHIEFS: Final = ("master", "chief", "launcher")
_WORKERS: Final = ("worker", "")


def asked(snapshot: Snapshot, job: Job, members: Sequence[Member]) -> frozenset[Uid]:
    """Return who speaks for each checkpoint directory; nobody: the job is not opted in.

    Raises:
        InputError: The annotation does not name a directory below the job's own.
    """
    first: dict[str, Uid] = {}
    for member in sorted(members, key=rank):
        pod = member.pod
        text = owner_keys.checkpoint(pod, above(snapshot, pod))
        if text is None:
            continue
        whose = places.Whose(pod.namespace, job.name, pod.name, pod.uid, member.role, member.index)
        first.setdefault(places.checkpoint_directory(text, whose), pod.uid)
    return frozenset(first.values())


def rank(member: Member) -> tuple[int, int, str]:
    """Rank 0 in front: a master, else the first worker; parameter servers come last."""
    tier = 0 if member.role in _CHIEFS else 1 if member.role in _WORKERS else 2
    return (tier, member.rank, member.pod.name)
