"""What namespaces hold of the cluster.

That is what the pods of our scheduler ask for that are bound or released, those that are being
deleted too, and what is kept for members of gangs that do not exist yet. Pods of other schedulers
are nobody's.
"""

from collections.abc import Iterable, Iterator

import numpy as np

from extender.engine.snapshot import Snapshot
from extender.policy.room import IntVector, Room
from shared import labels
from shared.model import JobKey, Pod, PodShape


def by_job(snapshot: Snapshot, namespace: str = "") -> Iterator[tuple[JobKey, list[PodShape]]]:
    """Yield each job that holds something, with the shapes of what counts for its namespace.

    With ``namespace`` only those of that one.
    """
    for key, pods in snapshot.jobs.items():
        if namespace and not key.startswith(f"{namespace}/"):
            continue
        shapes = [pod.shape for pod in pods if _counts(pod, snapshot)]
        if (kept := snapshot.open_seats.get(key)) is not None:
            shapes += [seat.shape for seat in kept.seats]
        if shapes:
            yield key, shapes


def total(shapes: Iterable[PodShape], room: Room) -> IntVector:
    """Return what shapes ask for together, by resource."""
    demands, found = Demands(room), np.zeros(len(room.resources), dtype=np.int64)
    for shape in shapes:
        found += demands.of(shape)
    return found


class Demands:
    """What shapes ask for; by identity, since hashing a shape costs more than all else."""

    def __init__(self, room: Room) -> None:
        self._room = room
        self._known: dict[int, tuple[PodShape, IntVector]] = {}

    def of(self, shape: PodShape) -> IntVector:
        """Return the demand of one shape; callers must not write to it."""
        known = self._known.get(id(shape))
        if known is None:
            known = self._known[id(shape)] = (shape, self._room.demand(shape))
        return known[1]


def _counts(pod: Pod, snapshot: Snapshot) -> bool:
    """Say whether a pod is bound, or released and on its way."""
    if pod.finished:
        return False
    if pod.uid in snapshot.bound or pod.uid in snapshot.seats:
        return True
    loose = labels.PLAN in pod.annotations and not pod.gates
    return loose and not pod.deleting
