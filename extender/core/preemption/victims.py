"""The jobs that are parked for a start: the set that costs least of those that make room.

**Rule.** Few candidates: every set is tried, the cheapest first; of sets that cost the same the
smaller one, then the first by name. Many: candidates are added one by one, the cheapest first,
until the job fits; then each that turns out to be needless is left out, the dearest first. A set
that is not permitted is never chosen, and a candidate that would make it so is left out.

The cost of a job is what its pods do not do while it saves, leaves and starts again, in
pod-seconds. A set is worth it if the pods that start gain more: they would otherwise wait until the
last of these jobs has ended.

Source:
    Ours; docs/policies/preemption.md.
"""

from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations

from extender.core.parameters.preemption import PreemptionParameters
from shared.model import JobKey


@dataclass(frozen=True)
class Candidate:
    """A running job that may be parked.

    Attributes:
        job: Its key.
        pods: How many of its pods run.
        pause_seconds: How long it does not train for being parked, its time in the queue left out:
            saving, starting again, and what it has not saved.
        left_seconds: How long it would run on; None if unknown.
    """

    job: JobKey
    pods: int
    pause_seconds: float
    left_seconds: float | None = None

    @property
    def cost(self) -> float:
        """In pod-seconds."""
        return self.pods * self.pause_seconds


Fits = Callable[[Sequence[Candidate]], bool]
"""Returns True if the job fits once these have left; more that leave never make it worse."""

Permits = Callable[[Sequence[Candidate]], bool]
"""Returns True if these may leave together; fewer of them may then too."""


def everything(_victims: Sequence[Candidate]) -> bool:
    """Permit all."""
    return True


def chosen(
    candidates: Sequence[Candidate],
    starting_pods: int,
    fits: Fits,
    params: PreemptionParameters,
    permits: Permits = everything,
) -> tuple[Candidate, ...]:
    """Return the jobs to park, by name; none if no allowed set makes room or is worth it.

    Args:
        candidates: Jobs that may be parked.
        starting_pods: How many pods start.
        fits: See there.
        params: Limits.
        permits: See there.
    """
    ordered = sorted(candidates, key=lambda one: (one.cost, one.job))
    if len(ordered) <= params.exact_candidates:
        return _cheapest(ordered, starting_pods, lambda some: permits(some) and fits(some), params)
    found = _pruned(_permitted(ordered, permits), fits, params)
    return found if is_worth_it(found, starting_pods) else ()


def _permitted(ordered: Sequence[Candidate], permits: Permits) -> list[Candidate]:
    """Return those that may leave together, each if it may beside the cheaper ones."""
    found: list[Candidate] = []
    for candidate in ordered:
        if permits([*found, candidate]):
            found.append(candidate)
    return found


def total(victims: Sequence[Candidate]) -> float:
    """Return what parking these costs, in pod-seconds."""
    return sum(victim.cost for victim in victims)


def is_worth_it(victims: Sequence[Candidate], starting_pods: int) -> bool:
    """Return True if the start gains more than the victims lose; an unknown end counts as late."""
    lefts = [victim.left_seconds for victim in victims]
    known = [left for left in lefts if left is not None]
    if len(known) < len(lefts):
        return True
    return bool(known) and starting_pods * max(known) > total(victims)


def _cheapest(
    ordered: Sequence[Candidate], starting_pods: int, fits: Fits, params: PreemptionParameters
) -> tuple[Candidate, ...]:
    most = min(len(ordered), params.most_victims)
    sets = [found for size in range(1, most + 1) for found in combinations(ordered, size)]
    sets.sort(key=lambda found: (total(found), len(found), sorted(one.job for one in found)))
    allowed = (found for found in sets if is_worth_it(found, starting_pods) and fits(found))
    return _by_name(next(allowed, ()))


def _pruned(
    ordered: Sequence[Candidate], fits: Fits, params: PreemptionParameters
) -> tuple[Candidate, ...]:
    if not fits(ordered):
        return ()
    count = bisect_left(range(len(ordered)), True, key=lambda n: fits(ordered[:n]))
    victims = list(ordered[:count])
    for candidate in reversed(victims[:-1]):
        without = [one for one in victims if one is not candidate]
        if fits(without):
            victims = without
    return _by_name(victims) if len(victims) <= params.most_victims else ()


def _by_name(victims: Sequence[Candidate]) -> tuple[Candidate, ...]:
    return tuple(sorted(victims, key=lambda one: one.job))
