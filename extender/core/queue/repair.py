"""Repair of released pods: planned nodes lost, bursts broken, reservations of half a gang.

The rules, for every job with reservations or a broken burst:

1. A reservation whose node is gone, refuses the pod, is overcommitted by pods that are not ours, or
   was not offered by kube-scheduler, moves to another of the pod's pinned nodes if one has room;
   that of a direct pod, which has no pin, to any node. A pod that waits for a burst is planned
   again.
2. If none has for ``pin_lost_seconds``, the pod is deleted so that its owner makes a new one.
3. A gang that is neither unbound nor whole, has had no further member bound for longer than
   ``bind_burst_seconds``, and whose missing members cannot be placed, is dissolved: all members
   that have not finished are deleted, unless the gang was whole before (then it lost a member, and
   the others go on).
4. A gang that stays so for ``pin_lost_seconds`` more is dissolved even if reservations exist.

Where a pod would be deleted that is direct and not bound, only its reservation is taken back. A
released pod whose reservation is missing, or is not ours, waits in the queue for a new one on its
pinned nodes; rule 2 holds for it too.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np

from extender.core.cluster import pod_shape
from extender.core.cluster.commands import ClearReservation, Command, DeletePod, RewriteReservation
from extender.core.cluster.jobs import Job, Member, State
from extender.core.cluster.snapshot import Kept, Slot, Snapshot
from extender.core.nodes import feasibility
from extender.core.nodes.node_table import NodeTable, conflicts
from extender.core.queue.state import QueueState
from shared import labels
from shared.model import NodeName, Pod, PodShape, Uid

PARTIAL_STATES = (State.BOUND, State.RESERVED, State.LOOSE)


@dataclass(frozen=True)
class Move:
    """A reservation that must leave its node; ``to`` is None if no pinned node has room."""

    member: Member
    to: NodeName | None


_ACCEPTED: Final[Slot[Kept[Uid, bool]]] = Slot(Kept)
"""Whether the reserved node of a pod accepts it, by uid."""


def lost_reservations(snapshot: Snapshot, state: QueueState) -> frozenset[Uid]:
    """Return the pods whose reservation cannot be used.

    On an overcommitted node the reservations are counted again in order of creation and name, on
    top of what is bound; those that do not fit any more are lost.
    """
    reserved = _reserved(snapshot)
    snapshot.cache.of(_ACCEPTED).trim(snapshot.reservations.keys())
    by_node: dict[NodeName, list[Pod]] = {}
    lost: set[Uid] = set()
    for pod, node in reserved:
        if _refuses(snapshot, pod, node) or node in state.refused.get(pod.uid, ()):
            lost.add(pod.uid)
        else:
            by_node.setdefault(node, []).append(pod)
    crowded = set(np.flatnonzero((snapshot.node_table.free < 0).any(axis=1)).tolist())
    for node, pods in by_node.items():
        if snapshot.node_table.index[node] in crowded:
            lost.update(_squeezed_out(snapshot, node, pods, reserved))
    return frozenset(lost)


def moves(
    job: Job, lost: frozenset[Uid], table: NodeTable, state: QueueState
) -> tuple[list[Move], NodeTable]:
    """Return where the lost reservations of a job go, and the nodes after that."""
    targets: list[Move] = []
    for member in job.having(State.RESERVED):
        if member.pod.uid not in lost:
            continue
        table = without(table, member)
        target = _other_node(member, table, state.refused.get(member.pod.uid, frozenset()))
        if target is not None:
            table = table.with_pods([(member.shape, target)])
        targets.append(Move(member, None if target is None else table.nodes[target].name))
    return targets, table


def without_a_node(job: Job, table: NodeTable, state: QueueState) -> tuple[Member, ...]:
    """Return the released members whose reservation is missing and that fit on no pinned node now.

    The others of them are planned again with their gang. One of which only the node was removed
    goes on without a reservation, and is among them when none of its nodes takes it any more.
    """
    members = [m for m in job.having(State.LOOSE) if _has_lost_its_pin(m, table)]
    for member in job.having(State.DIRECT):
        if not member.unreserved:
            continue
        target = _other_node(member, table, state.refused.get(member.pod.uid, frozenset()))
        if target is None:
            members.append(member)
        else:
            table = table.with_pods([(member.shape, target)])
    return tuple(members)


def rewrite(member: Member, node: NodeName, snapshot: Snapshot) -> RewriteReservation:
    """Return the command that names another planned node."""
    reservation, pod = snapshot.reservations[member.pod.uid], member.pod
    return RewriteReservation(
        pod=pod.key,
        uid=pod.uid,
        resource_version=pod.resource_version,
        node=node,
        plan=reservation.plan,
        plan_size=reservation.plan_size,
        direct=member.direct,
    )


def dissolve(job: Job, cause: str) -> tuple[Command, ...]:
    """Return the commands that give back every reservation and every bound member of a job."""
    holding = job.having(*PARTIAL_STATES)
    unreserved = tuple(m for m in job.having(State.DIRECT) if m.unreserved)
    return tuple(give_back(m, cause) for m in (*holding, *unreserved))


def give_back(member: Member, cause: str) -> DeletePod | ClearReservation:
    """Return the command after which the member has no place any more, and may get a new one."""
    pod = member.pod
    if member.direct and member.state is not State.BOUND:
        annotated = not labels.RESERVATION.isdisjoint(pod.annotations)
        return ClearReservation(pod.key, pod.uid, pod.resource_version, cause, annotated)
    return DeletePod(pod.key, pod.uid, cause, bare=pod.controller is None)


def is_partial(job: Job) -> bool:
    """Return True if a gang has reservations or bound members, but too few bound ones."""
    if job.in_tree:
        return False
    return bool(job.having(*PARTIAL_STATES)) and job.placed < (job.min_available or 0)


def is_whole(job: Job, snapshot: Snapshot) -> bool:
    """Return True if the gang is whole, or was while the store watched and has members left.

    As many members as it needs were placed at one time; no pass need have run at that moment.
    """
    size = job.min_available or 1
    return job.placed >= size or (job.placed > 0 and snapshot.most_placed.get(job.key, 0) >= size)


def was_whole(job: Job, state: QueueState) -> bool:
    """Return True if a gang that has members left was whole before the store began to watch.

    After a restart it is inferred: a burst is broken only where released members of the very plan
    of bound members are still unbound, or ones without a plan that had been there when it ran. A
    member that the kubelet refused (``OutOf…``) was never placed, unless another took its place.
    """
    if job.placed == 0 or _refused_by_kubelet(job):
        return False
    if job.key in state.known:
        return job.key in state.complete
    if _left_behind(job):
        return False
    bound = {m.plan for m in job.having(State.BOUND, State.SUCCEEDED)}
    waiting = {m.plan or m.promised for m in job.having(State.RESERVED, State.LOOSE)}
    return bool(bound) and not bound & waiting


def _left_behind(job: Job) -> bool:
    """Return True if a waiting member is older than the last Binding of a plan that lacks some.

    Only the Binding records a promised reservation: a member without one proves nothing. But a plan
    is bound when all its members are there, and a replacement comes later.
    """
    waiting = [m.pod.created_at for m in job.having(State.DIRECT, State.GATED)]
    bound = [m for m in job.having(State.BOUND) if m.plan and (m.direct or _was_promised(m))]
    if not waiting or not bound:
        return False
    members = Counter(m.plan for m in job.members if m.node is not None)
    return any(members[m.plan] < m.plan_size and min(waiting) <= m.pod.scheduled_at for m in bound)


def _was_promised(member: Member) -> bool:
    """Return True if the Binding wrote the plan of a pod that had our gate: it has no pin."""
    return labels.NODE in member.pod.annotations and not pod_shape.has_pin(member.pod.shape)


def _refused_by_kubelet(job: Job) -> bool:
    """Return True if the kubelet refused more members than were made again and are bound."""
    bound = job.having(State.BOUND)
    plans = {m.plan for m in bound}
    refused = [
        m.pod.scheduled_at or float("inf")
        for m in job.having(State.FAILED)
        if m.pod.phase_reason.startswith("OutOf") and m.plan in plans
    ]
    later = [m for m in bound if refused and m.pod.created_at >= min(refused)]
    return len(refused) > len(later)


def _reserved(snapshot: Snapshot) -> list[tuple[Pod, NodeName]]:
    reservations: list[tuple[Pod, NodeName]] = []
    for key in snapshot.waiting:
        for pod in snapshot.jobs[key]:
            reservation = snapshot.reservations.get(pod.uid)
            if reservation and not (pod.deleting or pod.finished or pod.uid in snapshot.bound):
                reservations.append((pod, reservation.node))
    return reservations


def _refuses(snapshot: Snapshot, pod: Pod, node: NodeName) -> bool:
    index = snapshot.node_table.index.get(node)
    if index is None:
        return True
    source = (pod.shape, snapshot.node_table.nodes[index])
    kept = snapshot.cache.of(_ACCEPTED)
    accepted = kept.get(pod.uid, source)
    if accepted is None:
        accepted = feasibility.accepts(*source)
        kept.put(pod.uid, source, accepted)
    return not accepted


def _squeezed_out(
    snapshot: Snapshot,
    node: NodeName,
    pods: Iterable[Pod],
    reserved: Iterable[tuple[Pod, NodeName]],
) -> set[Uid]:
    table, index = snapshot.node_table, snapshot.node_table.index[node]
    here = [pod for pod, planned in reserved if planned == node]
    shapes: Mapping[Uid, PodShape] = {p.uid: pod_shape.with_devices(snapshot, p) for p in here}
    used = table.used[index] - sum(table.demand(shape) for shape in shapes.values())
    lost = set()
    for pod in sorted(pods, key=lambda p: (p.created_at, p.namespace, p.name)):
        demand = table.demand(shapes[pod.uid])
        if np.all((demand == 0) | (used + demand <= table.allocatable[index])):
            used = used + demand
        else:
            lost.add(pod.uid)
    return lost


def without(table: NodeTable, member: Member) -> NodeTable:
    """Return the nodes without the reservation of a member."""
    index = table.index.get(member.node) if member.node else None
    if index is None:
        return table
    used, ports = table.used.copy(), list(table.ports)
    used[index] -= table.demand(member.shape)
    ports[index] = frozenset(p for p in ports[index] if not conflicts([p], member.shape.host_ports))
    return table.replaced(used=used, ports=tuple(ports))


def _has_lost_its_pin(member: Member, table: NodeTable) -> bool:
    shape = member.shape
    if shape.unmodelled or member.direct or not pod_shape.has_pin(shape):
        return False
    return not any(feasibility.accepts(shape, node) for node in table.nodes)


def _other_node(member: Member, table: NodeTable, refused: frozenset[NodeName]) -> int | None:
    for index in np.flatnonzero(table.feasible(member.shape)).tolist():
        name = table.nodes[index].name
        if name not in refused and name != member.node:
            return int(index)
    return None
