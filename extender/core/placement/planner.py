"""The planner: nodes for one job's whole gang on a node table, or the reason why not.

Members whose nodes are chosen already, by a migration's target or a slot plan, go there if all fit.
"""

from collections.abc import Iterable, Mapping, MutableMapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, Self
from weakref import WeakKeyDictionary

import numpy as np

from extender.core.cluster.commands import ReleaseGang
from extender.core.cluster.jobs import (
    PLANNED_STATES,
    UNPLANNED_STATES,
    Demand,
    Job,
    Member,
    State,
    in_order,
)
from extender.core.cluster.reasons import Reason
from extender.core.cluster.snapshot import Cache, Slot
from extender.core.cluster.topology_request import PodSet
from extender.core.nodes.node_table import NodeTable
from extender.core.parameters.combined import CoreParameters
from extender.core.placement import gang, shared_devices, topology
from extender.core.placement.allocation import GangPod, Placed
from extender.core.placement.domains import Domains
from extender.core.placement.placement import Placement, Unschedulable, joined
from extender.core.placement.release import continued, plan_id, release_gang
from extender.core.placement.single_pod import SINGLE_PODS, SinglePodPlacements
from shared.model import NodeName, PodShape, Uid

POD_SETS: Final = "pod-sets"
MIGRATION: Final = "migration"
SLOT_PLAN: Final = "slot-plan"
"""Rules of such placements, beside those of docs/policies/gang.md."""

MOST_TABLES: Final = 16
"""Tables whose refusals are kept: those that passes begin with, and those of the last pass."""


@dataclass(frozen=True)
class Plan:
    """Reservations for gated and direct members, and the command that releases them."""

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


class Refusals:
    """Refusals of jobs that request the same on the same nodes: one search for all of them.

    Thousands of waiting jobs are mostly of a few kinds, and most passes begin with the same free
    amounts as the one before. An entry goes with the job that it was made for: a table may stay as
    it is for days, while a tenant makes and deletes pods of which no two request the same.
    """

    def __init__(self) -> None:
        self._by_table: list[tuple[object, object, WeakKeyDictionary[Demand, Refusal]]] = []

    def of(self, table: object, params: object) -> MutableMapping[Demand, Refusal]:
        """Return the refusals on this very table by these parameters, to be read and added to."""
        for number, (held, of_params, refusals) in enumerate(self._by_table):
            if held is table and of_params is params:
                if number:  # the last used one is first
                    self._by_table.insert(0, self._by_table.pop(number))
                return refusals
        fresh: WeakKeyDictionary[Demand, Refusal] = WeakKeyDictionary()
        self._by_table.insert(0, (table, params, fresh))
        del self._by_table[MOST_TABLES:]
        return fresh


REFUSALS: Final[Slot[Refusals]] = Slot(Refusals)


def plan(
    job: Job,
    table: NodeTable,
    params: CoreParameters,
    value: float,
    *,
    was_whole: bool,
    targets: Mapping[Uid, NodeName] = MappingProxyType({}),
    rule: str = MIGRATION,
    single_pods: SinglePodPlacements | None = None,
) -> Plan | Refusal:
    """Place every gated and direct member; if that fails, as many as fit if no more are needed.

    Members that are bound or have a reservation count for the gang and draw the others to them.
    ``value`` is the job's V, recorded with the decision. A gang that never ``was_whole`` keeps the
    plan of its released members: after a restart that alone distinguishes it from one that lost a
    member. Members with ``targets`` go there by ``rule`` if all fit, otherwise wherever the rules
    put them. With ``single_pods`` jobs of one pod that are alike are placed faster, and no
    differently.
    """
    if obstacle := _obstacle(job, table, params):
        return obstacle
    waiting = in_order(job.having(*UNPLANNED_STATES))
    result: Placement | Unschedulable | None = None
    if targets:
        result = place_on_targets(job, waiting, targets, table, params, rule=rule)
    if single_pods is not None and result is None:
        result = _place_single_pod(job, waiting, table, params, single_pods)
    result = result or _place(job, waiting, table, params)
    count = len(waiting)
    if isinstance(result, Unschedulable):
        count, part = _most(job, waiting, table, params)
        if part is None:
            return _refusal(result)
        result = part
    members = waiting[:count]
    plan_of = (plan_id(result.order), count) if was_whole else continued(job, result, count)
    return Plan(
        result, release_gang(job, result, members, table=table, plan_of=plan_of, value=value)
    )


def plan_cached(
    cache: Cache,
    job: Job,
    table: NodeTable,
    params: CoreParameters,
    value: float,
    *,
    was_whole: bool,
    targets: Mapping[Uid, NodeName],
    rule: str = MIGRATION,
) -> Plan | Refusal:
    """Return what ``plan`` returns, without planning where the refusal is cached."""
    demand = None if targets else job.demand
    if demand is None:
        return plan(job, table, params, value, was_whole=was_whole, targets=targets, rule=rule)
    refusals = cache.of(REFUSALS).of(table, params)
    refusal = refusals.get(demand)
    if refusal is not None:
        return refusal
    result = plan(job, table, params, value, was_whole=was_whole, single_pods=cache.of(SINGLE_PODS))
    if isinstance(result, Refusal):
        refusals[demand] = result
    return result


def place_members(
    job: Job, members: Iterable[Member], table: NodeTable, params: CoreParameters
) -> Placement | Unschedulable:
    """Place these members of a job, all or none."""
    return _place(job, in_order(members), table, params)


def missing(job: Job) -> int:
    """Return how many members the gang lacks beside those placed or with a reservation."""
    size = job.min_available or 0
    return max(0, size - job.placed - len(job.having(*PLANNED_STATES)) - job.kept)


def unplanned_shapes(job: Job) -> tuple[PodShape, ...]:
    """Return the different shapes of the members to be placed; none for a single pod."""
    if job.problem or len(job.members) == 1:
        return ()
    return job.unplanned_shapes


def _obstacle(job: Job, table: NodeTable, params: CoreParameters) -> Refusal | None:
    if problem := job.problem or topology.problem(job, params.topology):
        return Refusal(Reason.MISCONFIGURED, problem.message)
    reason: Reason | None = None
    if job.min_available is None:
        reason = Reason.GANG_SIZE_UNKNOWN
    elif job.kept:  # the others come, and filter gives them their reservations
        reason = Reason.RELEASING
    elif len(job.having(*UNPLANNED_STATES)) < max(1, missing(job)):
        reason = Reason.ADMISSION_GATED if job.having(State.HELD) else Reason.GANG_INCOMPLETE
    if reason:
        return Refusal.of(reason)
    if absent := topology.absent(job, table, params.topology):
        reason = Reason.NO_SUCH_TOPOLOGY_LEVEL
        return Refusal(reason, f"{reason.message}: {absent}")
    return None


def _most(
    job: Job, waiting: list[Member], table: NodeTable, params: CoreParameters
) -> tuple[int, Placement | None]:
    """Return how many of the members fit, by bisection, if the gang needs fewer than all."""
    low, high, best = max(1, missing(job)), len(waiting) - 1, None
    fits = 0
    while low <= high:
        count = low if best is None else (low + high + 1) // 2
        result = _place(job, waiting[:count], table, params)
        if isinstance(result, Placement):
            fits, best, low = count, result, count + 1
        elif best is None:
            break
        else:
            high = count - 1
    return fits, best


def _place(
    job: Job, members: list[Member], table: NodeTable, params: CoreParameters
) -> Placement | Unschedulable:
    if problem := topology.problem(job, params.topology):
        return Unschedulable(Reason.MISCONFIGURED, problem.message)
    pods, one_node = _pods(members), any(member.together for member in members)
    limited, with_limit = shared_devices.limited(job, pods, table)
    result = _place_pods(job, limited, with_limit, params, one_node=one_node)
    if with_limit is table:
        return result
    if isinstance(result, Placement):
        return shared_devices.without_limit(result, table)
    without_limit = shared_devices.emptied(table)
    _, empty = shared_devices.limited(job, pods, without_limit)
    if isinstance(_place_pods(job, limited, empty, params, one_node=one_node), Placement):
        return result  # it waits for room alone
    unlimited = _place_pods(job, pods, without_limit, params, one_node=one_node)
    would_fit = isinstance(unlimited, Placement)
    return shared_devices.shared_only(pods, table) if would_fit else result


def _pods(members: Iterable[Member]) -> list[GangPod]:
    return [GangPod(m.pod.uid, m.pod.name, m.role, m.rank, m.shape) for m in members]


def _place_pods(
    job: Job, pods: Sequence[GangPod], table: NodeTable, params: CoreParameters, *, one_node: bool
) -> Placement | Unschedulable:
    """Place the pods, set by set: those that require a domain first, those that want none last."""
    placed = [
        Placed(m.role, m.rank, m.node)
        for m in job.having(State.BOUND, State.RESERVED)
        if m.node is not None and m.node in table.index
    ]
    parts = list[Placement]()
    sets = _by_set(job, pods)
    if one_node:  # then every set is in one domain
        sets = [(sets[0][0], pods)]
    for pod_set, own in sets:
        result = _place_set(job, pod_set, own, placed, table, params=params, one_node=one_node)
        if isinstance(result, Unschedulable):
            return result
        parts.append(result)
        table = result.node_table
        placed += [Placed(pod.role, pod.index, result.nodes[pod.uid]) for pod in own]
    return parts[0] if len(parts) == 1 else joined(parts, pods, POD_SETS)


def _by_set(job: Job, pods: Sequence[GangPod]) -> list[tuple[PodSet | None, Sequence[GangPod]]]:
    """Return the pods by what they request of the topology; one set of all if they want nothing."""
    sets = sorted(job.spec.topology, key=lambda one: not one.request.keys)
    found: list[tuple[PodSet | None, Sequence[GangPod]]] = [
        (one, own) for one in sets if (own := [pod for pod in pods if one.has(pod.role)])
    ]
    others = [pod for pod in pods if not any(one.has(pod.role) for one in sets)]
    return [*found, (None, others)] if others or not found else found


def _place_set(
    job: Job,
    pod_set: PodSet | None,
    pods: Sequence[GangPod],
    placed: Sequence[Placed],
    table: NodeTable,
    *,
    params: CoreParameters,
    one_node: bool,
) -> Placement | Unschedulable:
    key = job.spec.topology_key
    return gang.place(
        pods,
        placed,
        table,
        relations=job.spec.relations,
        topology_key=params.topology_key if key is None else key,
        topology=None if pod_set is None else topology.wanted(job, pod_set, table, params.topology),
        levels=params.topology,
        params=params.gang,
        weights=params.weights,
        pricing=params.pricing,
        accelerators=job.spec.accelerators,
        one_node=one_node,
    )


def _place_single_pod(
    job: Job,
    members: list[Member],
    table: NodeTable,
    params: CoreParameters,
    single_pods: SinglePodPlacements,
) -> Placement | None:
    """Place a job of one pod without relations, topology and accelerators; None for others."""
    spec = job.spec
    key = params.topology_key if spec.topology_key is None else spec.topology_key
    plain = not (key or spec.relations or spec.topology or spec.accelerators)
    if not plain or len(job.members) != 1 or len(members) != 1:
        return None
    (pod,) = _pods(members)
    if shared_devices.applies(job, [pod], table):
        return None
    return single_pods.place(
        pod,
        table,
        spare_count=params.gang.spares,
        weights=params.weights,
        pricing=params.pricing,
    )


def place_on_targets(
    job: Job,
    members: Sequence[Member],
    targets: Mapping[Uid, NodeName],
    table: NodeTable,
    params: CoreParameters,
    *,
    rule: str = MIGRATION,
) -> Placement | None:
    """Return the placement of all members on their targets; None if one has none, or does not fit.

    Spares are, as for other pods, nodes on which one more pod like it fits afterwards; by name,
    since they are used only if the target is lost in the few moments until the pod is bound. What
    the job requires of the topology holds for the targets, and for the spares.
    """
    shapes, after = shared_devices.limited_shapes(job, [m.shape for m in members], table)
    for member, shape in zip(members, shapes, strict=True):
        index = table.index.get(targets.get(member.pod.uid, NodeName("")))
        if index is None or not after.feasible(shape)[index]:
            return None
        if member.together and len(set(targets.values())) > 1:
            return None
        after = after.with_pods([(shape, index)])
    nodes = {member.pod.uid: targets[member.pod.uid] for member in members}
    if not topology.keeps(job, nodes, table, params.topology):
        return None
    result = Placement(
        nodes=nodes,
        order=tuple(member.pod.uid for member in members),
        spares={
            m.pod.uid: _spares(shape, nodes[m.pod.uid], after, params.gang.spares, held)
            for m, shape in zip(members, shapes, strict=True)
            for held in [topology.finest(job, m.role, table, params.topology)]
        },
        rule=rule,
        node_table=after,
        bucket_of={},
        terms={},
    )
    limited = len(after.resources) > len(table.resources)
    return shared_devices.without_limit(result, table) if limited else result


def _spares(
    shape: PodShape, target: NodeName, table: NodeTable, count: int, held_in: Domains | None
) -> tuple[NodeName, ...]:
    feasible = table.feasible(shape)
    if held_in is not None:
        feasible = feasible & held_in.within(held_in.of_node[table.index[target]])
    free = np.flatnonzero(feasible).tolist()
    names = (table.nodes[i].name for i in free)
    return tuple(name for name in names if name != target)[:count]


def _refusal(why: Unschedulable) -> Refusal:
    return Refusal(why.reason, f"{why.reason.message}: {why.detail}")
