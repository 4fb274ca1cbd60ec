"""Seats for one job: the whole gang on one room, or the reason why not."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

import msgspec

from extender.engine.commands import ReleaseGang, ReleasePod
from extender.engine.jobs import Job, Member, State
from extender.engine.migration import aiming
from extender.engine.parameters import EngineParameters
from extender.engine.pinning import pinned_terms
from extender.engine.reasons import MESSAGES, Reason
from extender.policy import gang
from extender.policy.gang import GangPod, Misfit, Placed, Placement
from extender.policy.room import Room
from shared.model import NodeName, Pod, Uid

PLANNED_STATES = (State.SEATED, State.LOOSE)


@dataclass(frozen=True)
class Plan:
    """Seats for gated members, and the room after they took them."""

    placement: Placement
    release: ReleaseGang


@dataclass(frozen=True)
class Refusal:
    """Why a job is not placed now."""

    reason: Reason
    message: str


def plan(
    job: Job,
    room: Room,
    params: EngineParameters,
    value: float,
    *,
    was_whole: bool,
    targets: Mapping[Uid, NodeName] = MappingProxyType({}),
) -> Plan | Refusal:
    """Seat every gated member; if that fails, as many as fit, if the gang needs no more.

    Members that are bound or seated already count for the gang and draw the others to them.
    ``value`` is the job's V, recorded with the decision. A gang that never ``was_whole`` keeps the
    plan of its released members: after a restart that alone tells it from one that lost a member.
    Members with ``targets`` go there if all of them fit, otherwise wherever the rules say.
    """
    if hindrance := _hindrance(job):
        return hindrance
    gated = sorted(job.having(State.GATED), key=lambda m: (m.role != "ps", m.rank, m.pod.name))
    result: Placement | Misfit | None = None
    if targets:
        result = aiming.place(gated, targets, room, params)
    result = result or _place(job, gated, room, params)
    count = len(gated)
    if isinstance(result, Misfit):
        count, part = _most(job, gated, room, params)
        if part is None:
            return _refusal(result)
        result = part
    members = gated[:count]
    plan_of = (plan_id(result.order), count) if was_whole else _continued(job, result, count)
    return Plan(result, _release(job, result, members, room, plan_of, value))


def _most(
    job: Job, gated: list[Member], room: Room, params: EngineParameters
) -> tuple[int, Placement | None]:
    """Return how many of the gated members fit, by bisection, if the gang needs fewer than all."""
    low, high, best = max(1, missing(job)), len(gated) - 1, None
    fits = 0
    while low <= high:
        count = low if best is None else (low + high + 1) // 2
        result = _place(job, gated[:count], room, params)
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
    return max(0, size - job.placed - len(job.having(*PLANNED_STATES)))


def _hindrance(job: Job) -> Refusal | None:
    if job.problem:
        return Refusal(Reason.MISCONFIGURED, job.problem)
    reason: Reason | None = None
    if job.min_available is None:
        reason = Reason.GANG_SIZE_UNKNOWN
    elif len(job.having(State.GATED)) < max(1, missing(job)):
        reason = Reason.ADMISSION_GATED if job.having(State.HELD) else Reason.GANG_INCOMPLETE
        if job.having(State.DIRECT):
            reason = Reason.GATE_REQUIRED
    return Refusal(reason, MESSAGES[reason]) if reason else None


def _place(
    job: Job, members: list[Member], room: Room, params: EngineParameters
) -> Placement | Misfit:
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
        relations=job.wishes.relations,
        topology_key=params.topology_key
        if job.wishes.topology_key is None
        else job.wishes.topology_key,
        params=params.gang,
        weights=params.weights,
        pricing=params.pricing,
    )


def _refusal(misfit: Misfit) -> Refusal:
    return Refusal(Reason(misfit.reason), f"{misfit.message}: {misfit.detail}")


def _continued(job: Job, placement: Placement, count: int) -> tuple[str, int]:
    """Return the name of the plan that ``count`` more members join, and how many it then binds."""
    unbound = job.having(*PLANNED_STATES)
    released = (*unbound, *job.having(State.BOUND))
    names = sorted({m.plan for m in released} - {""})
    return (names[0] if names else plan_id(placement.order)), len(unbound) + count


def _release(
    job: Job,
    placement: Placement,
    members: list[Member],
    room: Room,
    plan_of: tuple[str, int],
    value: float,
) -> ReleaseGang:
    of = {m.pod.uid: m for m in members}
    pods = tuple(_release_pod(of[uid], placement, room, plan_of, value) for uid in placement.order)
    return ReleaseGang(job.key, pods, first=sum(m.role == "ps" for m in members))


def _release_pod(
    member: Member, placement: Placement, room: Room, plan_of: tuple[str, int], value: float
) -> ReleasePod:
    pod, pinned = member.pod, not member.shape.unmodelled
    names = (placement.nodes[pod.uid], *placement.spares.get(pod.uid, ()))
    nodes = [room.nodes[room.index[name]] for name in names]
    return ReleasePod(
        pod=pod.key,
        uid=pod.uid,
        # a list of terms is rewritten as a whole: nobody may have changed it since we read it
        resource_version=pod.resource_version if pinned and pod.shape.affinity is not None else "",
        node=names[0] if pinned else None,
        plan=plan_of[0],
        plan_size=plan_of[1],
        gates=(),
        terms=pinned_terms(pod.shape, nodes) if pinned else None,
        decision=_decision(pod, placement, value),
    )


def _decision(pod: Pod, placement: Placement, value: float) -> str:
    terms = {name: round(t, 4) for name, t in placement.terms.get(pod.uid, {}).items()}
    bucket = placement.bucket_of.get(pod.uid)
    said = {"rule": placement.rule, "v": round(value, 4), "bucket": bucket, "terms": terms}
    return msgspec.json.encode(said).decode()


def plan_id(uids: tuple[Uid, ...]) -> str:
    """Return a name for the plan that releases these pods; the same pods give the same name."""
    return hashlib.sha256("\n".join(sorted(uids)).encode()).hexdigest()[:12]
