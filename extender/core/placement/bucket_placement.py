"""The buckets rule: each bucket to the place that suits it best (docs/policies/gang.md)."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import takewhile

import numpy as np

from extender.core.cluster.relations import Relations
from extender.core.nodes.node_table import BoolVector, FloatVector, IntMatrix, IntVector, NodeTable
from extender.core.placement.allocation import (
    GangAllocation,
    GangPod,
    Group,
    Need,
    Placed,
    Preference,
    groups,
)
from extender.core.placement.buckets import (
    Bucket,
    Task,
    build,
    node_score,
    placing_order,
    request_score,
)
from extender.core.placement.domains import Places, place_name
from extender.core.placement.rules import fewest_nodes
from shared.model import NodeName, PodShape, Uid


def buckets_of(
    pods: Sequence[GangPod],
    members: Iterable[Placed],
    relations: Relations,
    table: NodeTable,
    topology_key: str,
) -> tuple[Bucket, ...]:
    """Return the job's buckets; members that are placed make the bucket of their place."""

    def place_of(node: NodeName) -> str:
        if node not in table.index or not topology_key:
            return node
        return place_name(
            node, table.nodes[table.index[node]].labels.get(topology_key), topology_key
        )

    scores = {shape: request_score(shape) for shape in {pod.shape for pod in pods}}
    waiting = [Task(p.uid, p.role, p.index, scores[p.shape]) for p in pods]
    placed = [
        Task(f"placed {i}", member.role, member.index, node=place_of(member.node))
        for i, member in enumerate(members)
    ]
    return build([*placed, *waiting], relations)


class BucketPlacement:
    """One try to place a gang by its buckets."""

    def __init__(
        self,
        allocation: GangAllocation,
        relations: Relations,
        buckets: Sequence[Bucket],
        places: Places,
        preference: Preference,
    ) -> None:
        self._allocation, self._places, self._preference = allocation, places, preference
        self._relations, self._buckets = relations, buckets
        self._largest = max((bucket.size for bucket in buckets), default=1)
        self._in_role: defaultdict[str, IntVector] = defaultdict(self._nowhere)

    def place(self, pods: Sequence[GangPod], by_shape: Mapping[PodShape, Need]) -> list[Group]:
        """Place all pods, bucket by bucket, those without a bucket last by the fewest-nodes rule.

        Returns:
            The groups that got no node; empty if all did.
        """
        for bucket in self._buckets:
            for task in bucket.bound:
                self._count(task, self._in_role[task.role])
        by_uid = {pod.uid: pod for pod in pods}
        for bucket in placing_order(self._buckets):
            members = [by_uid.pop(Uid(task.id)) for task in bucket.tasks]
            left = self._place_bucket(bucket, groups(members, by_shape))
            if left:
                return left
        others = groups(list(by_uid.values()), by_shape)
        return fewest_nodes(self._allocation, others, self._preference)

    def _place_bucket(self, bucket: Bucket, left: list[Group]) -> list[Group]:
        """Place as many pods as fit at the best place, then the rest at the next, and so on."""
        in_bucket = self._nowhere()
        for task in bucket.bound:
            self._count(task, in_bucket)
        while left:
            taken = self._allocation.fill(left)
            scores, offered = self._scores(left, taken, in_bucket)
            if not offered.any():
                break
            place = self._best(scores, offered, left)
            together, later = _together(left, self._relations)
            rest = self._place_at(place, together, taken)
            self._note(place, together, in_bucket, _share_of_best(scores[offered], scores[place]))
            left = [*rest, *later]
        return left

    def _scores(
        self, left: Sequence[Group], taken: IntMatrix, in_bucket: IntVector
    ) -> tuple[FloatVector, BoolVector]:
        """Return the score of every place for the next pod, and which places hold it."""
        by_place = self._places.sums(taken)
        together = np.minimum(by_place, [[len(group)] for group in left]).sum(axis=0)
        fitting = np.where(by_place[0] > 0, together, 0)
        anti_affinity = self._nowhere()
        for role in self._relations.repelled_by(left[0].role):
            anti_affinity -= self._in_role[role]
        scores = node_score(in_bucket, anti_affinity, fitting, largest_bucket=self._largest)
        return scores, fitting > 0

    def _best(self, scores: FloatVector, offered: BoolVector, left: Sequence[Group]) -> int:
        """Return the place with the highest score; then highest weighted sum; then first name."""
        usable = self._allocation.slots(left[0].need) > 0
        wish = self._places.best(self._preference.total(left), usable)
        candidates = np.flatnonzero(offered)
        keys = (-wish[candidates], -scores[candidates])
        return int(candidates[np.lexsort(keys)[0]])

    def _place_at(self, place: int, groups: Sequence[Group], taken: IntMatrix) -> list[Group]:
        """Place there as many of the pods as fit; return the rest."""
        if self._places.are_nodes:
            counts = np.minimum(taken[: len(groups)], [[len(group)] for group in groups])
            return self._allocation.place_on(groups, counts, np.array([place]))
        within = self._places.of_node == place
        return fewest_nodes(self._allocation, groups, self._preference, within=within)

    def _note(
        self, place: int, groups: Iterable[Group], in_bucket: IntVector, affinity: float
    ) -> None:
        """Count the pods that are placed there."""
        for group in groups:
            for pod in group.pods:
                if pod.uid in self._allocation.nodes:
                    self._allocation.affinity[pod.uid] = affinity
                    self._in_role[group.role][place] += 1
                    in_bucket[place] += 1

    def _count(self, task: Task, counts: IntVector) -> None:
        """Count a placed member, unless its node is gone."""
        place = self._places.index.get(task.node or "")
        if place is not None:
            counts[place] += 1

    def _nowhere(self) -> IntVector:
        return np.zeros(self._places.count, dtype=np.int64)


def _together(groups: list[Group], relations: Relations) -> tuple[list[Group], list[Group]]:
    """Split off the pods that one score holds for: placing them does not change it.

    It would for pods that are repelled by pods placed with them, so these go one by one.
    """
    head = groups[0]
    if relations.repelled_by(head.role) and len(head) > 1:
        return [head.first(1)], [head.after(1), *groups[1:]]
    calm = takewhile(lambda group: not relations.repelled_by(group.role), groups[1:])
    together = [head, *calm]
    return together, groups[len(together) :]


def _share_of_best(offered: FloatVector, taken: float) -> float:
    """Return a score as ``scoring`` shows it: 1 for the best one offered, 0 for no gain."""
    low, high = min(0.0, offered.min()), max(0.0, offered.max())
    return float((taken - low) / (high - low)) if high > low else 0.0
