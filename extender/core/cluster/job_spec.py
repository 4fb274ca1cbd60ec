"""What the user asked for, read from a job's first pod and what is over it.

What makes us write to an owner is read from that owner alone (``owner_keys``).

Annotations of Volcano that say the same count where ours is missing (``shared.foreign_labels``).
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from extender.core.cluster import owner_annotations
from extender.core.cluster.relations import Relations
from extender.core.kinds import registry
from extender.core.kinds.base import Owners
from shared import duration, foreign_labels, labels
from shared.errors import InputError
from shared.model import Owner, Pod

_TOPOLOGIES: Final = (
    (labels.REQUIRED_TOPOLOGY, labels.PREFERRED_TOPOLOGY),
    (foreign_labels.KUEUE_REQUIRED_TOPOLOGY, foreign_labels.KUEUE_PREFERRED_TOPOLOGY),
)
"""Annotations that require and that prefer a level; the first pair of which one is there counts."""


@dataclass(frozen=True)
class TopologyWish:
    """The level of the topology of which one domain should hold the whole gang.

    Attributes:
        key: The annotation that says so.
        text: Name or label of the level; whether there is one is for the settings to say.
        required: Whether the gang rather waits than is spread.
    """

    key: str
    text: str
    required: bool


_RANGE: Final = re.compile(r"([0-9]{1,6})\.\.([0-9]{1,6})")


class Shrink(StrEnum):
    """How workers of an elastic job leave."""

    CHECKPOINT = "checkpoint"
    """The trainer is asked for a checkpoint first."""
    TERMINATE = "terminate"
    """By SIGTERM alone: the training goes on without them."""


@dataclass(frozen=True)
class WorkerRange:
    """Between which numbers the workers of a job may change, ends included."""

    least: int
    most: int


@dataclass(frozen=True)
class JobSpec:
    """See the module.

    Attributes:
        max_wait_seconds: L of CPS; None if not stated.
        expected_seconds: How long the job runs; None if not stated.
        relations: Affinity and anti-affinity between roles; None if not declared.
        topology_key: Node label for the buckets' places; None if not stated.
        topology: The domain that should hold the gang; None if not stated.
        workers: Between which numbers its workers may change; None if they may not.
        shrink: How workers leave.
        utility: What its completion is worth (``admission.grammar``); None if not stated. Read
            where jobs are admitted by price, so that a mistake in it holds nobody up elsewhere.
        training: What it has to train, likewise.
    """

    max_wait_seconds: float | None = None
    expected_seconds: float | None = None
    relations: Relations | None = None
    topology_key: str | None = None
    topology: TopologyWish | None = None
    workers: WorkerRange | None = None
    shrink: Shrink = Shrink.CHECKPOINT
    utility: str | None = None
    training: str | None = None


def read(pod: Pod, above: Owners, deciding_owners: Sequence[Owner] = ()) -> tuple[JobSpec, str]:
    """Return the wishes, and what is wrong with them; with a problem none counts.

    Args:
        pod: The first pod of the job.
        above: What is over it.
        deciding_owners: Owners whose annotations lead to writes to them; none: those of the pod.
    """

    def of_owner(key: str) -> str | None:
        if deciding_owners:
            return owner_annotations.stated(deciding_owners, key)
        return owner_annotations.of_pod(pod, above, key)

    try:
        return JobSpec(
            max_wait_seconds=_seconds(pod, above, labels.MAX_WAIT),
            expected_seconds=_seconds(pod, above, labels.EXPECTED_DURATION),
            relations=_relations(pod, above),
            topology_key=registry.annotation(pod, above, labels.TOPOLOGY_KEY),
            topology=_topology(pod, above),
            workers=_workers(of_owner(labels.WORKERS)),
            shrink=_shrink(of_owner(labels.SHRINK)),
            utility=of_owner(labels.UTILITY),
            training=of_owner(labels.TRAINING),
        ), ""
    except InputError as error:
        return JobSpec(), str(error)


def expected_seconds(pod: Pod, above: Owners) -> float | None:
    """Return how long the user says the job runs; None if nothing that can be used is said."""
    try:
        return _seconds(pod, above, labels.EXPECTED_DURATION)
    except InputError:
        return None


def _relations(pod: Pod, above: Owners) -> Relations | None:
    key, affinity = registry.stated(pod, above, labels.AFFINITY)
    anti_key, anti_affinity = registry.stated(pod, above, labels.ANTI_AFFINITY)
    if not affinity and not anti_affinity:
        return None
    fields = (key, anti_key, "task order")
    texts = ((affinity or "").lower(), (anti_affinity or "").lower())  # as the pods' roles
    return Relations.parse(*texts, fields=fields)


def _topology(pod: Pod, above: Owners) -> TopologyWish | None:
    """Return what our annotations say, else what Kueue's say.

    Raises:
        InputError: A level is both required and preferred.
    """
    for required, preferred in _TOPOLOGIES:
        must = registry.annotation(pod, above, required)
        should = registry.annotation(pod, above, preferred)
        if must is not None and should is not None:
            raise InputError(
                f"annotation {preferred}", should, f"that it or {required} is there, not both"
            )
        if must is not None:
            return TopologyWish(required, must, required=True)
        if should is not None:
            return TopologyWish(preferred, should, required=False)
    return None


def _workers(text: str | None) -> WorkerRange | None:
    if text is None:
        return None
    found = _RANGE.fullmatch(text)
    if found is None or not 1 <= int(found[1]) <= int(found[2]):
        raise InputError(
            f"annotation {labels.WORKERS}", text, "min..max such as 2..6, min at least 1"
        )
    return WorkerRange(int(found[1]), int(found[2]))


def _shrink(text: str | None) -> Shrink:
    if text is None:
        return Shrink.CHECKPOINT
    try:
        return Shrink(text)
    except ValueError:
        raise InputError(f"annotation {labels.SHRINK}", text, "checkpoint or terminate") from None


def _seconds(pod: Pod, above: Owners, key: str) -> float | None:
    found, text = registry.stated(pod, above, key)
    if text is None:
        return None
    field = f"annotation {found}"
    seconds = duration.parse(text, field=field)
    if seconds <= 0:
        raise InputError(field, text, "a Go duration above 0 such as 20m")
    return seconds
