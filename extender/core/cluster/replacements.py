"""How a bare pod is replaced: its copy counts for nothing until the pod itself is gone.

A bare pod has no controller, so only we recreate it. The steps are on the API server, so
that any life of ours can take them up:

1. The pod is marked with the name of its copy. From then on it is leaving: it keeps no
   reservation and cannot be bound; the next steps follow the mark until the pod is being deleted.
2. The copy is made, with our gate and the annotation ``shuntyard.io/replaces``.
3. The pod is deleted.
4. When its object is gone, the copy is a member of the job like any other.

Only a client that may change a pod can mark it: the name of its copy follows from its uid, which
is not known when the pod is created. The annotation of a copy holds back
nothing but the pod that carries it.
"""

import hashlib
from collections.abc import Iterable
from typing import Final

from extender.core.cluster.commands import DeletePod
from extender.core.cluster.snapshot import Snapshot
from shared import labels
from shared.model import Pod, PodKey

CAUSE: Final = "replaced"
"""Why a marked pod is deleted, if an earlier attempt did not get so far."""

_STEM_LENGTH: Final = 240
_HASH_LENGTH: Final = 8
"""With the mark between them they are shorter than the 253 characters of a pod's name."""


def new_name(name: str, uid: str) -> str:
    """Return the name of a bare pod's copy; a copy of a copy does not grow."""
    stem = name.rpartition("-r")[0] if _is_copy(name) else name
    return f"{stem[:_STEM_LENGTH]}-r{hashlib.sha256(uid.encode()).hexdigest()[:_HASH_LENGTH]}"


def _is_copy(name: str) -> bool:
    _, mark, tail = name.rpartition("-r")
    return bool(mark) and len(tail) == _HASH_LENGTH and all(c in "0123456789abcdef" for c in tail)


def origin(name: str, uid: str) -> str:
    """Return what the copy of this pod is annotated with."""
    return f"{uid}/{name}"


def is_marked(pod: Pod) -> bool:
    """Return True if we have begun to replace the pod."""
    mark = pod.annotations.get(labels.REPLACED_BY)
    return mark is not None and pod.controller is None and mark == new_name(pod.name, pod.uid)


def awaited(snapshot: Snapshot, pod: Pod) -> Pod | None:
    """Return the pod of which this one is the copy, as long as its object keeps the copy waiting.

    A pod that has finished, undeleted and unmarked, keeps no copy waiting: nothing of it can run. A
    marked one does: it ended before it was deleted, so its copy is to be taken away.
    """
    uid, _, name = pod.annotations.get(labels.REPLACES, "").partition("/")
    old = snapshot.pods.get(PodKey(f"{pod.namespace}/{name}")) if name else None
    if old is None or old.uid != uid or old.uid == pod.uid or old.controller is not None:
        return None
    ended = old.finished and not old.deleting and not is_marked(old)
    return None if ended else old


def awaited_by(snapshot: Snapshot, pods: Iterable[Pod]) -> tuple[PodKey, ...]:
    """Return the pods that keep any of these waiting, sorted."""
    olds = (awaited(snapshot, pod) for pod in pods if labels.REPLACES in pod.annotations)
    return tuple(sorted({old.key for old in olds if old is not None}))


def unfinished(snapshot: Snapshot) -> tuple[DeletePod, ...]:
    """Return the replacements that an earlier attempt did not bring to an end, to be taken up."""
    begun = sorted(snapshot.marked.items())
    return tuple(
        DeletePod(pod.key, uid, CAUSE, bare=True) for uid, pod in begun if _is_open(snapshot, pod)
    )


def _is_open(snapshot: Snapshot, pod: Pod) -> bool:
    """A pod that has ended has no deletion to come, but perhaps a copy that is to go."""
    if not pod.finished:
        return True
    copy = snapshot.pods.get(PodKey(f"{pod.namespace}/{new_name(pod.name, pod.uid)}"))
    return copy is not None and copy.annotations.get(labels.REPLACES) == origin(pod.name, pod.uid)
