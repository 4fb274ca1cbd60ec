"""What the whole curve of a training run shows (docs/policies/convergence.md).

SpeCon's Algorithm 1 compares two values of the last 30 s. This looks at parts of the run so far, so
they grow with the run. It says plateau only if the run, at the trend of its last half, would hardly
improve until its end. It needs only ``math`` and no clock.
"""

import math
from collections.abc import Sequence
from statistics import median
from typing import Final

import msgspec

from shared.convergence import rate as rates
from shared.convergence import trend
from shared.convergence.forecast import Point
from shared.convergence.rate import Rate
from shared.progress import Category, Evidence, Goal, Stage

LEAST_POINTS: Final = 10
"""Fewer points show nothing. After a change of the learning rate the points are counted again."""
WINDOW_RATIO: Final = 0.2
"""Length of a window, as a part of the run so far."""
TOLERANCE: Final = 0.06
"""A run is on a plateau if it would improve by at most this part of its improvement so far."""
RISE_TOLERANCE: Final = 0.05
"""A run rises if it lost more than this part of its improvement."""
LEAST_AHEAD: Final = 0.2
"""A run is judged as if at least this part of its present length were to come."""
UNKNOWN_AHEAD: Final = 0.5
"""Assumed without a total: at least half of its present length is to come,"""
UNKNOWN_POINTS: Final = 20
"""and at least as much as this many points at the present pace: few runs end after ten epochs."""
SURE: Final = 3.0
"""Standard errors that a rise, or an improvement since the start, must exceed."""
_FIRST_POINTS: Final = 3
_LEAST_IN_WINDOW: Final = 2
_MAD_TO_DEVIATION: Final = 1.4826
_MEDIAN_ERROR: Final = 1.25
"""Standard error of a median by that of a mean, for normal errors."""
_BEND_ERROR: Final = math.sqrt(1.5)
"""Standard deviation of a value less the mean of its neighbours, by that of one value."""

CATEGORIES: Final = {
    Stage.PLATEAU: Category.CONVERGED,
    Stage.FLAT: Category.WATCHING,
    Stage.RISING: Category.WATCHING,
}
"""The category that stands for a stage; of all others ``progressing``."""


class _Shape(msgspec.Struct, frozen=True):
    """Figures of a curve that should fall.

    Attributes:
        start, best, level: Medians: of the first points, the lowest of any window, of the last
            window.
        noise: Standard deviation of one value.
        error: Standard error of the difference of two windows.
    """

    start: float
    best: float
    level: float
    noise: float
    error: float

    @property
    def drop(self) -> float:
        """How far it fell so far."""
        return max(0.0, self.start - self.best)


def judge(
    points: Sequence[Point],
    *,
    goal: Goal,
    total_steps: float | None = None,
    rate: Rate = rates.UNKNOWN,
) -> Evidence:
    """Return what the curve shows.

    Args:
        points: Of one attempt, finite, in the order of their steps; the whole run.
        goal: Whether the metric is to fall or to rise.
        total_steps: Where the run ends; None if unknown.
        rate: What is known of the learning rate.

    Source:
        Ours. The constants were chosen on the calibration half of the curves of real projects in
        tests/corpus/curves; ``python -m bench calibration`` shows what they give on the other half.
    """
    steps = [point.step for point in points]
    values = [point.value if goal is Goal.MIN else -point.value for point in points]
    if len(points) < LEAST_POINTS or not steps[-1] > steps[0]:
        return Evidence(stage=Stage.TOO_EARLY)
    begin = _beginning(steps, rate)
    shape = _shape(steps, values, begin)
    if shape is None:
        return Evidence(stage=Stage.TOO_EARLY)
    stage = _unless_falling(shape, rate)
    if stage is None:
        longer = _longer(steps, total_steps)
        further = trend.further_fall(steps, values, begin, shape.noise, longer)
        rests = len(steps) - begin >= LEAST_POINTS and further <= TOLERANCE * shape.drop
        stage = Stage.PLATEAU if rests else Stage.IMPROVING
    return Evidence(
        stage=stage,
        since_step=_since(stage, steps, values, shape),
        level=shape.level if goal is Goal.MIN else -shape.level,
        spread=shape.noise if math.isfinite(shape.noise) else None,
    )


def category(stage: Stage) -> Category:
    """Return the category that stands for a stage."""
    return CATEGORIES.get(stage, Category.PROGRESSING)


def words(evidence: Evidence, metric: str) -> str:
    """Return the evidence as users read it: ``plateau since step 1200 (loss 2.31 ± 0.02)``."""
    text = evidence.stage.value.replace("-", " ") if evidence.stage in _SPACED else evidence.stage
    step = evidence.since_step
    since = "" if step is None else f" since step {step:{'.4g' if step < _ROUNDED else '.0f'}}"
    if evidence.level is None or evidence.spread is None:
        return f"{text}{since}"
    return f"{text}{since} ({metric} {evidence.level:.4g} ± {evidence.spread:.2g})"


_ROUNDED: Final = 100.0
"""From here on steps are shown as whole numbers: of a long run they are means of an interval."""
_SPACED: Final = (Stage.UNJUDGED, Stage.TOO_EARLY)


def _beginning(steps: Sequence[float], rate: Rate) -> int:
    """Return the index of the first point with the present learning rate."""
    if rate.changed_at is None:
        return 0
    return next((i for i, step in enumerate(steps) if step >= rate.changed_at), 0)


def _longer(steps: Sequence[float], total_steps: float | None) -> float:
    """Return how many times as long as now the run becomes."""
    length = steps[-1] - steps[0]
    if total_steps is None or total_steps <= 0:
        return 1 + max(UNKNOWN_AHEAD, UNKNOWN_POINTS / len(steps))
    return 1 + max(LEAST_AHEAD, (total_steps - steps[-1]) / length)


def _shape(steps: Sequence[float], values: Sequence[float], begin: int) -> _Shape | None:
    last = steps[-1] - WINDOW_RATIO * (steps[-1] - steps[begin])
    newest = [y for x, y in zip(steps, values, strict=True) if x > last]
    if len(newest) < _LEAST_IN_WINDOW:
        return None
    noise = _noise(values[len(values) // 2 - 1 :])
    width = max(_FIRST_POINTS, len(newest))
    return _Shape(
        start=median(values[:_FIRST_POINTS]),
        best=min(_medians(values, width)),
        level=median(newest),
        noise=noise,
        error=_MEDIAN_ERROR * noise * math.sqrt(2 / len(newest)),
    )


def _unless_falling(shape: _Shape, rate: Rate) -> Stage | None:
    """Return the stage of a run that neither improves nor rests; None of one that does."""
    if shape.level - shape.start > max(SURE * shape.error, RISE_TOLERANCE * abs(shape.start)):
        return Stage.DIVERGING
    if rate.rises:
        return Stage.WARM_UP
    if shape.drop <= SURE * shape.noise / math.sqrt(_FIRST_POINTS):
        return Stage.FLAT
    if shape.level - shape.best > max(SURE * shape.error, RISE_TOLERANCE * shape.drop):
        return Stage.RISING
    return None


def _since(
    stage: Stage, steps: Sequence[float], values: Sequence[float], shape: _Shape
) -> float | None:
    """Return where a plateau or a rise began, by medians of three values."""
    middles = _medians(values, _FIRST_POINTS)
    if stage is Stage.PLATEAU:
        near = max(TOLERANCE * shape.drop, SURE * shape.noise)
        inside = len(middles)
        while inside and abs(middles[inside - 1] - shape.level) <= near:
            inside -= 1
        return steps[min(inside, len(steps) - 1)]
    if stage in {Stage.RISING, Stage.DIVERGING}:
        return steps[middles.index(min(middles)) + 1]
    return None


def _medians(values: Sequence[float], width: int) -> list[float]:
    """Return the medians of all windows of ``width`` values; of a shorter series its own."""
    count = max(1, len(values) - width + 1)
    return [median(values[i : i + width]) for i in range(count)]


def _noise(values: Sequence[float]) -> float:
    """Return the standard deviation of one value around the curve: from bends, robust."""
    bends = [
        abs(values[i] - (values[i - 1] / 2 + values[i + 1] / 2)) for i in range(1, len(values) - 1)
    ]
    return _MAD_TO_DEVIATION * median(bends) / _BEND_ERROR if bends else 0.0
