"""The owners of a pod up to the top, and the group that it names.

**Rule.** An owner counts for a pod if the chain of controller references leads to it inside the
namespace of the pod, and if it selects the pod by its labels as its controller does. Where either
ends, so does the chain: what is beyond it is neither read nor changed for that pod.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from extender.core.cluster.snapshot import Snapshot
from extender.core.kinds import registry
from extender.core.kinds.base import Owners
from shared.model import Owner, OwnerReference, Pod, PodKey, Uid
from shared.objects.label_selectors import LabelSelector

MOST_OWNERS = 8
"""Owners of owners are followed this far: references can form a circle."""


def above(snapshot: Snapshot, pod: Pod) -> Owners:
    """Return what was observed of the pod's owners and its group."""
    group = registry.group_key(pod)
    return Owners(
        owners=tuple(_owners(snapshot, pod)),
        group=None if group is None else snapshot.groups.get(group),
    )


def above_each(snapshot: Snapshot, pods: Sequence[Pod]) -> list[Owners]:
    """Return the owners of each pod, computed once for the pods of one owner and group.

    Each pod is compared with the selectors of its owners; pods that are alike share one object.
    """
    shared_by_owner: dict[tuple[str, Uid | None, str | None], _Shared] = {}
    every: list[Owners] = []
    for pod in pods:
        controller = pod.controller
        uid = controller.uid if controller is not None else None
        under = (pod.namespace, uid, registry.group_key(pod))
        shared = shared_by_owner.get(under)
        if shared is None:
            shared = shared_by_owner[under] = _shared(snapshot, pod)
        if controller == shared.controller and shared.selects(pod):
            every.append(shared.above)
        else:
            own = above(snapshot, pod)
            every.append(shared.above if own == shared.above else own)
    return every


class _Shared(NamedTuple):
    """What is over the first pod of an owner, and what selects any other pod of that owner too.

    ``selectors`` is None where nothing follows for another pod.
    """

    controller: OwnerReference | None
    above: Owners
    selectors: tuple[LabelSelector, ...] | None

    def selects(self, pod: Pod) -> bool:
        """Return True if a pod of that controller has the same owners."""
        if self.selectors is None:
            return False
        marks = pod.labels
        for selector in self.selectors:  # noqa: SIM110 - a generator costs more, for every pod
            if not selector.matches(marks):
                return False
        return True


def _shared(snapshot: Snapshot, pod: Pod) -> _Shared:
    over, chain = above(snapshot, pod), _unselected(snapshot, pod)
    if chain is None or len(chain) != len(over.owners):
        return _Shared(pod.controller, over, None)
    selectors = tuple(owner.selector for owner in chain if owner.selector is not None)
    return _Shared(pod.controller, over, selectors)


def _unselected(snapshot: Snapshot, pod: Pod) -> tuple[Owner, ...] | None:
    """Return the owners of a pod whatever they select; None where a pod is one of them."""
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
    chain = [owner]
    while len(chain) < MOST_OWNERS and (reference := chain[-1].controller) is not None:
        next_owner = snapshot.owners.of(owner.namespace, reference)
        if next_owner is None:
            break
        chain.append(next_owner)
    return tuple(chain)


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
