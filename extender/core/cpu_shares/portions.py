"""Pods that take part in CPU weights, and how the CPU of a node is divided among them.

A pod takes part if it is ours, runs, is Burstable (has requests, not all equal to limits) and has
one container whose request can be changed without a restart: its only one, or the one that the
metrics annotation names. A pod that carries our note takes part until the note is removed.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from operator import attrgetter
from typing import Final

from extender.core.cluster.owners import above
from extender.core.cluster.snapshot import Snapshot
from extender.core.cpu_shares import cpu_weights
from extender.core.cpu_shares.commands import ResizePod
from extender.core.cpu_shares.cpu_weights import Sharer
from extender.core.kinds import registry
from extender.core.kinds.base import Owners
from extender.core.parameters.cpu_shares import CpuShareParameters
from shared import labels, places
from shared.errors import InputError
from shared.model import ContainerCpu, NodeName, Pod, Uid
from shared.objects import pod_cpu

BURSTABLE: Final = "Burstable"


@dataclass(frozen=True)
class WeightedPod:
    """A pod that takes part.

    Attributes:
        uid: Of the pod.
        pod: The pod.
        cpu: Its container, as it is now.
        given_milli: The request that its owner gave.
        noted: The pod has a note of that request; else it still has that request.
    """

    uid: Uid
    pod: Pod
    cpu: ContainerCpu
    given_milli: int
    noted: bool

    @property
    def now_milli(self) -> int:
        """The request as it is now."""
        return self.cpu.request_milli

    @property
    def held_milli(self) -> int:
        """What counts on the node, with amounts not granted or not taken away yet."""
        return max(self.now_milli, self.given_milli + self.pod.borrowed_milli)

    @property
    def most_milli(self) -> int | None:
        """The highest request that leaves the QoS class as it is; None: there is no limit.

        Below the limit, unless it was at the limit from the start, which did no harm.
        """
        limit = self.cpu.limit_milli
        if limit is None or limit == self.given_milli:
            return limit
        return max(1, limit - 1)


def weighted_pods(snapshot: Snapshot) -> Mapping[NodeName, tuple[WeightedPod, ...]]:
    """Return the pods that take part, by node, in order of uid."""
    nodes: dict[NodeName, list[WeightedPod]] = {}
    for pods in snapshot.jobs.values():
        for pod in pods:
            node = snapshot.bound.get(pod.uid)
            weighted = None if node is None else _weighted(pod, snapshot)
            if node is not None and weighted is not None:
                nodes.setdefault(node, []).append(weighted)
    by_uid = {node: sorted(weighted, key=attrgetter("uid")) for node, weighted in nodes.items()}
    return {node: tuple(weighted) for node, weighted in sorted(by_uid.items())}


def is_noted(pod: Pod) -> bool:
    """Return True if a pod has our note and has not ended."""
    return labels.CPU_GIVEN in pod.annotations and not (pod.finished or pod.deleting)


def is_restorable(pod: Pod, snapshot: Snapshot) -> bool:
    """Return True if a pod's note can be used; its owner may have written any text there."""
    bound = is_noted(pod) and pod.uid in snapshot.bound
    return bound and _weighted(pod, snapshot) is not None


def _weighted(pod: Pod, snapshot: Snapshot) -> WeightedPod | None:
    if pod.finished or pod.qos != BURSTABLE:
        return None
    if labels.CPU_GIVEN in pod.annotations:
        given = pod_cpu.parse_given(pod.annotations)
        own = [cpu for cpu in pod.cpus if given is not None and cpu.name == given.container]
        return WeightedPod(pod.uid, pod, own[0], given.milli, noted=True) if own and given else None
    if pod.phase != "Running" or pod.deleting:
        return None
    cpu = _container(pod, above(snapshot, pod))
    if cpu is None or cpu.restarts or cpu.request_milli <= 0:
        return None
    return WeightedPod(pod.uid, pod, cpu, cpu.request_milli, noted=False)


def _container(pod: Pod, over: Owners) -> ContainerCpu | None:
    if len(pod.cpus) == 1:
        return pod.cpus[0]
    text = registry.annotation(pod, over, labels.METRICS)
    job = registry.job_key(pod).split("/", 2)[2]
    try:
        name = places.metrics_place(
            text, places.PathVariables(pod.namespace, job, pod.name, pod.uid)
        )
    except InputError:
        return None
    return next((cpu for cpu in pod.cpus if cpu.name == name.container), None)


LEAST_CHANGE_RATIO: Final = 0.1
"""A request that would change by less stays as it is."""


class Part(StrEnum):
    """How a pod takes part in the CPU of its node."""

    SHARES = "shares"
    """Its request follows its remaining work."""
    RETURNS = "returns"
    """It gets back its owner's request."""
    KEEPS = "keeps"
    """It is left alone, and its request counts."""
    NONE = "none"
    """It has its owner's request, and nothing is to be done."""


@dataclass(frozen=True)
class Portion:
    """A pod, its part, and the inputs of its weight.

    Attributes:
        weighted: The pod.
        part: Its part.
        work: Core-seconds to its end; None if not known.
        converged: Its training has converged.
    """

    weighted: WeightedPod
    part: Part
    work: float | None = None
    converged: bool = False


def is_too_much(portions: Sequence[Portion]) -> bool:
    """Return True if the pods together have more than their owners gave them."""
    concerned = [p for p in portions if p.part is not Part.NONE]
    return sum(map(_has, concerned)) > sum(p.weighted.given_milli for p in concerned)


def resizes(portions: Sequence[Portion], params: CpuShareParameters) -> tuple[ResizePod, ...]:
    """Return the resizes of one node, in order: those that lower a request first.

    Requests are lowered completely. The others get more only as far as all together then have
    no more than they were given; where it is not enough for all, each gets the same part of
    its rise.
    """
    concerned = [p for p in portions if p.part is not Part.NONE]
    goals = _goals(concerned, params)
    urgent = is_too_much(concerned)
    free = [p for p in concerned if p.weighted.uid in goals]
    lower = [p for p in free if _is_lowered(p, goals[p.weighted.uid], urgent=urgent)]
    rise = {p.weighted.uid: _rise(p, goals[p.weighted.uid]) for p in free}
    given = sum(p.weighted.given_milli for p in concerned)
    freed = sum(p.weighted.now_milli - goals[p.weighted.uid] for p in lower)
    left = max(0, given - sum(map(_has, concerned)) + freed)
    granted = _granted(free, rise, left)
    ends = {p.weighted.uid: goals[p.weighted.uid] for p in lower} | granted
    struck = [p for p in free if p.part is Part.RETURNS and _is_restored(p) and p.weighted.noted]
    changed = [
        p for p in free if ends.get(p.weighted.uid, p.weighted.now_milli) != p.weighted.now_milli
    ]
    commands = [
        _resize(p, ends.get(p.weighted.uid, p.weighted.now_milli)) for p in (*changed, *struck)
    ]
    return tuple(sorted(commands, key=lambda c: (c.raises, c.uid)))


def _has(portion: Portion) -> int:
    pod = portion.weighted
    return pod.held_milli if portion.part is Part.KEEPS else pod.now_milli


def _is_restored(portion: Portion) -> bool:
    return portion.weighted.now_milli == portion.weighted.given_milli


def _goals(portions: Sequence[Portion], params: CpuShareParameters) -> Mapping[Uid, int]:
    """Return the requests that pods should have, without those that are left alone."""
    sharers = [
        Sharer(
            uid=p.weighted.uid,
            given_milli=p.weighted.given_milli,
            remaining_core_seconds=p.work,
            converged=p.converged,
            most_milli=p.weighted.most_milli,
        )
        for p in portions
        if p.part is Part.SHARES
    ]
    returning = {p.weighted.uid: p.weighted.given_milli for p in portions if p.part is Part.RETURNS}
    return {**cpu_weights.requests(sharers, params), **returning}


def _is_lowered(portion: Portion, goal: int, *, urgent: bool) -> bool:
    now = portion.weighted.now_milli
    if goal >= now:
        return False
    return urgent or portion.part is Part.RETURNS or _is_much(now - goal, now)


def _rise(portion: Portion, goal: int) -> int:
    """Return by how much a request should rise; 0 if by too little."""
    now = portion.weighted.now_milli
    enough = portion.part is Part.RETURNS or _is_much(goal - now, now)
    return goal - now if goal > now and enough else 0


def _granted(free: Sequence[Portion], rise: Mapping[Uid, int], left: int) -> dict[Uid, int]:
    """Return the requests that rise, all together by no more than ``left``."""
    total = sum(rise.values())
    ends: dict[Uid, int] = {}
    for portion in free:
        now, more = portion.weighted.now_milli, rise[portion.weighted.uid]
        if total > left:
            more = more * left // total
            more = more if _is_much(more, now) else 0
        if more:
            ends[portion.weighted.uid] = now + more
    return ends


def _is_much(change: int, now: int) -> bool:
    return change >= LEAST_CHANGE_RATIO * now


def _resize(portion: Portion, milli: int) -> ResizePod:
    pod = portion.weighted
    return ResizePod(
        pod=pod.pod.key,
        uid=pod.uid,
        resource_version=pod.pod.resource_version,
        container=pod.cpu.name,
        from_milli=pod.now_milli,
        to_milli=milli,
        given_milli=pod.given_milli,
        noted=pod.noted,
    )
