"""Factors of the bands, made by ``python -m bench calibration --write``."""

from typing import Final

from shared.convergence.bands import Bands, GainFactor, TimeFactor

CALIBRATED: Final = Bands(
    time=(
        TimeFactor(0.35, 0.9207),
        TimeFactor(0.65, 0.3899),
        TimeFactor(2.0, 0.2778),
    ),
    gain=(
        GainFactor(0.25, 0.451, 8.0129),
        GainFactor(0.45, 0.0, 3.0807),
        GainFactor(0.65, 0.0, 2.4394),
        GainFactor(0.85, 0.0, 2.4018),
        GainFactor(2.0, 0.0, 2.3587),
    ),
)
