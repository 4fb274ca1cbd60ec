"""How the pods of a job can leave their nodes, by the kind of their owner (docs/migration.md).

==========================================  ========  ==========================================
owner                                       mover     unless
==========================================  ========  ==========================================
none                                        recreate  it is a gang
Job, all its living pods                    suspend   somebody else drives it
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

from extender.core.agents import reports as agents_reports
from extender.core.cluster import pod_shape
from extender.core.cluster.jobs import Job, Member, State
from extender.core.cluster.owners import above
from extender.core.cluster.session import Reading
from extender.core.cluster.snapshot import Snapshot
from extender.core.kinds import registry
from extender.core.kinds.base import integer
from extender.core.parameters.migration import MigrationParameters
from extender.core.records import rescale
from extender.core.records.migration_reasons import MigrationReason as R
from shared import labels
from shared.errors import InputError
from shared.model import (
    JobKey,
    JobState,
    Mover,
    NodeName,
    Owner,
    OwnerReference,
    Pod,
    PodShape,
    Uid,
)
from shared.progress import PodReport

ENDED = (State.SUCCEEDED, State.FAILED, State.LEAVING)


@dataclass(frozen=True)
class Declined:
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
) -> tuple[Mover, OwnerReference | None] | Declined:
    """Return how these members would leave together, and their owner."""
    controllers = {m.pod.controller.uid if m.pod.controller else "" for m in members}
    if len(controllers) > 1:
        return Declined(R.OWNER_NOT_SUPPORTED, "its pods have several owners")
    owner = members[0].pod.controller
    if owner is None:
        return _of_nobody(job, members)
    if registry.owner_is_read(owner) and not all(_is_made(snapshot, m) for m in members):
        return Declined(R.OWNER_GONE)
    group = owner.api_version.partition("/")[0]
    if (group, owner.kind) == ("batch", "Job"):
        found = _of_job(snapshot, job, members, owner)
        return found if isinstance(found, Declined) else (found, owner)
    if group == "apps" and owner.kind in {"StatefulSet", "ReplicaSet"}:
        gang = Declined(R.OWNER_NOT_SUPPORTED, f"a gang of a {owner.kind}")
        return gang if len(members) > 1 else (Mover.EVICT, owner)
    return Declined(R.OWNER_NOT_SUPPORTED, owner.kind)


def _is_made(snapshot: Snapshot, member: Member) -> bool:
    """Say whether the pod's controller is there, and selects the pod."""
    return bool(above(snapshot, member.pod).owners)


def _of_nobody(job: Job, members: Sequence[Member]) -> tuple[Mover, None] | Declined:
    """The new pod has another name, so that only a label can keep its job's."""
    if len(members) > 1:
        return Declined(R.OWNER_NOT_SUPPORTED, "a gang of pods without an owner")
    if job.name == members[0].pod.name and len(job.name) > labels.LONGEST_VALUE:
        return Declined(R.OWNER_NOT_SUPPORTED, f"its name is too long for label {labels.JOB}")
    return Mover.RECREATE, None


def _of_job(
    snapshot: Snapshot, job: Job, members: Sequence[Member], reference: OwnerReference
) -> Mover | Declined:
    owner = snapshot.owners.of(job.namespace, reference)
    if owner is None or owner.job is None:
        return Declined(R.OWNER_GONE)
    if owner.job.managed:
        return Declined(R.OWNER_NOT_SUPPORTED, "another controller drives the Job")
    if owner.job.suspended:
        return Declined(R.JOB_NOT_RUNNING, "the Job is suspended")
    if owner.controller is not None and owner.controller.kind != "CronJob":
        return _of_driven_job(owner, members)
    alive = [m for m in job.members if m.state not in ENDED and _is_of(m, reference)]
    if len(members) == len(alive):
        return Mover.SUSPEND
    bearable = owner.job.per_index and _bears_an_eviction(owner.job, members[0])
    return Mover.EVICT if bearable else Declined(R.BACKOFF_TRAP)


def _of_driven_job(owner: Owner, members: Sequence[Member]) -> Mover | Declined:
    """A JobSet sets ``suspend`` of its Jobs back, and starts all of them anew if one fails."""
    kind = owner.controller.kind if owner.controller else ""
    if kind != "JobSet" or len(members) > 1 or owner.job is None:
        return Declined(
            R.OWNER_NOT_SUPPORTED, f"a {'gang' if len(members) > 1 else 'Job'} of a {kind}"
        )
    bearable = _bears_an_eviction(owner.job, members[0])
    return Mover.EVICT if bearable else Declined(R.BACKOFF_TRAP)


def _bears_an_eviction(job: JobState, member: Member) -> bool:
    """Say whether one more failure of this pod ends neither the Job nor the pod's index."""
    counted = integer(member.pod.annotations.get(labels.INDEX_FAILURES)) or 0
    left = job.failures_left - (counted if job.per_index else 0)
    return left >= 1 and not job.fails_with_pod


def _is_of(member: Member, reference: OwnerReference) -> bool:
    return member.pod.controller is not None and member.pod.controller.uid == reference.uid


# === What moves together, and whether it can be moved at all: before any rule asks whether it
# should.
#
# The unit is one pod where the gang size is 1, otherwise the whole gang. Of the pods that share a
# checkpoint directory one is asked to save: the one that a framework calls rank 0.


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
    if rescale.is_changing(snapshot, pod):
        return Declined(R.RESCALING)
    members = _together(job, pod)
    if not members or any(m.state is not State.BOUND for m in members):
        return Declined(R.JOB_NOT_RUNNING)
    way = _way(snapshot, job, members)
    if isinstance(way, Declined):
        return way
    reports = _reports(snapshot, members, reading, params.agent_reports.stale_seconds)
    if isinstance(reports, Declined):
        return reports
    if silent := _silent(way.asked, reports):
        return silent
    ordered = tuple(
        sorted(members, key=lambda m: (m.pod.uid not in way.asked, *agents_reports.rank(m)))
    )
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
    shapes = {m.pod.uid: pod_shape.own_shape(snapshot, m.pod) for m in members}
    if hindrance := _hindrance(job, members, shapes):
        return hindrance
    how = mover(snapshot, job, members)
    return how if isinstance(how, Declined) else _Way(asked, *how, shapes)


def _together(job: Job, pod: Pod) -> tuple[Member, ...]:
    alive = tuple(m for m in job.members if m.state not in ENDED)
    if job.min_available == 1:
        return tuple(m for m in alive if m.pod.uid == pod.uid)
    return alive if job.min_available is not None and not job.problem else ()


def _asked(snapshot: Snapshot, job: Job, members: Sequence[Member]) -> frozenset[Uid] | Declined:
    try:
        return agents_reports.asked(snapshot, job, members) or Declined(R.NOT_OPTED_IN)
    except InputError as error:
        return Declined(R.MISCONFIGURED, str(error))


def _hindrance(
    job: Job, members: Sequence[Member], shapes: Mapping[Uid, PodShape]
) -> Declined | None:
    if any(labels.PLAN not in m.pod.annotations or m.direct for m in members):
        return Declined(R.GATE_REQUIRED)
    unknown = {word for shape in shapes.values() for word in shape.unmodelled}
    if unknown:
        reason = R.VOLUME_BOUND if unknown == {pod_shape.VOLUMES} else R.NOT_MODELLED
        return Declined(reason, ", ".join(sorted(unknown)))
    if len(members) > 1 and job.spec.relations is not None:
        return Declined(R.GANG_HAS_RELATIONS)
    return None


def _reports(
    snapshot: Snapshot, members: Iterable[Member], reading: Reading, stale_seconds: float
) -> dict[Uid, PodReport] | Declined:
    found: dict[Uid, PodReport] = {}
    for member in members:
        node = member.node
        if node is None or agents_reports.fresh(snapshot, node, reading, stale_seconds) is None:
            return Declined(R.AGENT_STALE, node or "")
        report = agents_reports.of_pod(snapshot, member.pod.uid, reading, stale_seconds)
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
            return Declined(R.of_checkpoint(checkpoint.problem), checkpoint.detail)
    return None
