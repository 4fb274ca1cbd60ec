"""Bands around predictions that hold two thirds of what came, by calibration on real runs.

The model of the pace, and that of the curve, state how they vary; real runs vary more. So a band is
the model's own measure times a factor: a quantile of the ratio between what came and that measure,
found on real runs by split conformal prediction, for early, middle and late predictions apart.
``calibrated`` has the factors, ``python -m bench calibration --write`` makes them.
"""

from collections.abc import Sequence
from typing import Final

import msgspec

from shared.progress import Span

LEAST_SPREAD: Final = 0.02
"""Part of the time left that a pace is assumed to vary by, beside its measured variation."""
NOISE_SHARE: Final = 0.25
"""Part of a value's noise that counts beside the predicted improvement. Late in a run little is
predicted, and what comes has the size of the noise."""


class TimeFactor(msgspec.Struct, frozen=True):
    """Half the band of the time left, in its own spreads.

    Attributes:
        below: For runs whose progress is below this, 0 to 1; the last is above 1.
        factor: Spreads to each side, 0 or above.
    """

    below: float
    factor: float


class GainFactor(msgspec.Struct, frozen=True):
    """Band of the further improvement, by its scale: the prediction and a part of the noise.

    Attributes:
        below: As in ``TimeFactor``.
        low, high: Multiples of the scale, 0 or above.
    """

    below: float
    low: float
    high: float


class Bands(msgspec.Struct, frozen=True):
    """The factors, by rising ``below``."""

    time: Sequence[TimeFactor]
    gain: Sequence[GainFactor]


PLAIN: Final = Bands((TimeFactor(2.0, 1.0),), (GainFactor(2.0, 0.0, 1.0),))
"""One spread, and one scale from 0: what is calibrated."""


def around_time(span: Span, progress: float, bands: Bands) -> Span:
    """Return a time left with its calibrated band.

    Args:
        span: The prediction with the measured variation of the pace; 0 or above.
        progress: Of the run, 0 to 1.
        bands: The factors.
    """
    factor = next(f.factor for f in bands.time if progress < f.below)
    spread = max(span.high - span.value, span.value - span.low) + LEAST_SPREAD * span.value
    return Span(span.value, max(0.0, span.value - factor * spread), span.value + factor * spread)


def around_gain(value: float, noise: float, progress: float, bands: Bands) -> Span:
    """Return a further improvement with its calibrated band.

    Args:
        value: What the fitted curve predicts, 0 or above.
        noise: Standard deviation of a value, 0 or above.
        progress: Of the run, 0 to 1.
        bands: The factors.
    """
    factor = next(f for f in bands.gain if progress < f.below)
    scale = value + NOISE_SHARE * noise
    return Span(value, min(value, factor.low * scale), max(value, factor.high * scale))
