"""How much a metric gained during one interval."""

from shared.convergence.parameters import ConvergenceParameters, Normalisation
from shared.progress import Goal


def growth(
    previous: float,
    current: float,
    *,
    first: float,
    best: float,
    goal: Goal,
    params: ConvergenceParameters,
) -> float:
    """Return the growth G of one interval, 0 or above; +inf only if it leaves the range of floats.

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
