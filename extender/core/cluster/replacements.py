"""How a bare pod is replaced: its copy counts for nothing until the pod itself is gone.

A bare pod has no controller, so only we recreate it. The steps are on the API server, so
that any life of ours can take them up:

1. The pod is marked with the name of its copy. From then on it is leaving: it keeps no
   reservation and cannot be bound; the next steps follow the mark until the pod is being deleted.
2. The copy is made, with our gate and the annotation ``shuntyard.io/replaces``. It is provisional.
3. The copy is confirmed: ``shuntyard.io/provisional`` is removed. The pod is deleted.
4. When its object is gone, the copy is a member of the job like any other.

If the pod goes while its copy is provisional, another client has deleted it, and the copy is
deleted too. A copy becomes provisional again once it is known that our deletion did not happen.

Only a client that may change a pod can mark it: the name of its copy follows from its uid, which
is not known when the pod is created. The annotations of a copy hold back and delete
nothing but the pod that carries them.
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

WITHDRAWN: Final = "withdrawn"
"""Why a copy is deleted whose pod another client has deleted."""

_STEM_LENGTH: Final = 240
_HASH_LENGTH: Final = 8
"""With the mark between them they are shorter than the 253 characters of a pod's name."""
_FENCE: Final = " "


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
    if mark is None or pod.controller is not None:
        return False
    return mark.partition(_FENCE)[0] == new_name(pod.name, pod.uid)


def fence(name: str, resource_version: str) -> str:
    """Return a mark that differs from the one which the pod has in this version.

    To write it changes the pod, so that a deletion of an earlier version cannot happen any more.
    """
    return f"{name}{_FENCE}{resource_version}"


def is_provisional(pod: Pod) -> bool:
    """Return True if the pod is a copy that nothing has confirmed or released."""
    if labels.PROVISIONAL not in pod.annotations or labels.GATE not in pod.gates:
        return False
    uid, _, name = pod.annotations.get(labels.REPLACES, "").partition("/")
    return bool(name) and pod.controller is None and pod.name == new_name(name, uid)


def waits(snapshot: Snapshot, pod: Pod) -> bool:
    """Return True if the pod is a copy that is no member yet."""
    return is_provisional(pod) or awaited(snapshot, pod) is not None


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
    copies = sorted(snapshot.provisional.items())
    return (
        *(DeletePod(p.key, uid, CAUSE, bare=True) for uid, p in begun if _is_open(snapshot, p)),
        *(DeletePod(p.key, uid, WITHDRAWN) for uid, p in copies if _lost(snapshot, p)),
    )


def _lost(snapshot: Snapshot, copy: Pod) -> bool:
    """Return True if the pod of a provisional copy is gone."""
    uid, _, name = copy.annotations[labels.REPLACES].partition("/")
    old = snapshot.pods.get(PodKey(f"{copy.namespace}/{name}"))
    return old is None or old.uid != uid


def _is_open(snapshot: Snapshot, pod: Pod) -> bool:
    """A pod that has ended has no deletion to come, but perhaps a copy that is to go."""
    if not pod.finished:
        return True
    copy = snapshot.pods.get(PodKey(f"{pod.namespace}/{new_name(pod.name, pod.uid)}"))
    return copy is not None and copy.annotations.get(labels.REPLACES) == origin(pod.name, pod.uid)
