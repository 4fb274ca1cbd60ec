"""How the CPU that a node's weighed pods were given is portioned out among them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from extender.engine.resizing.commands import ResizePod
from extender.engine.resizing.weighing import Weighed
from extender.policy import cpu_weights
from extender.policy.cpu_weights import Sharer, WeightParameters
from shared.model import Uid

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

    one: Weighed
    part: Part
    work: float | None = None
    converged: bool = False


def is_too_much(portions: Sequence[Portion]) -> bool:
    """Say whether the pods have more together than they were given."""
    concerned = [p for p in portions if p.part is not Part.NONE]
    return sum(map(_has, concerned)) > sum(p.one.given_milli for p in concerned)


def resizes(portions: Sequence[Portion], params: WeightParameters) -> tuple[ResizePod, ...]:
    """Return the resizes of one node, in order: those first that give back.

    Whoever gives back does so whole. The others get more only as far as all together then have no
    more than they were given; where it is not enough for all, each gets the same part of its rise.
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


def _goals(portions: Sequence[Portion], params: WeightParameters) -> Mapping[Uid, int]:
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
