"""How the pods of a job can leave their nodes, by the kind of their owner (docs/migration.md).

Each kind knows its own mover (``extender.core.kinds``):

==========================================  ========  ==========================================
owner                                       mover     unless
==========================================  ========  ==========================================
none                                        recreate  it is a gang
Job, all its living pods                    suspend   something else drives it
Job, one of several independent pods        evict     the eviction is a failure that it cannot
                                                      bear, or that makes the others wait too
Job of a JobSet, its only pod               evict     as above; a JobSet suspends its Jobs itself
StatefulSet, ReplicaSet (Deployment)        evict     it is a gang
anything else                               none
==========================================  ========  ==========================================

A Job without ``backoffLimitPerIndex`` adds up the failures of all its pods and makes each new pod
wait ten seconds, doubled with each failure: independent pods of such a Job are not moved.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from extender.core.agents.reports import asked as pods_to_ask
from extender.core.agents.reports import rank
from extender.core.cluster import pod_shape
from extender.core.cluster.jobs import Job, Member, State
from extender.core.cluster.owners import above
from extender.core.cluster.session import Session
from extender.core.cluster.snapshot import Snapshot
from extender.core.kinds import registry
from extender.core.kinds.base import Leaving, Obstacle, Unmovable
from extender.core.records import rescale
from extender.core.records.migration_reasons import MigrationReason as R
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
        """For people."""
        text = self.reason.text
        return f"{text}: {self.detail}" if self.detail else text


def mover(
    snapshot: Snapshot, job: Job, members: Sequence[Member]
) -> tuple[Mover, OwnerReference | None] | MoveRefusal:
    """Return how these members would leave together, and their owner."""
    controllers = {m.pod.controller.uid if m.pod.controller else "" for m in members}
    if len(controllers) > 1:
        return MoveRefusal(R.OWNER_NOT_SUPPORTED, "its pods have several owners")
    owner = members[0].pod.controller
    is_read = owner is not None and registry.owner_is_read(owner)
    if is_read and not all(_is_made(snapshot, m) for m in members):
        return MoveRefusal(R.OWNER_GONE)
    kind = registry.controlled_by(owner)
    if kind is None:
        return MoveRefusal(R.OWNER_NOT_SUPPORTED, owner.kind if owner else "")
    how = kind.mover(_leaving(snapshot, job, members, owner))
    if isinstance(how, Unmovable):
        return MoveRefusal(_REASONS[how.obstacle], how.detail)
    return how, owner


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


def _is_made(snapshot: Snapshot, member: Member) -> bool:
    """Return True if the pod's controller is there, and selects the pod."""
    return bool(above(snapshot, member.pod).owners)


def _is_of(member: Member, reference: OwnerReference) -> bool:
    return member.pod.controller is not None and member.pod.controller.uid == reference.uid


@dataclass(frozen=True)
class MoveUnit:
    """Pods that move together.

    Attributes:
        job: Their job.
        members: The pods, the first that is asked in front.
        mover: How they leave.
        owner: Their controller; None for a bare pod.
        asked: Who is asked for a checkpoint.
        shapes: What each pod asks of a node: with its volumes, without our pin.
        reports: What is freshly known of them.
    """

    job: Job
    members: tuple[Member, ...]
    mover: Mover
    owner: OwnerReference | None
    asked: frozenset[Uid]
    shapes: Mapping[Uid, PodShape]
    reports: Mapping[Uid, PodReport]

    @property
    def key(self) -> JobKey:
        """Of the job."""
        return self.job.key

    @property
    def lead(self) -> Member:
        """Who speaks for all."""
        return self.members[0]

    @property
    def sources(self) -> tuple[NodeName, ...]:
        """The nodes the pods are on, in order of name."""
        return tuple(sorted({m.node for m in self.members if m.node}))


def find_unit(session: Session, job: Job, pod: Pod) -> MoveUnit | MoveRefusal:
    """Return what would move with a pod, or why it cannot be moved."""
    snapshot = session.snapshot
    if rescale.is_changing(snapshot, pod):
        return MoveRefusal(R.RESCALING)
    members = _together(job, pod)
    if not members or any(m.state is not State.BOUND for m in members):
        return MoveRefusal(R.JOB_NOT_RUNNING)
    way = _way(snapshot, job, members)
    if isinstance(way, MoveRefusal):
        return way
    reports = _reports(session, members)
    if isinstance(reports, MoveRefusal):
        return reports
    if silent := _silent(way.asked, reports):
        return silent
    ordered = tuple(sorted(members, key=lambda m: (m.pod.uid not in way.asked, *rank(m))))
    return MoveUnit(job, ordered, way.mover, way.owner, way.asked, way.shapes, reports)


@dataclass(frozen=True)
class _Way:
    asked: frozenset[Uid]
    mover: Mover
    owner: OwnerReference | None
    shapes: Mapping[Uid, PodShape]


def _way(snapshot: Snapshot, job: Job, members: Sequence[Member]) -> _Way | MoveRefusal:
    asked = _asked(snapshot, job, members)
    if isinstance(asked, MoveRefusal):
        return asked
    shapes = {m.pod.uid: pod_shape.own_shape(snapshot, m.pod) for m in members}
    if hindrance := _hindrance(job, members, shapes):
        return hindrance
    how = mover(snapshot, job, members)
    return how if isinstance(how, MoveRefusal) else _Way(asked, *how, shapes)


def _together(job: Job, pod: Pod) -> tuple[Member, ...]:
    alive = tuple(m for m in job.members if m.state not in ENDED)
    if job.min_available == 1:
        return tuple(m for m in alive if m.pod.uid == pod.uid)
    return alive if job.min_available is not None and not job.problem else ()


def _asked(snapshot: Snapshot, job: Job, members: Sequence[Member]) -> frozenset[Uid] | MoveRefusal:
    try:
        return pods_to_ask(snapshot, job, members) or MoveRefusal(R.NOT_OPTED_IN)
    except InputError as error:
        return MoveRefusal(R.MISCONFIGURED, str(error))


def _hindrance(
    job: Job, members: Sequence[Member], shapes: Mapping[Uid, PodShape]
) -> MoveRefusal | None:
    if any(labels.PLAN not in m.pod.annotations or m.direct for m in members):
        return MoveRefusal(R.GATE_REQUIRED)
    unknown = {word for shape in shapes.values() for word in shape.unmodelled}
    if unknown:
        reason = R.VOLUME_BOUND if unknown == {pod_shape.VOLUMES} else R.NOT_MODELLED
        return MoveRefusal(reason, ", ".join(sorted(unknown)))
    if len(members) > 1 and job.spec.relations is not None:
        return MoveRefusal(R.GANG_HAS_RELATIONS)
    return None


def _reports(session: Session, members: Iterable[Member]) -> dict[Uid, PodReport] | MoveRefusal:
    found: dict[Uid, PodReport] = {}
    for member in members:
        node = member.node
        if node is None or session.report(node) is None:
            return MoveRefusal(R.AGENT_STALE, node or "")
        report = session.pod_report(member.pod.uid)
        if report is not None:
            found[member.pod.uid] = report
    return found


def _silent(asked: Iterable[Uid], reports: Mapping[Uid, PodReport]) -> MoveRefusal | None:
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
