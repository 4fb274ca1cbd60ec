"""Keys that make us write to an owner (``labels.OF_OWNER``): which value counts for a pod.

**Rule.** They are read from the owner object, from its pod template or its annotations, and from
those over it; never from a pod, whose author may have no right to change the owner. A pod that
nobody controls is its own owner.
"""

from collections.abc import Sequence

from extender.core.kinds import registry
from extender.core.kinds.base import Owners
from shared import labels
from shared.model import Owner, Pod


def stated(owners: Sequence[Owner], key: str) -> str | None:
    """Return what the nearest of these owners states under a key; None if none does."""
    texts = (owner.stated(key) for owner in owners)
    return next((text for text in texts if text is not None), None)


def of_pod(pod: Pod, over: Owners, key: str) -> str | None:
    """Return what counts for a pod; None if nothing does."""
    if pod.controller is None:
        return pod.annotations.get(key)
    return stated(over.owners, key)


def checkpoint(pod: Pod, over: Owners) -> str | None:
    """Return which checkpoint directory a pod names, if its owner lets the pod be moved or ended.

    The owner lets it; which directory it is, a pod says itself, as for every other key. The pods of
    a kind that is not always read (a Deployment without our label) let only themselves be evicted:
    nothing is ever written to what is not read.
    """
    if not lets_be_moved(pod, over):
        return None
    own = registry.annotation(pod, over, labels.CHECKPOINT)
    return of_pod(pod, over, labels.CHECKPOINT) if own is None else own


def lets_be_moved(pod: Pod, over: Owners) -> bool:
    """Say whether a pod's owner names a checkpoint directory."""
    owner = pod.controller
    if owner is not None and not over.owners and not registry.owner_is_read(owner):
        return labels.CHECKPOINT in pod.annotations
    return of_pod(pod, over, labels.CHECKPOINT) is not None


def ignored(pod: Pod, over: Owners) -> tuple[str, ...]:
    """Say which keys of a pod, or of its group, have no effect."""
    own = labels.OF_OWNER.intersection(pod.annotations)
    of_group = labels.OF_OWNER.intersection(over.group.annotations) if over.group else frozenset()
    unused = [key for key in sorted(own | of_group) if not _counts(pod, over, key)]
    places = ["the pod" if key in own else "the PodGroup" for key in unused]
    where = _where(pod, over) if unused else ""
    return tuple(
        f"annotation {k} on {p} has no effect: {where}" for k, p in zip(unused, places, strict=True)
    )


def _counts(pod: Pod, over: Owners, key: str) -> bool:
    if key == labels.CHECKPOINT:
        return lets_be_moved(pod, over)
    return of_pod(pod, over, key) is not None


def _where(pod: Pod, over: Owners) -> str:
    """Say where the key would count."""
    reference, owner = pod.controller, over.owner
    if reference is None:
        return "set it on the pod itself"
    name = f"{reference.kind} {reference.name}"
    if owner is None:
        return f"it counts on the pod's owner alone, and {name} is not read or did not make the pod"
    return f"set it on {name} or in its pod template"
