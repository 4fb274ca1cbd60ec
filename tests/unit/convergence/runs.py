"""Training runs for the tests of convergence: what a series of values is made of it."""

from collections.abc import Iterable

from shared.convergence.categories import ConvergenceState, tick
from shared.convergence.parameters import RECOMMENDED, ConvergenceParameters
from shared.progress import Category, Goal

P, W, C = Category


def standings(
    values: Iterable[float | None],
    params: ConvergenceParameters = RECOMMENDED,
    goal: Goal = Goal.MIN,
    standing: ConvergenceState | None = None,
) -> list[ConvergenceState]:
    """The standing after each tick; ticks come every interval from 0 s on."""
    found = []
    current = ConvergenceState() if standing is None else standing
    for i, value in enumerate(values):
        now = i * params.interval_seconds
        current = tick(current, value, now=now, goal=goal, params=params)
        found.append(current)
    return found


def categories(values: Iterable[float | None], **how) -> list[Category]:
    return [standing.category for standing in standings(values, **how)]
