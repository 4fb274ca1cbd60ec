"""How fast a training run advances, and when it will therefore end."""

from collections.abc import Sequence
from typing import Final

from shared.progress import Span

LEAST_SEGMENTS: Final = 3
OLDEST_WEIGHT: Final = 0.1
"""Weight of the oldest segment; the newest has 1, between them it grows by equal factors."""
_QUANTILES: Final = (1 / 6, 1 / 2, 5 / 6)
"""Low, middle, high: two thirds lie between the outer ones."""


def seconds_per_step(steps: Sequence[float], times: Sequence[float]) -> Span | None:
    """Return the weighted median of the pace between the points; None if there are too few.

    A pause is one slow segment among many and does not move the median. The band holds two thirds
    of the segments by weight: on a shared node the pace is a matter of who else is there, and that
    does not average out.

    Args:
        steps: Strictly rising.
        times: Seconds; a segment during which no time passed says nothing.
    """
    segments = [
        ((t1 - t0) / (k1 - k0), t1 > t0)
        for k0, k1, t0, t1 in zip(steps, steps[1:], times, times[1:], strict=False)
    ]
    last = max(1, len(segments) - 1)
    known = sorted(
        (pace, OLDEST_WEIGHT ** (1 - i / last))
        for i, (pace, passed) in enumerate(segments)
        if passed
    )
    if len(known) < LEAST_SEGMENTS:
        return None
    low, middle, high = (_quantile(known, part) for part in _QUANTILES)
    return Span(middle, low, high)


def _quantile(weighted: Sequence[tuple[float, float]], part: float) -> float:
    """Return the first number at which ``part`` of the weight is reached."""
    wanted = part * sum(weight for _, weight in weighted)
    for number, weight in weighted:
        wanted -= weight
        if wanted <= 0:
            return number
    return weighted[-1][0]
