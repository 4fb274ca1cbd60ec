"""Restarts of hung jobs, as the annotation ``shuntyard.io/hang-restarts`` of the job's owner.

It is written before the first pod is deleted, so that a new leader deletes the rest and counts on.
"""

from collections.abc import Iterator
from typing import Final

import msgspec
from msgspec import Struct

from extender.core.cluster.jobs import Job
from extender.core.cluster.snapshot import Snapshot
from extender.core.records import annotations
from shared import labels
from shared.model import JobKey, Owner, Uid


class HangRestarts(Struct, frozen=True, omit_defaults=True):
    """The restarts of one job; the last of them in full.

    Attributes:
        job: The job.
        count: How many there were, this one included.
        at: When it was decided, seconds since the epoch.
        pods: The pods that it deletes: all members that ran then.
        pod: Name of the member that idled longest.
        node: Where that ran.
        checkpoint_step: Step of the last checkpoint then; None if there was none.
        owner: Uid of the owner; a copy on another object is ignored.
    """

    job: JobKey
    count: int
    at: float
    pods: tuple[Uid, ...] = ()
    pod: str = ""
    node: str = ""
    checkpoint_step: int | None = None
    owner: Uid = Uid("")


_DECODER: Final = msgspec.json.Decoder(HangRestarts)


def read(owner: Owner) -> HangRestarts | None:
    """Return the restarts in the owner's annotation; None if it has none.

    Raises:
        InputError: The annotation is not a record of ours.
    """
    return annotations.read(owner, labels.HANG_RESTARTS, _DECODER)


def text(restarts: HangRestarts) -> str:
    """Return the text of the annotation."""
    return msgspec.json.encode(restarts).decode()


def records(snapshot: Snapshot) -> Iterator[tuple[Owner, HangRestarts]]:
    """Yield the owners with restarts, in order of uid, without unreadable ones."""
    found, _unreadable = annotations.of_owners(snapshot, labels.HANG_RESTARTS, read)
    yield from found


OPEN_SECONDS: Final = 600.0
"""A restart is carried on for so long; then what is left of the gang goes on as it is."""


def is_open(snapshot: Snapshot, job: Job, now: float) -> bool:
    """Return True if a restart of a job is under way: it has pods that the restart deletes."""
    uids = {member.pod.uid for member in job.members}
    return any(
        restarts.job == job.key
        and now - restarts.at <= OPEN_SECONDS
        and not uids.isdisjoint(restarts.pods)
        for _, restarts in records(snapshot)
    )
