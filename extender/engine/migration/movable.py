"""What moves together, and whether it can be moved at all: before any rule asks whether it should.

The unit is one pod where the gang size is 1, otherwise the whole gang. Of the pods that share a
checkpoint directory one is asked to save: the one that a framework calls rank 0.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from extender.engine import modelling
from extender.engine.jobs import Job, Member, State
from extender.engine.memory import Reading
from extender.engine.migration import hearing, movers, rank_zero
from extender.engine.migration.movers import Declined
from extender.engine.migration.parameters import MigrationParameters
from extender.engine.migration.reasons import MigrationReason as R
from extender.engine.scaling import records
from extender.engine.snapshot import Snapshot
from shared import labels
from shared.errors import InputError
from shared.model import JobKey, Mover, NodeName, OwnerReference, Pod, PodShape, Uid
from shared.progress import PodReport


@dataclass(frozen=True)
class Unit:
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


def unit(
    snapshot: Snapshot, job: Job, pod: Pod, reading: Reading, params: MigrationParameters
) -> Unit | Declined:
    """Return what would move with a pod, or why it cannot be moved."""
    if records.is_changing(snapshot, pod):
        return Declined(R.RESCALING)
    members = _together(job, pod)
    if not members or any(m.state is not State.BOUND for m in members):
        return Declined(R.JOB_NOT_RUNNING)
    way = _way(snapshot, job, members)
    if isinstance(way, Declined):
        return way
    reports = _reports(snapshot, members, reading, params.stale_seconds)
    if isinstance(reports, Declined):
        return reports
    if silent := _silent(way.asked, reports):
        return silent
    ordered = tuple(sorted(members, key=lambda m: (m.pod.uid not in way.asked, *rank_zero.rank(m))))
    return Unit(job, ordered, way.mover, way.owner, way.asked, way.shapes, reports)


@dataclass(frozen=True)
class _Way:
    asked: frozenset[Uid]
    mover: Mover
    owner: OwnerReference | None
    shapes: Mapping[Uid, PodShape]


def _way(snapshot: Snapshot, job: Job, members: Sequence[Member]) -> _Way | Declined:
    asked = _asked(snapshot, job, members)
    if isinstance(asked, Declined):
        return asked
    shapes = {m.pod.uid: modelling.own_shape(snapshot, m.pod) for m in members}
    if hindrance := _hindrance(job, members, shapes):
        return hindrance
    how = movers.mover(snapshot, job, members)
    return how if isinstance(how, Declined) else _Way(asked, *how, shapes)


def _together(job: Job, pod: Pod) -> tuple[Member, ...]:
    alive = tuple(m for m in job.members if m.state not in movers.ENDED)
    if job.min_available == 1:
        return tuple(m for m in alive if m.pod.uid == pod.uid)
    return alive if job.min_available is not None and not job.problem else ()


def _asked(snapshot: Snapshot, job: Job, members: Sequence[Member]) -> frozenset[Uid] | Declined:
    try:
        return rank_zero.asked(snapshot, job, members) or Declined(R.NOT_OPTED_IN)
    except InputError as error:
        return Declined(R.MISCONFIGURED, str(error))


def _hindrance(
    job: Job, members: Sequence[Member], shapes: Mapping[Uid, PodShape]
) -> Declined | None:
    if any(labels.PLAN not in m.pod.annotations or m.direct for m in members):
        return Declined(R.GATE_REQUIRED)
    unknown = {word for shape in shapes.values() for word in shape.unmodelled}
    if unknown:
        reason = R.VOLUME_BOUND if unknown == {modelling.VOLUMES} else R.NOT_MODELLED
        return Declined(reason, ", ".join(sorted(unknown)))
    if len(members) > 1 and job.wishes.relations is not None:
        return Declined(R.GANG_HAS_RELATIONS)
    return None


def _reports(
    snapshot: Snapshot, members: Iterable[Member], reading: Reading, stale_seconds: float
) -> dict[Uid, PodReport] | Declined:
    found: dict[Uid, PodReport] = {}
    for member in members:
        node = member.node
        if node is None or hearing.fresh(snapshot, node, reading, stale_seconds) is None:
            return Declined(R.AGENT_STALE, node or "")
        report = hearing.of_pod(snapshot, member.pod.uid, reading, stale_seconds)
        if report is not None:
            found[member.pod.uid] = report
    return found


def _silent(asked: Iterable[Uid], reports: Mapping[Uid, PodReport]) -> Declined | None:
    for uid in sorted(asked):
        report = reports.get(uid)
        checkpoint = report.checkpoint if report else None
        if checkpoint is None:
            return Declined(R.TRAINER_SILENT)
        if checkpoint.done:
            return Declined(R.TRAINING_DONE)
        if checkpoint.problem:
            known = {reason.value: reason for reason in R}
            reason = known.get(checkpoint.problem, R.MISCONFIGURED)
            return Declined(reason, checkpoint.detail)
    return None
