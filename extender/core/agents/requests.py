"""Requests to the trainers on a node: checkpoints, and their cancellations.

Derived at every heartbeat from the Migration objects and the owners' records of changes of workers,
so that nothing is lost with an answer or a restart: the same id is the same request, and repeating
it does nothing more. A pod of an open migration gets the migration's requests only.

The request of a change of workers is kept until the last leaving worker is on its way out, so that
no trainer goes on with a worker that is about to vanish; then the trainers that stay go on.
"""

from collections.abc import Iterator
from typing import Final

from msgspec import Struct

from extender.core.cluster import job_views
from extender.core.cluster.snapshot import Snapshot
from extender.core.records import elastic_workers, rescale
from extender.core.records.rescale import OwnedRescale, Phase, Rescale
from shared.model import Migration, MigrationMember, MigrationPhase, NodeName, Pod, PodKey, Uid
from shared.progress import CheckpointPhase

ASKING: Final = frozenset(
    {MigrationPhase.CHECKPOINT_REQUESTED, MigrationPhase.CHECKPOINTED, MigrationPhase.EVICTING}
)
"""Phases in which the request stands."""


CANCELLED: Final = frozenset({MigrationPhase.ABORTED, MigrationPhase.FAILED})
"""Phases in which a pod that is still there must go on."""


class Ask(Struct, frozen=True, tag=True):
    """A checkpoint is wanted of a pod; times in seconds since the epoch.

    ``deadline`` is when the trainer must have answered, ``hold_deadline`` until when it takes no
    step after that, ``reason`` is for people.
    """

    id: str
    uid: Uid
    deadline: float
    hold_deadline: float
    reason: str


class Cancel(Struct, frozen=True, tag=True):
    """The request is no longer wanted: the trainer shall go on."""

    id: str
    uid: Uid


def commands(snapshot: Snapshot, node: NodeName) -> tuple[Ask | Cancel, ...]:
    """Return what the agent of a node is to do now, in order of the migrations' names.

    A pod that is newly asked is not told that something older was cancelled: there is one request
    at a time, and the new one takes its place.
    """
    asks: list[Ask] = []
    cancels: list[Cancel] = []
    for _, migration in sorted(snapshot.migrations.items()):
        if not migration.request:
            continue
        here = [m for m in migration.members if m.asked and _is_here(snapshot, migration, m, node)]
        if migration.phase in ASKING:
            asks.extend(_ask(migration, member) for member in here)
        elif migration.phase in CANCELLED:
            cancels.extend(
                Cancel(migration.request, member.uid)
                for member in here
                if _may_hold(snapshot, node, migration.request, member.uid)
            )
    moving = {member.uid for m in snapshot.migrations.values() if m.open for member in m.members}
    for change, uid, stands in orders(snapshot, node):
        if stands and uid not in moving:
            asks.append(_ask_for(change, uid))
        elif _may_hold(snapshot, node, change.id, uid):
            cancels.append(Cancel(change.id, uid))
    asked = {ask.uid for ask in asks}
    return (*asks, *(cancel for cancel in cancels if cancel.uid not in asked))


def _ask_for(rescale: Rescale, uid: Uid) -> Ask:
    return Ask(
        id=rescale.id,
        uid=uid,
        deadline=rescale.ask_until,
        hold_deadline=rescale.hold_until,
        reason=f"{rescale.before} to {rescale.to} workers ({rescale.cause.value})",
    )


def _ask(migration: Migration, member: MigrationMember) -> Ask:
    return Ask(
        id=migration.request,
        uid=member.uid,
        deadline=migration.ask_until,
        hold_deadline=migration.hold_until,
        reason=migration.why,
    )


def _is_here(
    snapshot: Snapshot, migration: Migration, member: MigrationMember, node: NodeName
) -> bool:
    pod = snapshot.pods.get(PodKey(f"{migration.namespace}/{member.pod}"))
    alive = pod is not None and pod.uid == member.uid and not pod.finished
    return alive and snapshot.bound.get(member.uid) == node


def _may_hold(snapshot: Snapshot, node: NodeName, request: str, uid: Uid) -> bool:
    """Return True unless the trainer is known neither to wait nor to answer any more."""
    report = snapshot.reports.get(node)
    pod = report.pods.get(uid) if report else None
    if pod is None or pod.checkpoint is None:
        return True
    if pod.checkpoint.request not in {"", request}:
        return False
    return pod.checkpoint.phase not in {CheckpointPhase.RELEASED, CheckpointPhase.REFUSED}


Order = tuple[Rescale, Uid, bool]
"""A change, a pod that it asks, and whether the request stands; else it is taken back."""


def orders(snapshot: Snapshot, node: NodeName) -> Iterator[Order]:
    """Yield what concerns the pods of a node, in the order of the owners."""
    for noted in rescale.rescale_records(snapshot).by_owner.values():
        here = [uid for uid in noted.rescale.asked if snapshot.bound.get(uid) == node]
        pods = _alive(snapshot, noted, here) if here else []
        if not pods:
            continue
        surplus = _surplus(snapshot, noted)
        for pod in pods:
            yield noted.rescale, pod.uid, _stands(noted.rescale, pod, surplus=surplus)


def _alive(snapshot: Snapshot, noted: OwnedRescale, uids: list[Uid]) -> list[Pod]:
    """Return the pods that are asked; none where the owner has no pods in the job it names."""
    job = noted.rescale.job
    if not rescale.has_pods(snapshot, noted):
        return []
    return [p for p in snapshot.jobs.get(job, ()) if p.uid in uids and not p.finished]


def _surplus(snapshot: Snapshot, noted: OwnedRescale) -> bool:
    """Return True if a worker that is to leave is not yet on its way out."""
    if noted.rescale.phase is not Phase.SHRINKING:
        return False
    job = job_views.view(snapshot, noted.rescale.job)
    return len(elastic_workers.owner_workers(snapshot, job, noted.owner).live) > noted.rescale.to


def _stands(one: Rescale, pod: Pod, *, surplus: bool) -> bool:
    return one.phase is Phase.ASKED or (one.open and (surplus or pod.deleting))
