"""Which policy is better: paired differences over seeds, and the Pareto front."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Final

from simulator.comparison.comparing import Seeded
from simulator.comparison.metrics import Metrics
from simulator.numbers import Spread, spread


@dataclass(frozen=True)
class Measure:
    """A metric with its direction.

    Attributes:
        title: Title with the unit.
        value_of: Returns its value; None where the workload has none.
        rising: Whether more is better.
        digits: Decimals in tables.
    """

    title: str
    value_of: Callable[[Metrics], float | None]
    rising: bool = False
    digits: int = 0


MEASURES: Final[Mapping[str, Measure]] = {
    "completed": Measure("completed", lambda m: m.completed, rising=True, digits=3),
    "mean": Measure("mean JCT s", lambda m: m.mean_jct),
    "median": Measure("median JCT s", lambda m: m.median_jct),
    "p95": Measure("p95 JCT s", lambda m: m.p95_jct),
    "p99": Measure("p99 JCT s", lambda m: m.p99_jct),
    "makespan": Measure("makespan s", lambda m: m.makespan),
    "utilisation": Measure("utilisation", lambda m: m.utilisation, rising=True, digits=3),
    "queueing": Measure("queueing s", lambda m: m.queueing),
    "hits": Measure("deadlines kept", lambda m: m.deadline_hits, rising=True, digits=3),
    "value": Measure("value obtained", lambda m: m.value, rising=True, digits=3),
    "rho": Measure("mean ρ", lambda m: m.rho_mean, digits=2),
    "rho95": Measure("p95 ρ", lambda m: m.rho_worst, digits=2),
    "migrations": Measure("pods moved", lambda m: m.migrations),
    "rescales": Measure("rescales", lambda m: m.rescales),
    "preemptions": Measure("preemptions", lambda m: m.preemptions),
    "lost": Measure("lost work s", lambda m: m.lost_seconds),
}
"""Name → metric, in the order of the table."""

OBJECTIVES: Final = ("value", "mean", "makespan")
"""The objectives of the Pareto front."""
_CLEAR: Final = 2.0
"""Standard errors from which on a difference is significant."""


def values(by_seed: Sequence[Seeded], policy: str, measure: str) -> list[float]:
    """Return a metric of a policy by seed; empty where a workload has none."""
    measured = [MEASURES[measure].value_of(result.found[policy]) for result in by_seed]
    return [value for value in measured if value is not None] if None not in measured else []


def mean(by_seed: Sequence[Seeded], policy: str, measure: str) -> float | None:
    """Return the mean of a metric over seeds; None where a workload has none."""
    measured = values(by_seed, policy, measure)
    return fmean(measured) if measured else None


def difference(by_seed: Sequence[Seeded], policy: str, other: str, measure: str) -> Spread | None:
    """Return by how much ``policy`` beats ``other``, paired by seed; None without values."""
    sign = 1.0 if MEASURES[measure].rising else -1.0
    ours, theirs = values(by_seed, policy, measure), values(by_seed, other, measure)
    if not ours:
        return None
    return spread(sign * (a - b) for a, b in zip(ours, theirs, strict=True))


def clearly(difference_found: Spread | None) -> int:
    """Return 1 if better, -1 if worse, 0 if not significant or there are fewer than two seeds."""
    if difference_found is None or difference_found.count < _PAIRS:
        return 0
    if abs(difference_found.mean) <= _CLEAR * difference_found.error:
        return 0
    return 1 if difference_found.mean > 0 else -1


_PAIRS: Final = 2


def objectives(by_seed: Sequence[Seeded], policies: Sequence[str]) -> tuple[str, ...]:
    """Return the objectives for which these workloads have values."""
    return tuple(name for name in OBJECTIVES if values(by_seed, policies[0], name))


def dominates(by_seed: Sequence[Seeded], policy: str, other: str) -> bool:
    """Return True if ``policy`` is as good in the mean of every objective, and better in one."""
    names = objectives(by_seed, (policy,))
    gaps = [difference(by_seed, policy, other, name) for name in names]
    means = [gap.mean for gap in gaps if gap is not None]
    return all(gap >= 0 for gap in means) and any(gap > 0 for gap in means)


def front(by_seed: Sequence[Seeded], policies: Sequence[str]) -> tuple[str, ...]:
    """Return the policies that no other policy dominates, in the order given."""
    return tuple(
        policy
        for policy in policies
        if not any(dominates(by_seed, other, policy) for other in policies if other != policy)
    )
