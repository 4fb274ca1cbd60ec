"""The pods of a migration as they are now: the old ones, and those that take their place.

**Rule.** The replacement of a member is the pod that

* a bare pod's Migration names: ``copies.new_name`` with the annotation ``shuntyard.io/migration``;
* has the name of the old one and another uid (StatefulSet);
* has the same index in the same job (Indexed Job, and whatever else counts its pods);
* without any index: is gated and no older than the Migration, the first by age and name.
"""

from collections.abc import Collection, Mapping

from extender.adapters import registry
from extender.engine import copies
from extender.engine.above import above
from extender.engine.snapshot import Snapshot
from shared import labels
from shared.model import (
    Migration,
    MigrationMember,
    Mover,
    NodeName,
    Pod,
    PodKey,
    Uid,
)

SECOND: float = 1.0
"""Creation times are whole seconds, rounded down."""


def old(snapshot: Snapshot, migration: Migration, member: MigrationMember) -> Pod | None:
    """Return the pod that moves, for as long as its object is there."""
    pod = snapshot.pods.get(PodKey(f"{migration.namespace}/{member.pod}"))
    return pod if pod is not None and pod.uid == member.uid else None


def has_left(snapshot: Snapshot, migration: Migration, member: MigrationMember) -> bool:
    """Say whether nothing of the old pod can run: its object is gone, or it ended undeleted."""
    pod = old(snapshot, migration, member)
    return pod is None or (pod.finished and not pod.deleting)


def is_leaving(snapshot: Snapshot, migration: Migration, member: MigrationMember) -> bool:
    """Say whether the old pod is on its way out, or out."""
    pod = old(snapshot, migration, member)
    return pod is None or pod.deleting or pod.finished


def replacement(snapshot: Snapshot, migration: Migration, member: MigrationMember) -> Pod | None:
    """Return the recorded replacement of a member, if it is still there."""
    if not member.replacement_uid:
        return None
    pod = snapshot.pods.get(PodKey(f"{migration.namespace}/{member.replacement}"))
    return pod if pod is not None and pod.uid == member.replacement_uid else None


def place(snapshot: Snapshot, pod: Pod) -> NodeName | None:
    """Return the node a pod is bound to or has a seat on."""
    seat = snapshot.seats.get(pod.uid)
    return snapshot.bound.get(pod.uid) or pod.node_name or (seat.node if seat else None)


def found(snapshot: Snapshot, migration: Migration) -> Mapping[Uid, Pod]:
    """Return the replacement of each member that has one by the rule of the module, by old uid."""
    pods: dict[Uid, Pod] = {}
    if migration.mover is Mover.RECREATE:
        for member in migration.members:
            name = copies.new_name(member.pod, member.uid)
            pod = snapshot.pods.get(PodKey(f"{migration.namespace}/{name}"))
            if pod is not None and pod.annotations.get(labels.MIGRATION) == migration.key:
                pods[member.uid] = pod
        return pods
    taken = {member.uid for member in migration.members}
    for member in migration.members:
        pod = replacement(snapshot, migration, member) or _find(snapshot, migration, member, taken)
        if pod is not None:
            pods[member.uid] = pod
            taken.add(pod.uid)
    return pods


def _find(
    snapshot: Snapshot, migration: Migration, member: MigrationMember, taken: Collection[Uid]
) -> Pod | None:
    namesake = snapshot.pods.get(PodKey(f"{migration.namespace}/{member.pod}"))
    pods = snapshot.jobs.get(migration.job, ())
    others = [p for p in pods if _may_replace(p, taken) and _is_of_owner(p, migration)]
    if namesake in others:
        return namesake
    if member.index is not None:
        return next((p for p in others if _index(snapshot, p) == member.index), None)
    since = migration.created_at - SECOND
    new = (p for p in others if p.created_at >= since and place(snapshot, p) is None)
    return next(new, None)


def _index(snapshot: Snapshot, pod: Pod) -> int | None:
    return registry.membership(pod, above(snapshot, pod)).index


def _is_of_owner(pod: Pod, migration: Migration) -> bool:
    """By name: an owner that is itself made anew (a JobSet's Job) has another uid."""
    owner, theirs = migration.owner, pod.controller
    if owner is None or theirs is None:
        return owner is theirs
    return (owner.kind, owner.name) == (theirs.kind, theirs.name)


def _may_replace(pod: Pod, taken: Collection[Uid]) -> bool:
    return pod.uid not in taken and not pod.finished and not pod.deleting
