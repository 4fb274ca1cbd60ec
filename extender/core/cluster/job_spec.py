"""The specification of a job: what its user wrote, read once into typed values.

It is read from the job's first pod and from the owners and the group of that pod; what is requested
of the topology from the first pod of each role. Keys that make us write to an owner
(``labels.OF_OWNER``) are read from owners alone: from the pod template or the annotations of the
owner object and of the owners of that owner. They are never read from a pod, because the author of
a pod may have no right to change its owner. A pod without a controller is its own owner.

Annotations of Volcano and Kueue that mean the same count where ours is missing
(``shared.foreign_labels``).
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, Generic, TypeVar

from extender.core.cluster import training_spec, utility
from extender.core.cluster.accelerator_order import Accelerator, order_of
from extender.core.cluster.relations import Relations
from extender.core.cluster.spread_speeds import SpreadSpeed, spread_speeds_of
from extender.core.cluster.topology_request import PodSet, RolePod, pod_sets
from extender.core.cluster.training_spec import Training
from extender.core.cluster.utility import UtilityCurve
from extender.core.kinds import registry
from extender.core.kinds.base import Owners, Problem
from shared import duration, labels
from shared.errors import InputError
from shared.model import Owner, Pod

T = TypeVar("T")

_RANGE: Final = re.compile(r"([0-9]{1,6})\.\.([0-9]{1,6})")


class Shrink(StrEnum):
    """How workers of an elastic job leave."""

    CHECKPOINT = "checkpoint"
    """The trainer is asked for a checkpoint first."""
    TERMINATE = "terminate"
    """By SIGTERM alone: the training goes on without them."""


class OnHang(StrEnum):
    """What is done when the training of a job hangs."""

    NOTHING = ""
    RESTART = "restart"
    """The gang is restarted, if it has a checkpoint."""
    RESTART_WITHOUT_CHECKPOINT = "restart-without-checkpoint"
    """The gang is restarted, from the start if it has none."""


class Preemptible(StrEnum):
    """How a running job may be parked."""

    CHECKPOINT = "checkpoint"
    """After its trainers have saved."""
    TERMINATE = "terminate"
    """By SIGTERM alone: what is not saved is lost."""
    NEVER = "never"


@dataclass(frozen=True)
class WorkerRange:
    """Bounds of the number of workers of a job, both included."""

    least: int
    most: int


@dataclass(frozen=True)
class Stated(Generic[T]):
    """An annotation that is used only where jobs are admitted by price.

    A mistake in it must not hold up a job elsewhere, so it is kept here and not in the problems of
    the job.

    Attributes:
        text: The annotation as it was written.
        value: What it means; None if it cannot be used.
        problem: Why it cannot be used; None if it can.
    """

    text: str
    value: T | None
    problem: Problem | None = None

    def get(self) -> T:
        """Return the value.

        Raises:
            InputError: The annotation cannot be used.
        """
        if self.problem is not None:
            raise self.problem.error()
        assert self.value is not None  # noqa: S101 - one of the two is there
        return self.value


@dataclass(frozen=True)
class JobSpec:
    """What the user wrote on a job; see the module.

    Attributes:
        max_wait_seconds: L of CPS; None if not stated.
        expected_seconds: How long the job runs; None if not stated.
        relations: Affinity and anti-affinity between roles; None if not declared.
        topology_key: Node label for the places of the buckets; None if not stated.
        topology: What its sets of pods request of the topology; empty if nothing.
        accelerators: GPU models in order of preference; empty if not stated.
        spread_speeds: How fast it trains while its members are apart; empty if not stated.
        shares_devices: Whether pods of the job may share one device.
        workers: Bounds of the number of workers; None if it may not change.
        shrink: How workers leave.
        on_hang: What is done when the training hangs.
        preemptible: How the running job may be parked.
        park: A person wants it parked.
        has_checkpoint: An owner that decides names a checkpoint directory: the job may be stopped
            and resumed.
        utility: What the completion of the job is worth; None if not stated.
        training: What the job has to train; None if not stated.
        problems: What cannot be used. Where ``read`` finds a problem, it sets nothing else but
            ``has_checkpoint``.
    """

    max_wait_seconds: float | None = None
    expected_seconds: float | None = None
    relations: Relations | None = None
    topology_key: str | None = None
    topology: tuple[PodSet, ...] = ()
    accelerators: tuple[Accelerator, ...] = ()
    spread_speeds: tuple[SpreadSpeed, ...] = ()
    shares_devices: bool = False
    workers: WorkerRange | None = None
    shrink: Shrink = Shrink.CHECKPOINT
    on_hang: OnHang = OnHang.NOTHING
    preemptible: Preemptible = Preemptible.CHECKPOINT
    park: bool = False
    has_checkpoint: bool = False
    utility: Stated[UtilityCurve] | None = None
    training: Stated[Training] | None = None
    problems: tuple[Problem, ...] = ()


def read(
    pod: Pod,
    above: Owners,
    deciding_owners: Sequence[Owner] = (),
    roles: Sequence[RolePod] = (),
) -> JobSpec:
    """Return the specification of a job.

    Args:
        pod: The first pod of the job.
        above: Owners and group of that pod.
        deciding_owners: Owners whose annotations lead to writes to them; none: those of the pod.
        roles: The first pod of each role, for what each role may state; none: that pod alone.
    """
    has_checkpoint = stated_by(deciding_owners, labels.CHECKPOINT) is not None

    def of_owner(key: str) -> str | None:
        return stated_by(deciding_owners, key) if deciding_owners else of_pod(pod, above, key)

    try:
        return JobSpec(
            max_wait_seconds=_seconds(pod, above, labels.MAX_WAIT),
            expected_seconds=_seconds(pod, above, labels.EXPECTED_DURATION),
            relations=_relations(pod, above),
            topology_key=registry.annotation(pod, above, labels.TOPOLOGY_KEY),
            topology=pod_sets(roles or [RolePod("", pod, above)]),
            accelerators=_accelerators(registry.annotation(pod, above, labels.ACCELERATORS)),
            spread_speeds=_spread_speeds(registry.annotation(pod, above, labels.SPREAD_SPEEDS)),
            shares_devices=_shares_devices(registry.annotation(pod, above, labels.SHARE)),
            workers=_workers(of_owner(labels.WORKERS)),
            shrink=_shrink(of_owner(labels.SHRINK)),
            on_hang=_on_hang(of_owner(labels.ON_HANG)),
            preemptible=_preemptible(of_owner(labels.PREEMPTIBLE)),
            park=_park(deciding_owners),
            has_checkpoint=has_checkpoint,
            utility=_stated(of_owner(labels.UTILITY), utility.utility_of),
            training=_stated(of_owner(labels.TRAINING), training_spec.training_of),
        )
    except InputError as error:
        return JobSpec(has_checkpoint=has_checkpoint, problems=(Problem.of(error),))


def expected_seconds(pod: Pod, above: Owners) -> float | None:
    """Return how long the user expects the job to run; None if nothing usable is stated."""
    try:
        return _seconds(pod, above, labels.EXPECTED_DURATION)
    except InputError:
        return None


def accelerators(pod: Pod, above: Owners) -> tuple[Accelerator, ...]:
    """Return the order of GPU models that a job prefers; empty if nothing usable is stated."""
    try:
        return _accelerators(registry.annotation(pod, above, labels.ACCELERATORS))
    except InputError:
        return ()


def stated_by(owners: Sequence[Owner], key: str) -> str | None:
    """Return what the nearest of these owners states under a key; None if none does."""
    for owner in owners:
        text = owner.stated(key)
        if text is not None:
            return text
    return None


def of_pod(pod: Pod, above: Owners, key: str) -> str | None:
    """Return the value of a key of ``labels.OF_OWNER`` that counts for a pod; None if none does."""
    if pod.controller is None:
        return pod.annotations.get(key)
    return stated_by(above.owners, key)


def checkpoint(pod: Pod, above: Owners) -> str | None:
    """Return the checkpoint directory of a pod; None if its owner does not let it be moved.

    The owner permits the move. The directory itself is stated by the pod first, as with every other
    key.
    """
    if not may_be_moved(pod, above):
        return None
    own = registry.annotation(pod, above, labels.CHECKPOINT)
    return of_pod(pod, above, labels.CHECKPOINT) if own is None else own


def may_be_moved(pod: Pod, above: Owners) -> bool:
    """Return True if the owner of a pod names a checkpoint directory.

    An owner of a kind that is not always read (a Deployment without our label) is never written to,
    so its pods themselves may permit that they are evicted.
    """
    owner = pod.controller
    if owner is not None and not above.owners and not registry.owner_is_read(owner):
        return labels.CHECKPOINT in pod.annotations
    return of_pod(pod, above, labels.CHECKPOINT) is not None


def _stated(text: str | None, parse: Callable[[str], T]) -> Stated[T] | None:
    if text is None:
        return None
    try:
        return Stated(text, parse(text))
    except InputError as error:
        return Stated(text, None, Problem.of(error))


def _relations(pod: Pod, above: Owners) -> Relations | None:
    key, affinity = registry.stated(pod, above, labels.AFFINITY)
    anti_key, anti_affinity = registry.stated(pod, above, labels.ANTI_AFFINITY)
    if not affinity and not anti_affinity:
        return None
    fields = (key, anti_key, "task order")
    texts = ((affinity or "").lower(), (anti_affinity or "").lower())  # as the pods' roles
    return Relations.parse(*texts, fields=fields)


def _accelerators(text: str | None) -> tuple[Accelerator, ...]:
    return () if text is None else order_of(text)


def _spread_speeds(text: str | None) -> tuple[SpreadSpeed, ...]:
    return () if text is None else spread_speeds_of(text)


def _shares_devices(text: str | None) -> bool:
    if text not in {None, "allowed"}:
        raise InputError(f"annotation {labels.SHARE}", str(text), "allowed")
    return text is not None


def _workers(text: str | None) -> WorkerRange | None:
    if text is None:
        return None
    match = _RANGE.fullmatch(text)
    if match is None or not 1 <= int(match[1]) <= int(match[2]):
        raise InputError(
            f"annotation {labels.WORKERS}", text, "min..max such as 2..6, min at least 1"
        )
    return WorkerRange(int(match[1]), int(match[2]))


def _shrink(text: str | None) -> Shrink:
    if text is None:
        return Shrink.CHECKPOINT
    try:
        return Shrink(text)
    except ValueError:
        raise InputError(f"annotation {labels.SHRINK}", text, "checkpoint or terminate") from None


def _on_hang(text: str | None) -> OnHang:
    found = next((one for one in OnHang if one and one.value == text), None)
    if text is not None and found is None:
        expected = "restart or restart-without-checkpoint"
        raise InputError(f"annotation {labels.ON_HANG}", text, expected)
    return found or OnHang.NOTHING


def _preemptible(text: str | None) -> Preemptible:
    if text is None:
        return Preemptible.CHECKPOINT
    try:
        return Preemptible(text)
    except ValueError:
        expected = "checkpoint, terminate or never"
        raise InputError(f"annotation {labels.PREEMPTIBLE}", text, expected) from None


def _park(owners: Sequence[Owner]) -> bool:
    """Return True if an owner's own annotation asks for it: a template's could not be removed."""
    texts = [o.annotations[labels.PARK] for o in owners if labels.PARK in o.annotations]
    wrong = next((text for text in texts if text != "true"), None)
    if wrong is not None:
        expected = "true, or no such annotation"
        raise InputError(f"annotation {labels.PARK}", wrong, expected)
    return bool(texts)


def _seconds(pod: Pod, above: Owners, key: str) -> float | None:
    stated_key, text = registry.stated(pod, above, key)
    if text is None:
        return None
    field = f"annotation {stated_key}"
    seconds = duration.parse(text, field=field)
    if seconds <= 0:
        raise InputError(field, text, "a Go duration above 0 such as 20m")
    return seconds
