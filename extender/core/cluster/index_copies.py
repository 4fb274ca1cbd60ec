"""Second pods of an index of a Job: they are not started, and the Job controller deletes them.

The Job controller creates the pod of an index twice if the answer to its first request was lost.
When it has observed both, it deletes the one without a node, else the younger one. Until then two
workers of one rank would train.

Source:
    Kubernetes 1.36 ``pkg/controller/job/indexed_job_utils.go``,
    ``appendPodsWithSameIndexForRemovalAndRemaining``.
"""

from collections.abc import Iterable

from extender.core.cluster.snapshot import Snapshot
from extender.core.kinds import registry
from shared import labels
from shared.model import Pod, Uid

_Index = tuple[Uid, str]
"""Uid of the Job, and the completion index there."""


def of(snapshot: Snapshot, pods: Iterable[Pod]) -> frozenset[Uid]:
    """Return the pods of a job that are not started because another living pod has their index.

    A pod that is bound or released already is none of them.
    """
    first: dict[_Index, Pod] = {}
    copies: set[Uid] = set()
    for pod in pods:
        index = _index(pod)
        if index is None:
            continue
        other = first.setdefault(index, pod)
        if other is not pod:
            kept, copy = sorted((other, pod), key=lambda one: _rank(snapshot, one))
            first[index] = kept
            if not _has_started(snapshot, copy):
                copies.add(copy.uid)
    return frozenset(copies)


def is_copy(snapshot: Snapshot, pod: Pod) -> bool:
    """Return True if this pod is not started because another one of its job has its index."""
    index = _index(pod)
    if index is None:
        return False
    here = snapshot.jobs.get(registry.job_key(pod), ())
    return pod.uid in of(snapshot, (one for one in here if _index(one) == index))


def _index(pod: Pod) -> _Index | None:
    """Return the index of a living pod of an Indexed Job; None for others."""
    text = pod.labels.get(labels.JOB_INDEX_LABEL)
    owner = pod.controller
    if text is None or owner is None or owner.kind != "Job" or pod.deleting or pod.finished:
        return None
    return owner.uid, text


def _rank(snapshot: Snapshot, pod: Pod) -> tuple[bool, bool, float, str]:
    """Return the order in which the Job controller keeps pods of one index."""
    bound = _is_bound(snapshot, pod)
    return not bound, not _has_started(snapshot, pod), pod.created_at, pod.name


def _is_bound(snapshot: Snapshot, pod: Pod) -> bool:
    return pod.node_name is not None or pod.uid in snapshot.bound


def _has_started(snapshot: Snapshot, pod: Pod) -> bool:
    """Return True if the pod is bound, or on the way to its node."""
    released = labels.PLAN in pod.annotations or pod.uid in snapshot.reservations
    return released or _is_bound(snapshot, pod)
