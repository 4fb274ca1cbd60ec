"""Figures of the calibration: coverage and width of the bands, worth of ``converged``."""

from collections.abc import Sequence
from statistics import median

from msgspec import Struct

from bench.calibration import judging, predicting
from bench.calibration.corpus import Run, timed
from bench.calibration.judging import Verdict
from bench.calibration.predicting import Prediction


class Coverage(Struct, frozen=True):
    """How good bands are.

    Attributes:
        curves, projects: How many curves, and of how many projects.
        predictions: With a band.
        holds: Part of them that held what came.
        width: Median width, as a part of the scale.
        bands: Part of the curves that have a band once a fifth of the run is over.
    """

    curves: int
    projects: int
    predictions: int
    holds: float
    width: float
    bands: float


class Calls(Struct, frozen=True):
    """What calls of ``converged`` are worth; parts of ``curves``, those recognised of their kind.

    Attributes:
        curves, projects: As in ``Coverage``.
        plateaued: Curves that plateaued, in hindsight.
        by_half: Those of them whose second half shows it, too.
    """

    curves: int
    projects: int
    plateaued: int
    recognised: float
    by_half: int
    recognised_by_half: float
    false_early: float
    premature: float


class Figures(Struct, frozen=True):
    """All figures.

    Attributes:
        time, gain: Of the time left, and of the further improvement; each project is predicted with
            the factors of all others.
        calls: Held-out projects; by whether the total was known.
        times, gains: The predictions behind the first two.
    """

    time: Coverage
    gain: Coverage
    calls: dict[str, Calls]
    times: Sequence[Prediction]
    gains: Sequence[Prediction]


def measure(runs: Sequence[Run]) -> Figures:
    """Return the figures of all runs."""
    held = [run for run in runs if run.held_out]
    times, gains = predicting.left_out(runs)
    return Figures(
        time=_coverage(times, timed(runs)),
        gain=_coverage(gains, [run for run in runs if run.whole]),
        calls={
            "total known": _calls(list(judging.verdicts(held))),
            "total unknown": _calls(list(judging.verdicts(held, with_total=False))),
        },
        times=times,
        gains=gains,
    )


def _coverage(found: Sequence[Prediction], runs: Sequence[Run]) -> Coverage:
    with_band = [p for p in found if p.span is not None]
    after_a_fifth = [p for p in found if p.seen == predicting.SEEN[0]]
    widths = [(p.span.high - p.span.low) / p.scale for p in with_band if p.span and p.scale > 0]
    return Coverage(
        curves=len(runs),
        projects=len({run.project for run in runs}),
        predictions=len(with_band),
        holds=sum(p.holds for p in with_band) / len(with_band),
        width=median(widths),
        bands=sum(p.span is not None for p in after_a_fifth) / len(after_a_fifth),
    )


def _calls(found: Sequence[Verdict]) -> Calls:
    resting = [v for v in found if v.plateaued]
    by_half = [v for v in resting if v.by_half]
    return Calls(
        curves=len(found),
        projects=len({v.run.project for v in found}),
        plateaued=len(resting),
        recognised=sum(v.recognised for v in resting) / len(resting),
        by_half=len(by_half),
        recognised_by_half=sum(v.recognised for v in by_half) / len(by_half),
        false_early=sum(v.false_early for v in found) / len(found),
        premature=sum(v.premature for v in found) / len(found),
    )
