"""What may be bound on the nodes that kube-scheduler's filters have passed for one pod.

They hold for another pod too if our masks model it and accept its node, it claims the same volumes,
and no anti-affinity of other pods may be about it (``Snapshot.repelled``). Every member of a gang
must pass, or none.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final

import numpy as np
from msgspec import Struct

from extender.core.cluster import job_views, pod_shape
from extender.core.cluster.jobs import Job, Member, State, in_order
from extender.core.cluster.snapshot import Snapshot
from extender.core.nodes.node_table import BoolMatrix, BoolVector, NodeTable
from extender.core.parameters.combined import CoreParameters
from extender.core.placement.single_pod import SINGLE_PODS
from extender.core.queue import slot_gate
from extender.core.records import migrations
from extender.core.scheduler import direct_gangs
from extender.core.scheduler.direct_gangs import Grant, QueueView
from shared.model import ALL_NAMESPACES, JobKey, NodeName, Pod, PodKey, PodShape, Uid

Place = tuple[PodKey, NodeName | None]
"""A pod, and the node that it goes to; None while only kube-scheduler knows."""

MOST_SINGLE_PODS: Final = 128
"""Single pods that are planned at a time."""

MOST_FULL: Final = 8
"""Shapes of single pods for which no offered node has room, until no more pods are looked at."""


class TakenPlaceholder(Struct, frozen=True):
    """A placeholder that becomes the reservation of a pod."""

    number: int
    uid: Uid


@dataclass(frozen=True)
class GangSeats:
    """Members of a gang that may be bound, on their planned nodes.

    Attributes:
        servers: Parameter servers; they are bound before the rest.
        after: Parameter servers in their cycle, which are bound before the rest too.
        rest: The others, in order.
    """

    servers: tuple[Member, ...]
    after: tuple[Uid, ...]
    rest: tuple[Member, ...]

    @property
    def in_order(self) -> bool:
        """Some are bound before others."""
        return bool(self.servers or self.after)


def offer_of(
    snapshot: Snapshot,
    params: CoreParameters,
    pod: Pod,
    names: frozenset[str],
    answered: Mapping[Uid, Place],
) -> "Offer | None":
    """Return what kube-scheduler offers with a call about a pod; None if it is for this pod alone.

    Args:
        snapshot: The cluster.
        params: Of the core.
        pod: As observed.
        names: The nodes that its filters have passed.
        answered: Pods that may be in their cycle, and where they go.
    """
    if pod.scheduler_name != params.scheduler_name or any(
        node is None for _, node in answered.values()
    ):
        return None
    if pod.gates and not _is_promised(snapshot, pod):  # the watch may not show its release yet
        return None
    if not pod_shape.has_plain_cycle(snapshot, pod, pod_shape.shape(snapshot, pod)):
        return None
    if not snapshot.repelled.isdisjoint({pod.namespace, ALL_NAMESPACES}):
        return None
    return Offer(snapshot, params, pod, names, answered)


def _is_promised(snapshot: Snapshot, pod: Pod) -> bool:
    """Return True if the pod has a reservation that its Binding writes."""
    reservation = snapshot.reservations.get(pod.uid)
    return reservation is not None and reservation.promised


@dataclass(frozen=True)
class Offer:
    """Nodes that kube-scheduler's filters have passed for a pod, and what may be bound on them.

    Attributes:
        snapshot: The cluster.
        parameters: Of the core.
        pod: The pod that it asks about.
        names: The nodes.
        answered: Pods that may be in their cycle, and where they go.
    """

    snapshot: Snapshot
    parameters: CoreParameters
    pod: Pod
    names: frozenset[str]
    answered: Mapping[Uid, Place]

    @cached_property
    def table(self) -> NodeTable:
        """The nodes, with room taken by pods in their cycle that have no reservation."""
        places = list(self._unreserved())
        table = self.snapshot.node_table
        return migrations.with_reservations(table, places) if places else table

    def _unreserved(self) -> Iterator[tuple[NodeName, PodShape]]:
        for uid, (key, node) in self.answered.items():
            pod = self.snapshot.pods.get(key)
            if node is not None and pod is not None and uid not in self.snapshot.reservations:
                yield node, pod_shape.shape(self.snapshot, pod)

    @cached_property
    def offered(self) -> BoolVector:
        """The offered nodes as a mask over the node table."""
        index = self.table.index
        return np.fromiter(map(self.names.__contains__, index), np.bool_, len(index))

    @cached_property
    def overcommitted(self) -> BoolMatrix:
        """Nodes x resources: more is taken than the node has."""
        return self.table.free < 0

    @property
    def waiting(self) -> Iterator[JobKey]:
        """The jobs of its namespace and priority that may come next, the oldest first."""
        snapshot, group = self.snapshot, (self.pod.namespace, self.pod.priority)
        for block in snapshot.waiting_by_age.get(group, ()):
            first = ((key, snapshot.jobs[key][0]) for _, key in block)
            yield from (k for k, p in first if not p.gates or _is_promised(snapshot, p))

    def seats(self, job: Job) -> GangSeats | None:
        """Return the members of a gang that may be bound now.

        None if the gang is not whole, or one of its nodes was not passed by kube-scheduler.
        """
        due = in_order(job.having(State.RESERVED))
        size = job.min_available
        if job.problem or job.in_tree or size is None or job.having(State.LOOSE):
            return None
        if not due or job.placed + len(due) < size:
            return None
        begun = job.placed > 0 or any(m.pod.uid == self.pod.uid for m in due)
        if not begun and all(m.awaits_burst for m in due):  # none was released: not its turn yet
            return None
        free = [m for m in due if m.pod.uid not in self.answered]
        if not free or not all(map(self._passes, free)):
            return None
        free.sort(key=lambda m: m.awaits_burst)  # kube-scheduler may ask about the others
        servers = [m for m in free if m.role == "ps"]
        rest = [m for m in free if m.role != "ps"]
        answered = [m.pod.uid for m in due if m.role == "ps" and m.pod.uid in self.answered]
        if self.pod.uid in answered:  # it is bound only after this answer, and the others after it
            rest, answered = [], []
        return GangSeats(tuple(servers), tuple(answered), tuple(rest)) if servers or rest else None

    def _passes(self, member: Member) -> bool:
        """Return True if kube-scheduler would let this member on its planned node."""
        pod, node = member.pod, member.node
        row = None if node is None else self.table.index.get(node)
        if row is None or node not in self.names or pod.claims != self.pod.claims:
            return False
        if pod.deleting or (pod.gates and not member.awaits_burst):
            return False
        if not pod_shape.has_plain_cycle(self.snapshot, pod, member.shape):
            return False
        lacking = self.overcommitted[row]
        if lacking.any() and (lacking & (self.table.demand(member.shape) > 0)).any():
            return False
        return bool(self.table.classes.mask(member.shape)[row])

    def placeholders_taken(self, job: Job) -> tuple[TakenPlaceholder, ...]:
        """Return which member takes which placeholder of the gang; () unless all are taken.

        A placeholder is for a pod of its shape and role, the first by number for the first by rank.
        """
        kept = self.snapshot.placeholders.get(job.key)
        placeholders = () if kept is None else kept.placeholders
        members = [m for m in in_order(job.having(State.DIRECT)) if not m.unreserved]
        if not placeholders or job.problem or len(members) < len(placeholders):
            return ()
        free: dict[tuple[PodShape, str], list[Member]] = {}
        for member in reversed(members):
            if member.pod.uid not in self.answered:
                free.setdefault((member.shape, member.role), []).append(member)
        taken: list[TakenPlaceholder] = []
        for place in placeholders:
            alike = free.get((place.shape, place.role))
            if not alike or not self._passes(replace(alike[-1], node=place.node)):
                return ()
            taken.append(TakenPlaceholder(place.number, alike.pop().pod.uid))
        return tuple(taken)

    def may_be_planned(self, key: JobKey) -> bool:
        """Return True if a gang without reservations is all there, and no member in its cycle."""
        pods = self.snapshot.jobs[key]
        if key in self.snapshot.placeholders or any(pod.uid in self.answered for pod in pods):
            return False
        if not direct_gangs.needs_reservation(self.snapshot, pods[0]):
            return False
        job = job_views.view(self.snapshot, key)
        size = job.min_available
        return size is not None and job.placed + len(job.having(State.DIRECT)) >= size

    def grant(self, key: JobKey, view: QueueView) -> Grant | None:
        """Plan a gang that has no reservations; None unless all its members can be bound now."""
        pod = self.snapshot.jobs[key][0]
        snapshot = replace(self.snapshot, node_table=self.table)
        grant = direct_gangs.grant(snapshot, pod, tuple(self.names), view, self.parameters)
        return grant if grant is not None and self._is_whole(key, grant) else None

    def _is_whole(self, key: JobKey, grant: Grant) -> bool:
        """Return True if every member is there, and its node was passed for such a pod."""
        kept = grant.placeholders
        if kept is None or kept.placeholders:
            return False
        nodes = {given.uid: given.node for given in grant.given}
        members = [m for m in job_views.view(self.snapshot, key).members if m.pod.uid in nodes]
        return all(self._passes(replace(m, node=nodes[m.pod.uid])) for m in members)

    def single_pods(self) -> tuple[tuple[Pod, NodeName], ...]:
        """Return the nodes of the single pods that have waited longest."""
        table = slot_gate.others(self.table, self.snapshot, self.parameters)
        ranking = self.snapshot.cache.of(SINGLE_PODS)
        seats: list[tuple[Pod, NodeName]] = []
        full: set[PodShape] = set()
        for pod in (self.snapshot.jobs[key][0] for key in self.waiting):
            if len(seats) == MOST_SINGLE_PODS or len(full) == MOST_FULL:
                break
            if pod.shape in full or not self.is_free_single(pod):
                continue
            taken = ranking.take(
                pod.shape,
                table,
                weights=self.parameters.weights,
                pricing=self.parameters.pricing,
                within=self.offered,
            )
            if taken is None:
                full.add(pod.shape)
                continue
            node, table = taken
            seats.append((pod, node))
        return tuple(seats)

    def is_free_single(self, pod: Pod) -> bool:
        """Return True if the pod is a job alone that may be bound on the offered nodes."""
        if pod.uid in self.answered or pod.uid in self.snapshot.bound:
            return False
        if pod.deleting or pod.finished or pod.claims != self.pod.claims:
            return False
        plain = not pod.gates and pod_shape.has_plain_cycle(
            self.snapshot, pod, pod_shape.shape(self.snapshot, pod)
        )
        return plain and direct_gangs.is_single(self.snapshot, pod)
