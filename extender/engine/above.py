"""What stands over a pod: its owners up to the top, and the group that it names."""

from collections.abc import Iterator

from extender.adapters import registry
from extender.adapters.base import Above
from extender.engine.snapshot import Snapshot
from shared.model import Owner, OwnerReference, Pod, PodKey

MOST_OWNERS = 8
"""Owners of owners are followed this far: references can form a circle."""


def above(snapshot: Snapshot, pod: Pod) -> Above:
    """Return what was observed of the pod's owners and its group."""
    group = registry.group_key(pod)
    return Above(
        owners=tuple(_owners(snapshot, pod)),
        group=None if group is None else snapshot.groups.get(group),
    )


def _owners(snapshot: Snapshot, pod: Pod) -> Iterator[Owner]:
    reference = pod.controller
    for _ in range(MOST_OWNERS):
        if reference is None:
            return
        owner = snapshot.owners.get(reference.uid)
        if owner is not None:
            yield owner
            reference = owner.controller
        else:
            reference = _through_pod(snapshot, pod.namespace, reference)


def _through_pod(
    snapshot: Snapshot, namespace: str, reference: OwnerReference
) -> OwnerReference | None:
    """Go on above a pod that owns: the leader of a LeaderWorkerSet owns its workers' set."""
    if reference.kind != "Pod":
        return None
    leader = snapshot.pods.get(PodKey(f"{namespace}/{reference.name}"))
    return leader.controller if leader is not None and leader.uid == reference.uid else None
