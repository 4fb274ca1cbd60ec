"""Predictions on real runs beside what came, and the factors of the bands from them."""

from collections import Counter
from collections.abc import Iterator, Sequence
from statistics import median
from typing import Final

from msgspec import Struct

from bench.calibration.corpus import Run, timed
from shared.convergence.bands import PLAIN, Bands, GainFactor, TimeFactor
from shared.convergence.forecast import forecast, progress
from shared.progress import Goal, Span

SEEN: Final = (0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
"""Parts of a run after which the rest is predicted."""
LOW, BOTH = 1 / 6, 2 / 3
TIME_BORDERS: Final = (0.35, 0.65, 2.0)
GAIN_BORDERS: Final = (0.25, 0.45, 0.65, 0.85, 2.0)
_ROUNDING: Final = 1e-9
_LEAST_SHOWN: Final = 30
"""From so many values on, the level at the end is a median."""


class Prediction(Struct, frozen=True):
    """One prediction.

    Attributes:
        project: Of the run.
        seen: Part of the run before it.
        progress: The same as the forecast counts it.
        span: The prediction; None if there is none. With plain bands the high end of an improvement
            is its scale.
        truth: What came, 0 or above.
        scale: What a width is compared with: the true time left, or the whole improvement.
    """

    project: str
    seen: float
    progress: float
    span: Span | None
    truth: float
    scale: float

    @property
    def holds(self) -> bool:
        """Whether the band holds what came."""
        return self.span is not None and self.span.low <= self.truth <= self.span.high


Rated = tuple[Prediction, float]
"""A prediction and the ratio between what came and what it states."""


def times(runs: Sequence[Run], bands: Bands) -> list[Prediction]:
    """Return predictions of the time left, of runs with times; the last known step is the end."""
    return [found for run in timed(runs) for found in _times(run, bands)]


def gains(runs: Sequence[Run], bands: Bands) -> list[Prediction]:
    """Return predictions of the further improvement, of whole runs."""
    return [found for run in runs if run.whole for found in _gains(run, bands)]


def _counts(run: Run) -> Iterator[tuple[float, int]]:
    for seen in SEEN:
        count = round(seen * len(run.values))
        if 1 < count < len(run.values) - 1:
            yield seen, count


def _times(run: Run, bands: Bands) -> Iterator[Prediction]:
    last = run.steps[-1]
    for seen, count in _counts(run):
        points = run.points(count)
        span = forecast(
            points, last, points[-1].at_seconds, run.goal, factors=bands
        ).remaining_seconds
        left = run.seconds[last] - run.seconds[run.steps[count - 1]]
        yield Prediction(run.project, seen, progress(points, last), span, left, left)


def _gains(run: Run, bands: Bands) -> Iterator[Prediction]:
    losses, last = run.losses, run.steps[-1]
    end = run.end if len(losses) >= _LEAST_SHOWN else (losses[-1] + losses[-2]) / 2
    for seen, count in _counts(run):
        points = run.points(count)
        span = forecast(points, last, 0.0, run.goal, factors=bands).remaining_loss
        width = max(2, len(points) // 5)
        sign = 1.0 if run.goal is Goal.MIN else -1.0
        now = median(sign * point.value for point in points[-width:])
        whole = max(median(losses[:2]) - end, 1e-12)
        yield Prediction(
            run.project, seen, progress(points, last), span, max(0.0, now - end), whole
        )


def factors(runs: Sequence[Run]) -> Bands:
    """Return the bands that hold two thirds of what came; each project counts once."""
    return Bands(time_factors(times(runs, PLAIN)), gain_factors(gains(runs, PLAIN)))


def time_factors(found: Sequence[Prediction]) -> tuple[TimeFactor, ...]:
    """Return the factors of the time left, from predictions with plain bands."""
    ratios = [
        (p, abs(p.truth - p.span.value) / (p.span.high - p.span.value))
        for p in found
        if p.span and p.span.high > p.span.value
    ]
    return tuple(
        TimeFactor(border, round(_quantile(within, BOTH), 4))
        for border, within in _by_progress(ratios, TIME_BORDERS)
    )


def gain_factors(found: Sequence[Prediction]) -> tuple[GainFactor, ...]:
    """Return the factors of the further improvement, from predictions with plain bands."""
    ratios = [(p, p.truth / p.span.high) for p in found if p.span and p.span.high > 0]
    return tuple(gain_factor(*part) for part in _by_progress(ratios, GAIN_BORDERS))


def gain_factor(border: float, within: Sequence[Rated]) -> GainFactor:
    """Return the factor that holds two thirds, also where many runs gained nothing.

    Their ratios are 0, the low end too, and nothing lies below it: then the high end gives back
    what the low end holds too much.
    """
    low = _quantile(within, LOW)
    high = _quantile(within, _share_below(within, low) + BOTH)
    return GainFactor(border, round(low, 4), round(high, 4))


def _by_progress(
    rated: Sequence[Rated], borders: Sequence[float]
) -> Iterator[tuple[float, list[Rated]]]:
    low = -1.0
    for border in borders:
        yield border, [(p, ratio) for p, ratio in rated if low <= p.progress < border]
        low = border


def _share_below(rated: Sequence[Rated], limit: float) -> float:
    """Return the part of the projects' weight whose ratio is below ``limit``."""
    share = Counter(p.project for p, _ in rated)
    below = sum(1 / share[p.project] for p, ratio in rated if ratio < limit)
    return below / len(share)


def _quantile(rated: Sequence[Rated], part: float) -> float:
    """Return the ratio below which ``part`` of the projects' weight lies."""
    share = Counter(p.project for p, _ in rated)
    weighted = sorted((ratio, 1 / share[p.project]) for p, ratio in rated)
    left = part * sum(weight for _, weight in weighted)
    for ratio, weight in weighted:
        left -= weight
        if left <= _ROUNDING:
            return ratio
    return weighted[-1][0]


def left_out(runs: Sequence[Run]) -> tuple[list[Prediction], list[Prediction]]:
    """Return predictions of time left and improvement of each project, by bands from all others.

    So each project tests the bands once, and the bands in use rest on all of them.
    """
    plain_times, plain_gains = times(runs, PLAIN), gains(runs, PLAIN)
    found_times, found_gains = list[Prediction](), list[Prediction]()
    for project in dict.fromkeys(run.project for run in runs):
        bands = Bands(
            time_factors([p for p in plain_times if p.project != project]),
            gain_factors([p for p in plain_gains if p.project != project]),
        )
        own = [run for run in runs if run.project == project]
        found_times += times(own, bands)
        found_gains += gains(own, bands)
    return found_times, found_gains
