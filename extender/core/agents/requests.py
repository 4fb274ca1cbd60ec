"""Requests to trainers: which pods save a checkpoint, and the commands for a node's agent.

Derived at every heartbeat from the Migration objects and the owners' records of changes of workers
and of parkings, so that nothing is lost with an answer or a restart: a repeated request has the
same id, and no further effect. A pod of an open migration gets the migration's requests only.

The request of a change of workers is kept until the last leaving worker is on its way out, so that
no trainer goes on with a worker that is about to vanish; then the trainers that stay go on. That of
a parking is kept until its pods are gone.
"""

from collections.abc import Iterator, Sequence
from typing import Final

from msgspec import Struct

from extender.core.cluster import job_spec, job_views
from extender.core.cluster.jobs import Job, Member
from extender.core.cluster.owners import above
from extender.core.cluster.snapshot import Snapshot
from extender.core.records import elastic_workers, parking, rescale
from extender.core.records.rescale import OwnedRescale, Phase, Rescale
from shared import places
from shared.model import (
    JobKey,
    Migration,
    MigrationMember,
    MigrationPhase,
    NodeName,
    Owner,
    Pod,
    PodKey,
    Uid,
)
from shared.progress import CheckpointPhase

ASKING: Final = frozenset(
    {MigrationPhase.CHECKPOINT_REQUESTED, MigrationPhase.CHECKPOINTED, MigrationPhase.EVICTING}
)
"""Phases in which the request is sent."""


CANCELLED: Final = frozenset({MigrationPhase.ABORTED, MigrationPhase.FAILED})
"""Phases in which a pod that still exists must go on."""


class Ask(Struct, frozen=True, tag=True):
    """A pod is asked for a checkpoint; times in seconds since the epoch.

    The trainer must answer before ``deadline`` and then takes no step until ``hold_deadline``;
    ``reason`` is for people.
    """

    id: str
    uid: Uid
    deadline: float
    hold_deadline: float
    reason: str


class Cancel(Struct, frozen=True, tag=True):
    """The request is withdrawn: the trainer shall go on."""

    id: str
    uid: Uid


def commands(snapshot: Snapshot, node: NodeName) -> tuple[Ask | Cancel, ...]:
    """Return the commands for the agent of a node, in order of the migrations' names.

    A new request replaces an older one, so that no cancellation is sent with it.
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
    for ask, open_ in (*orders(snapshot, node), *parking_orders(snapshot, node)):
        if open_ and ask.uid not in moving:
            asks.append(ask)
        elif _may_hold(snapshot, node, ask.id, ask.uid):
            cancels.append(Cancel(ask.id, ask.uid))
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
    """Return False only if the trainer is known to have gone on."""
    report = snapshot.reports.get(node)
    pod = report.pods.get(uid) if report else None
    if pod is None or pod.checkpoint is None:
        return True
    if pod.checkpoint.request not in {"", request}:
        return False
    return pod.checkpoint.phase not in {CheckpointPhase.RELEASED, CheckpointPhase.REFUSED}


Order = tuple[Ask, bool]
"""A request, and True if it is sent, False if it is withdrawn."""


def orders(snapshot: Snapshot, node: NodeName) -> Iterator[Order]:
    """Yield the requests of changes to the pods of a node, in the order of the owners."""
    for noted in rescale.rescale_records(snapshot).by_owner.values():
        change = noted.rescale
        pods = _asked_pods(snapshot, node, change.asked, change.job, noted.owner)
        if not pods:
            continue
        surplus = _surplus(snapshot, noted)
        for pod in pods:
            yield _ask_for(change, pod.uid), _is_open(change, pod, surplus=surplus)


def parking_orders(snapshot: Snapshot, node: NodeName) -> Iterator[Order]:
    """Yield the requests of parkings to the pods of a node, in the order of the owners."""
    for owned in parking.parking_records(snapshot).by_owner.values():
        one = owned.parking
        for pod in _asked_pods(snapshot, node, one.asked, one.job, owned.owner):
            ask = Ask(
                id=one.id,
                uid=pod.uid,
                deadline=one.ask_until,
                hold_deadline=one.hold_until,
                reason=f"the job is parked ({one.cause.value})",
            )
            yield ask, one.phase in _PARKING


_PARKING: Final = frozenset({parking.Phase.ASKED, parking.Phase.SUSPENDING})


def _asked_pods(
    snapshot: Snapshot, node: NodeName, asked: Sequence[Uid], job: JobKey, owner: Owner
) -> list[Pod]:
    """Return the pods on a node that are asked; none if the owner has no pods in that job."""
    here = [uid for uid in asked if snapshot.bound.get(uid) == node]
    if not here or not rescale.has_pods(snapshot, job, owner):
        return []
    return [p for p in snapshot.jobs.get(job, ()) if p.uid in here and not p.finished]


def _surplus(snapshot: Snapshot, noted: OwnedRescale) -> bool:
    """Return True if a worker that is to leave is not yet on its way out."""
    if noted.rescale.phase is not Phase.SHRINKING:
        return False
    job = job_views.view(snapshot, noted.rescale.job)
    return len(elastic_workers.owner_workers(snapshot, job, noted.owner).live) > noted.rescale.to


def _is_open(rescale: Rescale, pod: Pod, *, surplus: bool) -> bool:
    return rescale.phase is Phase.ASKED or (rescale.open and (surplus or pod.deleting))


_CHIEFS: Final = ("master", "chief", "launcher")
_WORKERS: Final = ("worker", "")


def pods_to_ask(snapshot: Snapshot, job: Job, members: Sequence[Member]) -> frozenset[Uid]:
    """Return the pod that saves each checkpoint directory, the one of rank 0; none: not opted in.

    Raises:
        InputError: The annotation does not name a directory below the job's own.
    """
    first: dict[str, Uid] = {}
    for member in sorted(members, key=rank):
        pod = member.pod
        text = job_spec.checkpoint(pod, above(snapshot, pod))
        if text is None:
            continue
        variables = places.PathVariables(
            pod.namespace, job.name, pod.name, pod.uid, role=member.role, index=member.index
        )
        first.setdefault(places.checkpoint_directory(text, variables), pod.uid)
    return frozenset(first.values())


def rank(member: Member) -> tuple[int, int, str]:
    """Rank 0 in front: a master, else the first worker; parameter servers come last."""
    tier = 0 if member.role in _CHIEFS else 1 if member.role in _WORKERS else 2
    return (tier, member.rank, member.pod.name)
