"""The pods that move together, and how they leave their nodes (docs/migration.md).

Each kind has its own mover (``extender.core.kinds``):

==========================================  ========  ==========================================
owner                                       mover     unless
==========================================  ========  ==========================================
none                                        recreate  it is a gang
Job, all its live pods                      suspend   another controller manages it
Job, one of several independent pods        evict     the eviction is a failure that exceeds its
                                                      limit, or that delays the other pods
Job of a JobSet, its only pod               evict     as above; a JobSet suspends its Jobs itself
StatefulSet, ReplicaSet (Deployment)        evict     it is a gang
anything else                               none
==========================================  ========  ==========================================

A Job without ``backoffLimitPerIndex`` counts the failures of all its pods together and delays each
new pod by ten seconds, doubled with each failure: independent pods of such a Job are not moved.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from extender.core.agents.requests import pods_to_ask, rank
from extender.core.cluster import pod_shape
from extender.core.cluster.jobs import Job, Member, State
from extender.core.cluster.owners import above
from extender.core.cluster.session import Session
from extender.core.cluster.snapshot import Snapshot
from extender.core.kinds import registry
from extender.core.kinds.base import Leaving, Obstacle, Unmovable
from extender.core.records import parking, rescale
from extender.core.records.migration_reasons import MigrationReason as R
from extender.core.records.migrations import TargetReservation
from shared import labels
from shared.errors import InputError
from shared.model import (
    JobKey,
    Mover,
    NodeName,
    OwnerReference,
    Pod,
    PodShape,
    Uid,
)
from shared.progress import PodReport

ENDED = (State.SUCCEEDED, State.FAILED, State.LEAVING)


@dataclass(frozen=True)
class MoveRefusal:
    """Why a job is not moved."""

    reason: R
    detail: str = ""

    @property
    def message(self) -> str:
        """The reason in words, with its detail."""
        text = self.reason.text
        return f"{text}: {self.detail}" if self.detail else text


def mover(
    snapshot: Snapshot, job: Job, members: Sequence[Member]
) -> tuple[Mover, OwnerReference | None] | MoveRefusal:
    """Return how these members can leave their nodes together, and their owner."""
    controllers = {m.pod.controller.uid if m.pod.controller else "" for m in members}
    if len(controllers) > 1:
        return MoveRefusal(R.OWNER_NOT_SUPPORTED, "its pods have several owners")
    owner = members[0].pod.controller
    is_read = owner is not None and registry.owner_is_read(owner)
    if is_read and not all(_has_controller(snapshot, m) for m in members):
        return MoveRefusal(R.OWNER_GONE)
    kind = registry.controlled_by(owner)
    if kind is None:
        return MoveRefusal(R.OWNER_NOT_SUPPORTED, owner.kind if owner else "")
    movement = kind.mover(_leaving(snapshot, job, members, owner))
    if isinstance(movement, Unmovable):
        return MoveRefusal(_REASONS[movement.obstacle], movement.detail)
    return movement, owner


_REASONS: Final = {
    Obstacle.OWNER: R.OWNER_NOT_SUPPORTED,
    Obstacle.OWNER_GONE: R.OWNER_GONE,
    Obstacle.STOPPED: R.JOB_NOT_RUNNING,
    Obstacle.FAILURE: R.BACKOFF_TRAP,
}


def _leaving(
    snapshot: Snapshot, job: Job, members: Sequence[Member], reference: OwnerReference | None
) -> Leaving:
    pods = tuple(m.pod for m in members)
    if reference is None:
        return Leaving(pods, job.name)
    alive = sum(m.state not in ENDED and _is_of(m, reference) for m in job.members)
    return Leaving(pods, job.name, snapshot.owners.of(job.namespace, reference), alive)


def _has_controller(snapshot: Snapshot, member: Member) -> bool:
    """Return True if the pod's controller exists and selects the pod."""
    return bool(above(snapshot, member.pod).owners)


def _is_of(member: Member, reference: OwnerReference) -> bool:
    return member.pod.controller is not None and member.pod.controller.uid == reference.uid


@dataclass(frozen=True)
class MovingPods:
    """Pods that move together.

    Attributes:
        job: Their job.
        members: The pods.
        shapes: Requirements of each pod, with its volumes, without our pin.
        reports: Recent reports of the pods.
    """

    job: Job
    members: tuple[Member, ...]
    shapes: Mapping[Uid, PodShape]
    reports: Mapping[Uid, PodReport]

    @property
    def key(self) -> JobKey:
        """The job's key."""
        return self.job.key

    @property
    def lead(self) -> Member:
        """The first member, by which the unit is identified."""
        return self.members[0]

    @property
    def sources(self) -> tuple[NodeName, ...]:
        """The nodes the pods are on, in order of name."""
        return tuple(sorted({m.node for m in self.members if m.node}))


def places_of(unit: MovingPods) -> tuple[TargetReservation, ...]:
    """Return the nodes of the pods, with what each requires."""
    nodes = ((m.node, unit.shapes[m.pod.uid]) for m in unit.members)
    return tuple((node, shape) for node, shape in nodes if node is not None)


@dataclass(frozen=True)
class MoveUnit(MovingPods):
    """Pods that a Migration moves; those whose trainers are asked for a checkpoint come first.

    Attributes:
        mover: How they leave.
        owner: Their controller; None for a bare pod.
        asked: Pods whose trainers are asked for a checkpoint.
    """

    mover: Mover
    owner: OwnerReference | None
    asked: frozenset[Uid]


def find_unit(session: Session, job: Job, pod: Pod) -> MoveUnit | MoveRefusal:
    """Return the unit of a pod, or why it cannot be moved."""
    snapshot = session.snapshot
    if operation := _other_operation(snapshot, pod):
        return MoveRefusal(operation)
    members = _members_of_move(job, pod)
    if not members or any(m.state is not State.BOUND for m in members):
        return MoveRefusal(R.JOB_NOT_RUNNING)
    departure = _departure(snapshot, job, members)
    if isinstance(departure, MoveRefusal):
        return departure
    reports = _reports(session, members)
    if isinstance(reports, MoveRefusal):
        return reports
    if refusal := _trainer_refusal(departure.asked, reports):
        return refusal
    ordered = tuple(sorted(members, key=lambda m: (m.pod.uid not in departure.asked, *rank(m))))
    return MoveUnit(
        job=job,
        members=ordered,
        mover=departure.mover,
        owner=departure.owner,
        asked=departure.asked,
        shapes=departure.shapes,
        reports=reports,
    )


def _other_operation(snapshot: Snapshot, pod: Pod) -> R | None:
    """Return what else is under way with the job of a pod; None if nothing is."""
    if rescale.is_changing(snapshot, pod):
        return R.RESCALING
    return R.PARKING if parking.is_open(snapshot, pod) else None


@dataclass(frozen=True)
class _Departure:
    asked: frozenset[Uid]
    mover: Mover
    owner: OwnerReference | None
    shapes: Mapping[Uid, PodShape]


def _departure(snapshot: Snapshot, job: Job, members: Sequence[Member]) -> _Departure | MoveRefusal:
    asked = _asked(snapshot, job, members)
    if isinstance(asked, MoveRefusal):
        return asked
    shapes = {m.pod.uid: pod_shape.own_shape(snapshot, m.pod) for m in members}
    if refusal := _obstacle(job, members, shapes):
        return refusal
    movement = mover(snapshot, job, members)
    return movement if isinstance(movement, MoveRefusal) else _Departure(asked, *movement, shapes)


def _members_of_move(job: Job, pod: Pod) -> tuple[Member, ...]:
    alive = tuple(m for m in job.members if m.state not in ENDED)
    if job.min_available == 1:
        return tuple(m for m in alive if m.pod.uid == pod.uid)
    return alive if job.min_available is not None and not job.problem else ()


def _asked(snapshot: Snapshot, job: Job, members: Sequence[Member]) -> frozenset[Uid] | MoveRefusal:
    try:
        return pods_to_ask(snapshot, job, members) or MoveRefusal(R.NOT_OPTED_IN)
    except InputError as error:
        return MoveRefusal(R.MISCONFIGURED, str(error))


def _obstacle(
    job: Job, members: Sequence[Member], shapes: Mapping[Uid, PodShape]
) -> MoveRefusal | None:
    if any(labels.PLAN not in m.pod.annotations or m.direct for m in members):
        return MoveRefusal(R.GATE_REQUIRED)
    unknown = {rule for shape in shapes.values() for rule in shape.unmodelled}
    if unknown:
        reason = R.VOLUME_BOUND if unknown == {pod_shape.VOLUMES} else R.NOT_MODELLED
        return MoveRefusal(reason, ", ".join(sorted(unknown)))
    if len(members) > 1 and job.spec.relations is not None:
        return MoveRefusal(R.GANG_HAS_RELATIONS)
    return None


def _reports(session: Session, members: Iterable[Member]) -> dict[Uid, PodReport] | MoveRefusal:
    reports: dict[Uid, PodReport] = {}
    for member in members:
        node = member.node
        if node is None or session.report(node) is None:
            return MoveRefusal(R.AGENT_STALE, node or "")
        report = session.pod_report(member.pod.uid)
        if report is not None:
            reports[member.pod.uid] = report
    return reports


def _trainer_refusal(asked: Iterable[Uid], reports: Mapping[Uid, PodReport]) -> MoveRefusal | None:
    for uid in sorted(asked):
        report = reports.get(uid)
        checkpoint = report.checkpoint if report else None
        if checkpoint is None:
            return MoveRefusal(R.TRAINER_SILENT)
        if checkpoint.done:
            return MoveRefusal(R.TRAINING_DONE)
        if checkpoint.problem:
            return MoveRefusal(R.of_checkpoint(checkpoint.problem), checkpoint.detail)
    return None
