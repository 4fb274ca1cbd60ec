"""Annotations that we write: one line of JSON on an owner, and the reservation on a pod.

Controllers copy annotations to the objects that they create (a Deployment to its ReplicaSets), and
users copy manifests. So each record names its owner, and is ignored on any other. A record about a
job of another namespace is an error.

A reservation is always written with all its annotations, so that no old or foreign one stays.
"""

from collections.abc import Callable, Mapping
from typing import Protocol, TypeVar

import msgspec

from extender.core.cluster.commands import ReleasePod, RewriteReservation
from extender.core.cluster.snapshot import Snapshot
from shared import labels
from shared.errors import InputError
from shared.model import JobKey, Owner, Uid


class OwnerRecord(Protocol):
    """A record that names its owner."""

    @property
    def owner(self) -> Uid:
        """Uid of the owner; empty: the owner that carries it."""
        ...

    @property
    def job(self) -> JobKey:
        """The job that it is about; empty: not named."""
        ...


RecordT = TypeVar("RecordT", bound=OwnerRecord)


_EXPECTED = "one line of JSON that we wrote"


def read(owner: Owner, key: str, decoder: "msgspec.json.Decoder[RecordT]") -> RecordT | None:
    """Return the record in an annotation; None if the owner has none, or a copy of another's.

    Raises:
        InputError: The annotation is not a record of ours.
    """
    text = owner.annotations.get(key)
    if text is None:
        return None
    try:
        record = decoder.decode(text)
    except (msgspec.MsgspecError, RecursionError):  # any user may write deeply nested JSON
        raise InputError(f"annotation {key}", text, _EXPECTED) from None
    if record.job and record.job.partition("/")[0] != owner.namespace:
        raise InputError(f"job of annotation {key}", record.job, f"of namespace {owner.namespace}")
    return record if record.owner in {"", owner.uid} else None


def of_owners(
    snapshot: Snapshot, key: str, read_one: Callable[[Owner], RecordT | None]
) -> tuple[list[tuple[Owner, RecordT]], dict[Uid, str]]:
    """Return the records in one annotation of all owners, and why others cannot be read.

    Args:
        snapshot: The cluster.
        key: The annotation.
        read_one: Reads the record of an owner, as ``read`` does.

    Returns:
        Owners with their records, in order of uid; errors by the owner's uid.
    """
    found: list[tuple[Owner, RecordT]] = []
    unreadable: dict[Uid, str] = {}
    for owner in snapshot.owners.annotated(key):
        try:
            record = read_one(owner)
        except InputError as error:
            unreadable[owner.uid] = str(error)
            continue
        if record is not None:
            found.append((owner, record))
    return found, unreadable


def release_annotations(command: ReleasePod) -> Mapping[str, str | None]:
    """Return the annotations that a release writes; None removes one."""
    return {
        **_reservation(command.node, command.plan, command.plan_size, direct=command.direct),
        labels.DECISION: command.decision,
    }


def rewrite_annotations(command: RewriteReservation) -> Mapping[str, str | None]:
    """Return the annotations of a reservation that names another node."""
    return _reservation(command.node, command.plan, command.plan_size, direct=command.direct)


def _reservation(
    node: str | None, plan: str, plan_size: int, *, direct: bool
) -> Mapping[str, str | None]:
    return {
        labels.NODE: node,
        labels.PLAN: plan or None,
        labels.PLAN_SIZE: str(plan_size) if plan_size else None,
        labels.DIRECT: "true" if direct else None,
    }
