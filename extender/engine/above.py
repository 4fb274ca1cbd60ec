"""What is over a pod: its owners up to the top, and the group that it names.

**Rule.** An owner is over a pod if the chain of controller references leads to it inside the pod's
namespace, and if it selects the pod by its labels as its controller does. Where either ends, so
does the chain: what is beyond it is neither read nor changed for that pod.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

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


def above_each(snapshot: Snapshot, pods: Sequence[Pod]) -> list[Above]:
    """Return what is over each pod, worked out once for those of one owner and group.

    Whether the owners select it is asked of each pod; those alike share one object.
    """
    found: dict[tuple[OwnerReference | None, str | None], _Shared] = {}
    every: list[Above] = []
    for pod in pods:
        under = (pod.controller, registry.group_key(pod))
        shared = found.get(under)
        if shared is None:
            shared = found[under] = _Shared(above(snapshot, pod), _unasked(snapshot, pod))
        every.append(shared.of(snapshot, pod))
    return every


class _Shared(NamedTuple):
    """What is over the first pod of an owner, and its chain of owners whoever they select."""

    first: Above
    chain: tuple[Owner, ...] | None

    def of(self, snapshot: Snapshot, pod: Pod) -> Above:
        """Return what is over another pod of that owner."""
        whole = self.chain is not None and len(self.chain) == len(self.first.owners)
        if whole and all(owner.selects(pod.labels) for owner in self.chain or ()):
            return self.first
        one = above(snapshot, pod)
        return self.first if one == self.first else one


def _unasked(snapshot: Snapshot, pod: Pod) -> tuple[Owner, ...] | None:
    """Return the owners over a pod whoever they select; None where the chain leads over a pod."""
    reference = pod.controller
    if reference is None:
        return ()
    nearest = snapshot.owners.of(pod.namespace, reference)
    if nearest is None:
        return () if reference.kind != "Pod" else None
    chain = from_owner(snapshot, nearest)
    last = chain[-1].controller
    return None if last is not None and last.kind == "Pod" else chain


def from_owner(snapshot: Snapshot, owner: Owner) -> tuple[Owner, ...]:
    """Return an owner and those over it, inside its namespace."""
    found = [owner]
    while len(found) < MOST_OWNERS and (reference := found[-1].controller) is not None:
        one = snapshot.owners.of(owner.namespace, reference)
        if one is None:
            break
        found.append(one)
    return tuple(found)


def _owners(snapshot: Snapshot, pod: Pod) -> Iterator[Owner]:
    reference = pod.controller
    for _ in range(MOST_OWNERS):
        if reference is None:
            return
        owner = snapshot.owners.of(pod.namespace, reference)
        if owner is not None:
            if not owner.selects(pod.labels):
                return
            yield owner
            reference = owner.controller
            continue
        leader = _leader(snapshot, pod.namespace, reference)
        if leader is None:
            return
        pod, reference = leader, leader.controller


def _leader(snapshot: Snapshot, namespace: str, reference: OwnerReference) -> Pod | None:
    """Return a pod that owns: the leader of a LeaderWorkerSet owns its workers' set."""
    if reference.kind != "Pod":
        return None
    leader = snapshot.pods.get(PodKey(f"{namespace}/{reference.name}"))
    return leader if leader is not None and leader.uid == reference.uid else None
