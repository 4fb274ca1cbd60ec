"""Annotations that we write: one line of JSON on an owner, and the reservation on a pod.

Controllers copy annotations to what they make, as a Deployment's to its ReplicaSets, and people
copy manifests. So each record names its owner; on any other owner it is ignored. Nor can an owner
say anything about a job of another namespace.

A reservation is always written with all its annotations, so that nothing old or foreign stays.
"""

from collections.abc import Mapping
from typing import Protocol, TypeVar

import msgspec

from extender.core.cluster.commands import ReleasePod, RewriteReservation
from shared import labels
from shared.errors import InputError
from shared.model import JobKey, Owner, Uid


class OwnerRecord(Protocol):
    """A word that says whose it is; empty: of the owner that carries it."""

    @property
    def owner(self) -> Uid:
        """Uid of the owner."""
        ...

    @property
    def job(self) -> JobKey:
        """The job that it is about; empty: not said."""
        ...


RecordT = TypeVar("RecordT", bound=OwnerRecord)


_EXPECTED = "one line of JSON that we wrote"


def read(owner: Owner, key: str, decoder: "msgspec.json.Decoder[RecordT]") -> RecordT | None:
    """Return what an annotation says; None if the owner has none, or a copy of another's.

    Raises:
        InputError: Something else has written there.
    """
    text = owner.annotations.get(key)
    if text is None:
        return None
    try:
        word = decoder.decode(text)
    except (msgspec.MsgspecError, RecursionError):  # nested without end: whoever wrote it
        raise InputError(f"annotation {key}", text, _EXPECTED) from None
    if word.job and word.job.partition("/")[0] != owner.namespace:
        raise InputError(f"job of annotation {key}", word.job, f"of namespace {owner.namespace}")
    return word if word.owner in {"", owner.uid} else None


def release_annotations(command: ReleasePod) -> Mapping[str, str | None]:
    """Return what a release writes; None takes an annotation away."""
    return {
        **_reservation(command.node, command.plan, command.plan_size, direct=command.direct),
        labels.DECISION: command.decision,
    }


def rewrite_annotations(command: RewriteReservation) -> Mapping[str, str | None]:
    """Return what names another node; a promised reservation becomes a written one thereby."""
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
