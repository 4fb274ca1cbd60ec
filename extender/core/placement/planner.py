"""The planner: reservations for one job's whole gang on a node table, or the reason why not.

Members whose nodes are chosen already, by a migration's target or a slot plan, go there if all fit.
"""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, Self

import msgspec
import numpy as np

from extender.core.cluster.commands import ReleaseGang, ReleasePod
from extender.core.cluster.jobs import (
    PLANNED_STATES,
    UNPLANNED_STATES,
    Job,
    Member,
    State,
    in_order,
)
from extender.core.cluster.reasons import Reason
from extender.core.nodes.node_table import BoolVector, NodeTable
from extender.core.parameters.combined import CoreParameters
from extender.core.placement import gang, topology
from extender.core.placement.allocation import GangPod, Placed
from extender.core.placement.domains import Domain
from extender.core.placement.pin import domain_terms, pinned_terms
from extender.core.placement.placement import Placement, Unschedulable
from extender.core.placement.single_pod import SinglePodPlacements
from shared.model import Node, NodeName, NodeSelectorTerm, Pod, PodShape, Uid

MIGRATION: Final = "migration"


SLOT_PLAN: Final = "slot-plan"
"""Rules of such placements, beside those of docs/policies/gang.md."""


def place(
    job: Job,
    members: Sequence[Member],
    targets: Mapping[Uid, NodeName],
    room: NodeTable,
    params: CoreParameters,
    rule: str = MIGRATION,
) -> Placement | None:
    """Return the placement of all members on their targets; None if one has none, or does not fit.

    Spares are, as for other pods, nodes on which one more pod like it fits afterwards; by name,
    since they are used only if the target is lost in the few moments until the pod is bound. With a
    required domain of the topology all are in the one of the members that are placed.
    """
    after, domains = room, topology.required(job, room, params.topology)
    home = None if domains is None else topology.home(job, (), room, domains)
    for member in members:
        index = room.index.get(targets.get(member.pod.uid, NodeName("")))
        if index is None or not after.feasible(member.shape)[index]:
            return None
        if domains is not None and home is not None:
            if not home[index]:
                return None
            home = home & domains.within(domains.of_node[index])
        after = after.with_pods([(member.shape, index)])
    nodes = {member.pod.uid: targets[member.pod.uid] for member in members}
    return Placement(
        nodes=nodes,
        order=tuple(member.pod.uid for member in members),
        spares={
            m.pod.uid: _spares(m.shape, nodes[m.pod.uid], after, params.gang.spares, home)
            for m in members
        },
        rule=rule,
        room=after,
        bucket_of={},
        terms={},
    )


def _spares(
    shape: PodShape, target: NodeName, room: NodeTable, count: int, home: BoolVector | None
) -> tuple[NodeName, ...]:
    feasible = room.feasible(shape)
    free = np.flatnonzero(feasible if home is None else feasible & home).tolist()
    names = (room.nodes[i].name for i in free)
    return tuple(name for name in names if name != target)[:count]


@dataclass(frozen=True)
class Plan:
    """Seats for gated and direct members, and the room after they took them."""

    placement: Placement
    release: ReleaseGang


@dataclass(frozen=True)
class Refusal:
    """Why a job is not placed now."""

    reason: Reason
    message: str

    @classmethod
    def of(cls, reason: Reason) -> Self:
        """Return a refusal with the constant text of its reason."""
        return cls(reason, reason.message)


def plan(
    job: Job,
    room: NodeTable,
    params: CoreParameters,
    value: float,
    *,
    was_whole: bool,
    targets: Mapping[Uid, NodeName] = MappingProxyType({}),
    rule: str = MIGRATION,
    lone: SinglePodPlacements | None = None,
) -> Plan | Refusal:
    """Seat every gated and direct member; if that fails, as many as fit if no more are needed.

    Members that are bound or seated already count for the gang and draw the others to them.
    ``value`` is the job's V, recorded with the decision. A gang that never ``was_whole`` keeps the
    plan of its released members: after a restart that alone tells it from one that lost a member.
    Members with ``targets`` go there by ``rule`` if all fit, otherwise wherever the rules say. With
    ``lone`` single pods that are alike are placed faster, and no differently.
    """
    if hindrance := _hindrance(job, room, params):
        return hindrance
    waiting = in_order(job.having(*UNPLANNED_STATES))
    result: Placement | Unschedulable | None = None
    if targets:
        result = place(job, waiting, targets, room, params, rule)
    if lone is not None and result is None:
        result = _alone(job, waiting, room, params, lone)
    result = result or _place(job, waiting, room, params)
    count = len(waiting)
    if isinstance(result, Unschedulable):
        count, part = _most(job, waiting, room, params)
        if part is None:
            return _refusal(result)
        result = part
    members = waiting[:count]
    plan_of = (plan_id(result.order), count) if was_whole else continued(job, result, count)
    return Plan(result, _release(job, result, members, room, plan_of, value))


def _most(
    job: Job, waiting: list[Member], room: NodeTable, params: CoreParameters
) -> tuple[int, Placement | None]:
    """Return how many of the members fit, by bisection, if the gang needs fewer than all."""
    low, high, best = max(1, missing(job)), len(waiting) - 1, None
    fits = 0
    while low <= high:
        count = low if best is None else (low + high + 1) // 2
        result = _place(job, waiting[:count], room, params)
        if isinstance(result, Placement):
            fits, best, low = count, result, count + 1
        elif best is None:
            break
        else:
            high = count - 1
    return fits, best


def missing(job: Job) -> int:
    """How many members the gang lacks beside those that are placed or have a seat."""
    size = job.min_available or 0
    return max(0, size - job.placed - len(job.having(*PLANNED_STATES)) - job.kept)


def classes(job: Job) -> tuple[PodShape, ...]:
    """Return the different shapes of the members that are to be placed; none for one alone."""
    if job.problem or len(job.members) == 1:
        return ()
    return job.unplanned_shapes


def seats(
    job: Job, members: Iterable[Member], room: NodeTable, params: CoreParameters
) -> Placement | Unschedulable:
    """Return seats for these members of a job, all or none."""
    return _place(job, in_order(members), room, params)


def _hindrance(job: Job, room: NodeTable, params: CoreParameters) -> Refusal | None:
    if problem := job.problem or topology.problem(job, params.topology):
        return Refusal(Reason.MISCONFIGURED, problem.message)
    reason: Reason | None = None
    if job.min_available is None:
        reason = Reason.GANG_SIZE_UNKNOWN
    elif job.kept:  # the others come, and filter gives them their seats
        reason = Reason.RELEASING
    elif len(job.having(*UNPLANNED_STATES)) < max(1, missing(job)):
        reason = Reason.ADMISSION_GATED if job.having(State.HELD) else Reason.GANG_INCOMPLETE
    if reason:
        return Refusal.of(reason)
    if absent := topology.absent(job, room, params.topology):
        reason = Reason.NO_SUCH_TOPOLOGY_LEVEL
        return Refusal(reason, f"{reason.message}: {absent}")
    return None


def _place(
    job: Job, members: list[Member], room: NodeTable, params: CoreParameters
) -> Placement | Unschedulable:
    if problem := topology.problem(job, params.topology):
        return Unschedulable(Reason.MISCONFIGURED, problem.message)
    pods = [GangPod(m.pod.uid, m.pod.name, m.role, m.rank, m.shape) for m in members]
    placed = [
        Placed(m.role, m.rank, m.node)
        for m in job.having(State.BOUND, State.SEATED)
        if m.node is not None and m.node in room.index
    ]
    return gang.place(
        pods,
        placed,
        room,
        relations=job.spec.relations,
        topology_key=params.topology_key
        if job.spec.topology_key is None
        else job.spec.topology_key,
        topology=topology.wanted(job, room, params.topology),
        levels=params.topology,
        params=params.gang,
        weights=params.weights,
        pricing=params.pricing,
    )


def _alone(
    job: Job,
    members: list[Member],
    room: NodeTable,
    params: CoreParameters,
    lone: SinglePodPlacements,
) -> Placement | None:
    """Return what ``_place`` does for a job of one pod without requests; None for all others."""
    spec = job.spec
    key = params.topology_key if spec.topology_key is None else spec.topology_key
    plain = not key and spec.relations is None and spec.topology is None
    if not plain or len(job.members) != 1 or len(members) != 1:
        return None
    (member,) = members
    return lone.place(
        GangPod(member.pod.uid, member.pod.name, member.role, member.rank, member.shape),
        room,
        spare_count=params.gang.spares,
        weights=params.weights,
        pricing=params.pricing,
    )


def _refusal(why: Unschedulable) -> Refusal:
    return Refusal(why.reason, f"{why.reason.message}: {why.detail}")


def continued(job: Job, placement: Placement, count: int) -> tuple[str, int]:
    """Return the name of the plan that ``count`` more members join, and how many it then binds."""
    unbound = job.having(*PLANNED_STATES)
    released = (*unbound, *job.having(State.BOUND))
    names = sorted({m.plan for m in released} - {""})
    return (names[0] if names else plan_id(placement.order)), len(unbound) + count


def _release(
    job: Job,
    placement: Placement,
    members: list[Member],
    room: NodeTable,
    plan_of: tuple[str, int],
    value: float,
) -> ReleaseGang:
    of = {m.pod.uid: m for m in members}
    request = job.spec.topology
    bound_to = placement.domain if request is not None and request.required else None
    pods = tuple(
        _release_pod(of[uid], placement, room, plan_of, value, bound_to) for uid in placement.order
    )
    return ReleaseGang(job.key, pods, first=sum(m.role == "ps" for m in members))


def _release_pod(
    member: Member,
    placement: Placement,
    room: NodeTable,
    plan_of: tuple[str, int],
    value: float,
    bound_to: Domain | None,
) -> ReleasePod:
    pod, modelled = member.pod, not member.shape.unmodelled
    gated = member.state is not State.DIRECT
    pinned = gated and (modelled or bound_to is not None)
    names = (placement.nodes[pod.uid], *placement.spares.get(pod.uid, ()))
    nodes = [room.nodes[room.index[name]] for name in names]
    return ReleasePod(
        pod=pod.key,
        uid=pod.uid,
        # a list of terms is rewritten as a whole: it must be as we read it
        resource_version=pod.resource_version if pinned and pod.shape.affinity is not None else "",
        node=names[0] if modelled else None,
        plan=plan_of[0],
        plan_size=plan_of[1],
        gates=(),
        terms=_terms(pod, nodes if modelled else (), bound_to) if pinned else None,
        decision=decision(pod, placement, value, member.shape.unmodelled),
        direct=member.direct,
    )


def _terms(
    pod: Pod, nodes: Sequence[Node], bound_to: Domain | None
) -> tuple[NodeSelectorTerm, ...]:
    """Return the pin to the nodes; where no node is chosen, to the domain that must hold all."""
    if nodes or bound_to is None:
        return pinned_terms(pod.shape, nodes)
    return domain_terms(pod.shape, bound_to)


def decision(
    pod: Pod, placement: Placement, value: float | None, unmodelled: Sequence[str] = ()
) -> str:
    """Return one line of JSON: rule, V (None for a pod that was in no queue), bucket and terms.

    Of a pod that is released without a pin it also names what is not modelled.
    """
    terms = {name: round(t, 4) for name, t in placement.terms.get(pod.uid, {}).items()}
    bucket = placement.bucket_of.get(pod.uid)
    v = None if value is None else round(value, 4)
    text: dict[str, object] = {"rule": placement.rule, "v": v, "bucket": bucket, "terms": terms}
    if placement.domain is not None:
        text["domain"] = placement.domain.name
    if unmodelled:
        text["unmodelled"] = list(unmodelled)
    return msgspec.json.encode(text).decode()


def plan_id(uids: tuple[Uid, ...]) -> str:
    """Return a name for the plan that releases these pods; the same pods give the same name."""
    return hashlib.sha256("\n".join(sorted(uids)).encode()).hexdigest()[:12]
