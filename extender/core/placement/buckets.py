"""Which pods of a job belong together: Volcano's task topology (docs/policies/buckets.md).

A bucket is a set of pods that should share a place: a node, or the nodes with one value of a
label. All relations are soft: they say where a pod is best, never where it may not run.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from extender.core.cluster.relations import Relations
from extender.core.nodes.node_table import FloatVector, IntVector
from shared.model import PodShape

__all__ = [
    "Bucket",
    "Relations",
    "Task",
    "build",
    "node_score",
    "placing_order",
    "request_score",
    "task_order_key",
]

PS: Final = "ps"
"""The role that is bound first and that workers gather around."""
FULL_SCORE: Final = 100
"""Score of a node that takes a whole bucket of the largest size."""
MEBIBYTE: Final = 2**20
_BYTES: Final = re.compile(r"memory|ephemeral-storage|hugepages-.*")


@dataclass(frozen=True)
class Task:
    """A pod as the bucket rules see it.

    Attributes:
        id: Unique in the job.
        role: Volcano's task name.
        index: Number within the role.
        request_score: See ``request_score``.
        node: Where it already is (or the place of that node); None if it has no node.
    """

    id: str
    role: str
    index: int
    request_score: int = 0
    node: str | None = None


@dataclass(frozen=True)
class Bucket:
    """Pods that should share a place.

    Attributes:
        index: Order of creation.
        tasks: Members without a node, in the order in which they should be placed.
        bound: Members that have one.
    """

    index: int
    tasks: tuple[Task, ...]
    bound: tuple[Task, ...]

    @property
    def size(self) -> int:
        """How many pods it has, with or without a node."""
        return len(self.tasks) + len(self.bound)


def request_score(shape: PodShape) -> int:
    """Return one number for what a pod requests: milli-CPU + MiB + thousandths of other pieces.

    Source:
        Volcano ``task-topology/bucket.go`` ("treat 1Mi the same as 1m cpu 1m gpu").
    """
    score = 0
    for resource, amount in shape.requests:
        if _BYTES.fullmatch(resource):
            score += amount // MEBIBYTE
        elif resource != "pods":
            score += amount if resource == "cpu" else amount * 1000
    return score


def build(tasks: Sequence[Task], relations: Relations) -> tuple[Bucket, ...]:
    """Put every task of a related role into one bucket.

    1. Tasks with a node first, then by the user's order of roles, then heavier role first, then by
       role, index and id (Volcano: the pod's name, which is made of these).
    2. A task with a node joins the bucket of its node.
    3. Any other joins the bucket with most affinity minus anti-affinity to what is in it; among
       equals the one whose tasks without a node request less; then the older one.
    4. Where there is no bucket, or that number is below 0, it opens one.

    Returns:
        The buckets by index; tasks of roles without a relation are in none.

    Source:
        Volcano ``task-topology/manager.go``; Du et al. 2023, Sect. 3.3 is a summary of it.
    """
    related = sorted(
        (t for t in tasks if t.role in relations.weights), key=lambda t: _sort_key(t, relations)
    )
    filling = _Filling(related, relations)
    for task in related:
        filling.add(task)
    return filling.buckets()


def placing_order(buckets: Sequence[Bucket]) -> tuple[Bucket, ...]:
    """Return the buckets in the order of placement: more tasks without a node first, then older."""
    return tuple(sorted(buckets, key=lambda b: (-len(b.tasks), b.index)))


def task_order_key(role: str, bucket: int, index: int) -> tuple[int, int, int]:
    """Return the sort key of the bind order: ps first, then bucket, then pod index.

    Source:
        Du et al. 2023, Sect. 3.3; its comparator is no strict order, this one is.
    """
    return (0 if role == PS else 1, bucket, index)


def node_score(
    bucket_pods: IntVector,
    anti_affinity: IntVector,
    fitting: IntVector,
    *,
    largest_bucket: int,
    weight: int = 1,
) -> FloatVector:
    """Return how good every node is for the next pod of a bucket.

    ``(bucket_pods + min(0, anti_affinity) + fitting) · weight · 100 / largest_bucket``; 0 where
    the pod itself does not fit.

    Args:
        bucket_pods: Pods of the bucket that are already there.
        anti_affinity: Minus the pods there from which the pod's role should be apart.
        fitting: How many pods of the bucket without a node fit there together, this one included;
            0 where this one does not fit.
        largest_bucket: Pods in the job's largest bucket, at least 1.
        weight: Volcano's ``task-topology.weight``.

    Source:
        Volcano ``task-topology/topology.go``, ``calcBucketScore`` and ``NodeOrderFn``.
    """
    pods = bucket_pods + np.minimum(0, anti_affinity) + fitting
    return np.where(fitting > 0, pods * (weight * FULL_SCORE / largest_bucket), 0.0)


class _Filling:
    """Buckets while they are being filled; arrays, because a job may have a thousand of them."""

    def __init__(self, tasks: Sequence[Task], relations: Relations) -> None:
        roles = sorted(relations.weights)
        self._column = {role: i for i, role in enumerate(roles)}
        self._pull = relations.pull(roles)
        self._counts = np.zeros((len(tasks), len(roles)), dtype=np.int64)
        self._scores = np.zeros(len(tasks), dtype=np.int64)
        self._members: list[list[Task]] = []
        self._by_node: dict[str, int] = {}

    def add(self, task: Task) -> None:
        bucket = self._by_node.get(task.node) if task.node is not None else self._best(task)
        if bucket is None:
            bucket = len(self._members)
            self._members.append([])
        self._members[bucket].append(task)
        self._counts[bucket, self._column[task.role]] += 1
        if task.node is None:
            self._scores[bucket] += task.request_score
        else:
            self._by_node[task.node] = bucket

    def _best(self, task: Task) -> int | None:
        if not self._members:
            return None
        opened = slice(len(self._members))
        affinity = self._counts[opened] @ self._pull[self._column[task.role]]
        highest = affinity.max()
        if highest < 0:
            return None
        equal = np.flatnonzero(affinity == highest)
        return int(equal[self._scores[opened][equal].argmin()])

    def buckets(self) -> tuple[Bucket, ...]:
        return tuple(
            Bucket(
                index,
                tasks=tuple(t for t in members if t.node is None),
                bound=tuple(t for t in members if t.node is not None),
            )
            for index, members in enumerate(self._members)
        )


def _sort_key(task: Task, relations: Relations) -> tuple[bool, str, int, int, str, int, str]:
    order = relations.order
    position = order.index(task.role) if task.role in order else len(order)
    if task.node is not None:
        position = 0
    weight = relations.weights[task.role] if task.node is None else 0
    node = task.node or ""
    return (task.node is None, node, position, -weight, task.role, task.index, task.id)
