"""Progressing, watching, converged: SpeCon's Algorithm 1 (docs/policies/convergence.md).

A training run has one ``ConvergenceState``, reset when the run restarts. That a run was migrated is
recorded elsewhere.
"""

import math
from typing import Final

import msgspec

from shared.convergence.parameters import ConvergenceParameters, Normalisation
from shared.progress import Category, Goal

NO_GROWTH_YET: Final = math.inf
"""G(t_0): every first growth is below it."""


def growth(
    previous: float,
    current: float,
    *,
    first: float,
    best: float,
    goal: Goal,
    params: ConvergenceParameters,
) -> float:
    """Return the growth G of one interval, 0 or above; +inf only beyond the range of floats.

    ``G = change / unit``. The change is the improvement towards ``goal``, or 0 (``signed``), or the
    absolute difference. The unit is 1, |previous|, or |first - best|, at least ``epsilon``.

    Args:
        previous: E(t_{m-1}), finite.
        current: E(t_m), finite.
        first: E(t_0), finite.
        best: The best value of any tick up to t_m, finite.
        goal: Whether the metric is to fall or to rise.
        params: The options.

    Source:
        Mao et al., arXiv 2010.11307, equation (1) and Algorithm 1 line 5; the division is ours,
        because the threshold is a percentage and the paper's figure 1 normalises.
    """
    # halves: the difference of two floats of opposite sign may overflow, that of their halves not
    change = current / 2 - previous / 2
    if goal is Goal.MIN:
        change = -change
    change = max(0.0, change) if params.signed else abs(change)
    if params.normalisation is Normalisation.ABSOLUTE:
        return change * 2
    relative = params.normalisation is Normalisation.RELATIVE_TO_PREVIOUS
    unit = previous / 2 if relative else first / 2 - best / 2
    return change / max(abs(unit), params.epsilon / 2)


class ConvergenceState(msgspec.Struct, frozen=True, kw_only=True):
    """State of a training run after a tick; ``ConvergenceState()`` before the first one.

    Attributes:
        category: Of SpeCon.
        growth: G(t_m) of the last tick that counted; +inf before the first.
        previous_growth: G(t_{m-1}).
        value: E(t_m), the metric at the last tick that counted; None before the first.
        first: E(t_0).
        best: The best value of the ticks so far.
        ticked_at: Time of the last tick, whether it counted or not; None before the first.
        converged_at: When it became converged; None while it is not.
    """

    category: Category = Category.PROGRESSING
    growth: float = NO_GROWTH_YET
    previous_growth: float = NO_GROWTH_YET
    value: float | None = None
    first: float | None = None
    best: float | None = None
    ticked_at: float | None = None
    converged_at: float | None = None

    @property
    def known_growth(self) -> float | None:
        """The last growth; None while there is none, or if it is infinite."""
        return self.growth if math.isfinite(self.growth) else None


def due(state: ConvergenceState, now: float, params: ConvergenceParameters) -> bool:
    """Return True if the next tick is due; also if the clock was set back."""
    if state.ticked_at is None:
        return True
    return not 0 <= now - state.ticked_at < params.interval_seconds


def tick(
    state: ConvergenceState,
    value: float | None,
    *,
    now: float,
    goal: Goal,
    params: ConvergenceParameters,
) -> ConvergenceState:
    """Return the state after one interval.

    ::

        G ≥ alpha     → progressing             it improves, perhaps again
        G ≥ G before  → unchanged               slow, but irregular
        otherwise       progressing → watching → converged, one step a tick

    Args:
        state: After the tick before.
        value: The metric's last value if there was a new one since the tick before, else None.
            NaN and infinity are no values.
        now: Seconds; becomes ``converged_at``.
        goal: Whether the metric is to fall or to rise.
        params: Threshold and options.

    Source:
        Mao et al., arXiv 2010.11307, Algorithm 1, with its three ifs as one chain, WC → CC in
        lines 10 to 12 and G = alpha decided; a tick without a value is ours.
    """
    new = value if value is not None and math.isfinite(value) else None
    current = state.value if new is None and params.count_silent_ticks else new
    if current is None:
        return msgspec.structs.replace(state, ticked_at=now)
    if state.value is None or state.first is None or state.best is None:
        return ConvergenceState(value=current, first=current, best=current, ticked_at=now)
    best = (min if goal is Goal.MIN else max)(state.best, current)
    growth_now = growth(
        state.value, current, first=state.first, best=best, goal=goal, params=params
    )
    category = _next(state.category, growth_now, state.growth, params.alpha)
    return ConvergenceState(
        category=category,
        growth=growth_now,
        previous_growth=state.growth,
        value=current,
        first=state.first,
        best=best,
        ticked_at=now,
        converged_at=_converged_at(state, category, now),
    )


def _next(category: Category, growth: float, before: float, alpha: float) -> Category:
    if growth >= alpha:
        return Category.PROGRESSING
    if growth >= before:
        return category
    return Category.WATCHING if category is Category.PROGRESSING else Category.CONVERGED


def _converged_at(state: ConvergenceState, category: Category, now: float) -> float | None:
    if category is not Category.CONVERGED:
        return None
    return now if state.converged_at is None else state.converged_at
