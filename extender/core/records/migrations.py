"""The pods of open migrations: old pods, their replacements, and the reservations for these.

**Rule.** The replacement of a member is the pod that

* a bare pod's Migration names: ``replacements.new_name`` with the annotation
  ``shuntyard.io/migration``;
* has the name of the old one and another uid (StatefulSet);
* has the same index in the same job (Indexed Job, and other kinds that count their pods);
* without any index: is gated and no older than the Migration, the first by age and name.

**Invariant.** From the phase TargetReserved on, each member has a reservation on its target until
the replacement has a reservation or binding of its own, or the migration ends.

**Waiting.** A gated replacement is not placed while the object of the old pod exists, and not
before the Migration names it; then it goes to the target. The replacement of a migration that
failed because an old pod does not end waits too: two copies never run, whatever the deadline.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

import numpy as np

from extender.core.cluster import replacements
from extender.core.cluster.jobs import Job, State
from extender.core.cluster.owners import above
from extender.core.cluster.snapshot import Snapshot
from extender.core.kinds import registry
from extender.core.nodes import feasibility
from extender.core.nodes.node_table import NodeTable, conflicts
from shared import labels
from shared.model import (
    JobKey,
    Migration,
    MigrationMember,
    MigrationPhase,
    Mover,
    NodeName,
    Pod,
    PodKey,
    PodShape,
    Uid,
)

SECOND: float = 1.0
"""Creation times are whole seconds, rounded down."""


def old_pod(snapshot: Snapshot, migration: Migration, member: MigrationMember) -> Pod | None:
    """Return the pod that moves; None once its object is gone."""
    pod = snapshot.pods.get(PodKey(f"{migration.namespace}/{member.pod}"))
    return pod if pod is not None and pod.uid == member.uid else None


def has_left(snapshot: Snapshot, migration: Migration, member: MigrationMember) -> bool:
    """Return True if the old pod cannot run: its object is gone, or it ended without a deletion."""
    pod = old_pod(snapshot, migration, member)
    return pod is None or (pod.finished and not pod.deleting)


def is_leaving(snapshot: Snapshot, migration: Migration, member: MigrationMember) -> bool:
    """Return True if the old pod is being deleted, has ended or is gone."""
    pod = old_pod(snapshot, migration, member)
    return pod is None or pod.deleting or pod.finished


def recorded_replacement(
    snapshot: Snapshot, migration: Migration, member: MigrationMember
) -> Pod | None:
    """Return the recorded replacement of a member; None if its object is gone."""
    if not member.replacement_uid:
        return None
    pod = snapshot.pods.get(PodKey(f"{migration.namespace}/{member.replacement}"))
    return pod if pod is not None and pod.uid == member.replacement_uid else None


def node_of(snapshot: Snapshot, pod: Pod) -> NodeName | None:
    """Return the node that a pod is bound to or has a reservation on."""
    reservation = snapshot.reservations.get(pod.uid)
    reserved_node = None if reservation is None else reservation.node
    return snapshot.bound.get(pod.uid) or pod.node_name or reserved_node


def current_replacements(snapshot: Snapshot, migration: Migration) -> Mapping[Uid, Pod]:
    """Return the replacement of each member that has one by the rule of the module, by old uid."""
    pods: dict[Uid, Pod] = {}
    if migration.mover is Mover.RECREATE:
        for member in migration.members:
            name = replacements.new_name(member.pod, member.uid)
            pod = snapshot.pods.get(PodKey(f"{migration.namespace}/{name}"))
            if pod is not None and pod.annotations.get(labels.MIGRATION) == migration.key:
                pods[member.uid] = pod
        return pods
    taken = {member.uid for member in migration.members}
    for member in migration.members:
        pod = recorded_replacement(snapshot, migration, member) or _find(
            snapshot, migration, member, taken
        )
        if pod is not None:
            pods[member.uid] = pod
            taken.add(pod.uid)
    return pods


def _find(
    snapshot: Snapshot, migration: Migration, member: MigrationMember, taken: Collection[Uid]
) -> Pod | None:
    same_name = snapshot.pods.get(PodKey(f"{migration.namespace}/{member.pod}"))
    pods = snapshot.jobs.get(migration.job, ())
    others = [p for p in pods if _may_replace(p, taken) and _is_of_owner(p, migration)]
    if same_name in others:
        return same_name
    if member.index is not None:
        return next((p for p in others if _index(snapshot, p) == member.index), None)
    since = migration.created_at - SECOND
    new = (p for p in others if p.created_at >= since and node_of(snapshot, p) is None)
    return next(new, None)


def _index(snapshot: Snapshot, pod: Pod) -> int | None:
    return registry.membership(pod, above(snapshot, pod)).index


def _is_of_owner(pod: Pod, migration: Migration) -> bool:
    """Compare by name: an owner that is itself created again (a JobSet's Job) has another uid."""
    owner, controller = migration.owner, pod.controller
    if owner is None or controller is None:
        return owner is controller
    return (owner.kind, owner.name) == (controller.kind, controller.name)


def _may_replace(pod: Pod, taken: Collection[Uid]) -> bool:
    return pod.uid not in taken and not pod.finished and not pod.deleting


TargetReservation = tuple[NodeName, PodShape]
"""A reservation on the target of a migration: the node, and the shape of the pod."""
RESERVING: Final = frozenset(
    {
        MigrationPhase.TARGET_RESERVED,
        MigrationPhase.CHECKPOINT_REQUESTED,
        MigrationPhase.CHECKPOINTED,
        MigrationPhase.EVICTING,
        MigrationPhase.RECREATING,
    }
)
"""Phases with reservations on the targets."""
REPLACING: Final = frozenset(
    {MigrationPhase.EVICTING, MigrationPhase.RECREATING, MigrationPhase.RESUMING}
)
"""Phases in which new pods come."""


def reservations(
    migration: Migration, arrived: Iterable[Mapping[Uid, object]]
) -> tuple[TargetReservation, ...]:
    """Return the reservations of a migration.

    Args:
        migration: Any.
        arrived: Mappings by uid of the pods that have a reservation or a node of their own.
    """
    if migration.phase not in RESERVING:
        return ()
    mappings = tuple(arrived)
    return tuple(
        (member.target, member.shape)
        for member in migration.members
        if not any(Uid(member.replacement_uid) in pods for pods in mappings)
    )


def with_reservations(room: NodeTable, places: Iterable[TargetReservation]) -> NodeTable:
    """Return the node table with these places taken; a place on an unknown node takes nothing."""
    return _changed(room, tuple(places), sign=1)


def without_reservations(room: NodeTable, places: Iterable[TargetReservation]) -> NodeTable:
    """Return the node table with these places free again."""
    return _changed(room, tuple(places), sign=-1)


def _changed(room: NodeTable, places: tuple[TargetReservation, ...], *, sign: int) -> NodeTable:
    if not any(node in room.index for node, _ in places):
        return room
    used, ports = room.used.copy(), list(room.ports)
    for node, shape in places:
        index = room.index.get(node)
        if index is None:
            continue
        used[index] += sign * room.demand(shape)
        if sign > 0:
            ports[index] |= frozenset(shape.host_ports)
        else:
            ports[index] = frozenset(
                p for p in ports[index] if not conflicts([p], shape.host_ports)
            )
    used.setflags(write=False)
    return room.replaced(used=used, ports=tuple(ports))


def is_lost(table: NodeTable, places: Iterable[TargetReservation]) -> bool:
    """Return True if a node refuses its pod, or is too full, these places counted in the table."""
    for node, shape in places:
        index = table.index.get(node)
        if index is None or not feasibility.accepts(shape, table.nodes[index]):
            return True
        request = table.request(shape)
        if request is None or bool(np.any((request > 0) & (table.free[index] < 0))):
            return True
    return False


@dataclass(frozen=True)
class Replacements:
    """The gated pods that replace members of migrations.

    Attributes:
        held: Pods that wait for an old pod or for their migration.
        targets: Nodes of the pods that do not wait any more.
        reserved: Reservations of their migrations.
    """

    held: frozenset[Uid] = frozenset()
    targets: Mapping[Uid, NodeName] = field(default_factory=dict)
    reserved: tuple[TargetReservation, ...] = ()


NO_REPLACEMENTS: Final = Replacements()
"""Of a job without migrations."""


def with_held(job: Job, held: Collection[Uid]) -> Job:
    """Return the job with these gated members held, as by a gate of another controller."""
    if not held:
        return job
    members = tuple(
        replace(m, state=State.HELD) if m.pod.uid in held and m.state is State.GATED else m
        for m in job.members
    )
    return replace(job, members=members)


def replacements_by_job(snapshot: Snapshot) -> Mapping[JobKey, Replacements]:
    """Return the gated replacements by job of the new pods."""
    by_job: dict[JobKey, Replacements] = {}
    for _, migration in sorted(snapshot.migrations.items()):
        if _concerns(snapshot, migration):
            key = _job_of_new(snapshot, migration)
            replaced = _replacements(snapshot, migration)
            by_job[key] = _joined(by_job.get(key, Replacements()), replaced)
    return by_job


def _concerns(snapshot: Snapshot, migration: Migration) -> bool:
    if migration.open:
        return migration.phase in REPLACING
    return migration.phase is MigrationPhase.FAILED and not _all_left(snapshot, migration)


def _replacements(snapshot: Snapshot, migration: Migration) -> Replacements:
    held: set[Uid] = set()
    targets: dict[Uid, NodeName] = {}
    new = current_replacements(snapshot, migration)
    for member in migration.members:
        pod = new.get(member.uid)
        if pod is None or labels.GATE not in pod.gates:
            continue
        if _must_wait(snapshot, migration, member, pod):
            held.add(pod.uid)
        else:
            targets[pod.uid] = member.target
    places = reservations(migration, (snapshot.reservations, snapshot.bound))
    return Replacements(frozenset(held), targets, places)


def _must_wait(snapshot: Snapshot, migration: Migration, member: MigrationMember, pod: Pod) -> bool:
    if migration.mover is Mover.SUSPEND:
        if not _all_left(snapshot, migration):
            return True
    elif not has_left(snapshot, migration, member):
        return True
    return migration.open and member.replacement_uid != pod.uid


def _all_left(snapshot: Snapshot, migration: Migration) -> bool:
    return all(has_left(snapshot, migration, m) for m in migration.members)


def _job_of_new(snapshot: Snapshot, migration: Migration) -> JobKey:
    """Return the job of the new pods: a bare pod's replacement may be another job by its name."""
    if migration.mover is not Mover.RECREATE:
        return migration.job
    new = current_replacements(snapshot, migration)
    keys = [registry.job_key(pod) for pod in new.values()]
    return keys[0] if keys else migration.job


def _joined(first: Replacements, second: Replacements) -> Replacements:
    """Join the replacements of two migrations; a pod that either holds is held."""
    held = first.held | second.held
    targets = {u: n for u, n in {**first.targets, **second.targets}.items() if u not in held}
    return Replacements(held, targets, (*first.reserved, *second.reserved))


def moving_pods(snapshot: Snapshot) -> frozenset[Uid]:
    """Return the uids of pods of open migrations, old and new."""
    members = (
        m for migration in snapshot.migrations.values() if migration.open for m in migration.members
    )
    uids = (uid for m in members for uid in (m.uid, Uid(m.replacement_uid)) if uid)
    return frozenset(uids)
