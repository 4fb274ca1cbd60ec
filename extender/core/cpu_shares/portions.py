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
from shared import labels, places, pod_cpu
from shared.errors import InputError
from shared.model import ContainerCpu, NodeName, Pod, Uid

BURSTABLE: Final = "Burstable"


@dataclass(frozen=True)
class WeightedPod:
    """A pod that takes part.

    Attributes:
        uid: Of the pod.
        pod: The pod.
        cpu: Its container, as it is now.
        given_milli: What its owner asked for.
        noted: That is written down on the pod; else the request is as given.
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
        """What counts on the node: also what was asked and not granted, or not yet taken away."""
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
    found: dict[NodeName, list[WeightedPod]] = {}
    for pods in snapshot.jobs.values():
        for pod in pods:
            node = snapshot.bound.get(pod.uid)
            one = None if node is None else _of(pod, snapshot)
            if node is not None and one is not None:
                found.setdefault(node, []).append(one)
    by_uid = {node: sorted(here, key=attrgetter("uid")) for node, here in found.items()}
    return {node: tuple(here) for node, here in sorted(by_uid.items())}


def is_noted(pod: Pod) -> bool:
    """Return True if a pod carries our note, and is not over."""
    return labels.CPU_GIVEN in pod.annotations and not (pod.finished or pod.deleting)


def is_restorable(pod: Pod, snapshot: Snapshot) -> bool:
    """Return True if a pod's note leads to anything; any text of the owner may be there."""
    bound = is_noted(pod) and pod.uid in snapshot.bound
    return bound and _of(pod, snapshot) is not None


def _of(pod: Pod, snapshot: Snapshot) -> WeightedPod | None:
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
    """What part a pod has in its node's CPU."""

    SHARES = "shares"
    """Its request follows its remaining work."""
    RETURNS = "returns"
    """It gets back what it was given."""
    KEEPS = "keeps"
    """It is left alone, and what it has counts."""
    NONE = "none"
    """It has what it was given, and nothing is to be done."""


@dataclass(frozen=True)
class Portion:
    """A pod, its part, and what the weights are made of.

    Attributes:
        one: The pod.
        part: Its part.
        work: Core-seconds to its end; None if not known.
        converged: Whether it is converged.
    """

    one: WeightedPod
    part: Part
    work: float | None = None
    converged: bool = False


def is_too_much(portions: Sequence[Portion]) -> bool:
    """Return True if the pods have more together than they were given."""
    concerned = [p for p in portions if p.part is not Part.NONE]
    return sum(map(_has, concerned)) > sum(p.one.given_milli for p in concerned)


def resizes(portions: Sequence[Portion], params: CpuShareParameters) -> tuple[ResizePod, ...]:
    """Return the resizes of one node, in order: those first that give back.

    Pods that give back do so completely. The others get more only as far as all together then have
    no more than they were given; where it is not enough for all, each gets the same part of
    its rise.
    """
    concerned = [p for p in portions if p.part is not Part.NONE]
    goals = _goals(concerned, params)
    urgent = is_too_much(concerned)
    free = [p for p in concerned if p.one.uid in goals]
    lower = [p for p in free if _is_lowered(p, goals[p.one.uid], urgent=urgent)]
    rise = {p.one.uid: _rise(p, goals[p.one.uid]) for p in free}
    given = sum(p.one.given_milli for p in concerned)
    freed = sum(p.one.now_milli - goals[p.one.uid] for p in lower)
    left = max(0, given - sum(map(_has, concerned)) + freed)
    granted = _granted(free, rise, left)
    ends = {p.one.uid: goals[p.one.uid] for p in lower} | granted
    struck = [p for p in free if p.part is Part.RETURNS and _stands(p) and p.one.noted]
    changed = [p for p in free if ends.get(p.one.uid, p.one.now_milli) != p.one.now_milli]
    commands = [_resize(p, ends.get(p.one.uid, p.one.now_milli)) for p in (*changed, *struck)]
    return tuple(sorted(commands, key=lambda c: (c.raises, c.uid)))


def _has(portion: Portion) -> int:
    one = portion.one
    return one.held_milli if portion.part is Part.KEEPS else one.now_milli


def _stands(portion: Portion) -> bool:
    return portion.one.now_milli == portion.one.given_milli


def _goals(portions: Sequence[Portion], params: CpuShareParameters) -> Mapping[Uid, int]:
    """Return what those should have that are not left alone."""
    sharers = [
        Sharer(p.one.uid, p.one.given_milli, p.work, p.converged, p.one.most_milli)
        for p in portions
        if p.part is Part.SHARES
    ]
    returning = {p.one.uid: p.one.given_milli for p in portions if p.part is Part.RETURNS}
    return {**cpu_weights.requests(sharers, params), **returning}


def _is_lowered(portion: Portion, goal: int, *, urgent: bool) -> bool:
    now = portion.one.now_milli
    if goal >= now:
        return False
    return urgent or portion.part is Part.RETURNS or _is_much(now - goal, now)


def _rise(portion: Portion, goal: int) -> int:
    """Return by how much a request should rise; 0 if by too little."""
    now = portion.one.now_milli
    enough = portion.part is Part.RETURNS or _is_much(goal - now, now)
    return goal - now if goal > now and enough else 0


def _granted(free: Sequence[Portion], rise: Mapping[Uid, int], left: int) -> dict[Uid, int]:
    """Return the requests that rise, all together by no more than ``left``."""
    wanted = sum(rise.values())
    ends: dict[Uid, int] = {}
    for portion in free:
        now, more = portion.one.now_milli, rise[portion.one.uid]
        if wanted > left:
            more = more * left // wanted
            more = more if _is_much(more, now) else 0
        if more:
            ends[portion.one.uid] = now + more
    return ends


def _is_much(change: int, now: int) -> bool:
    return change >= LEAST_CHANGE_RATIO * now


def _resize(portion: Portion, milli: int) -> ResizePod:
    one = portion.one
    return ResizePod(
        pod=one.pod.key,
        uid=one.uid,
        resource_version=one.pod.resource_version,
        container=one.cpu.name,
        from_milli=one.now_milli,
        to_milli=milli,
        given_milli=one.given_milli,
        noted=one.noted,
    )
