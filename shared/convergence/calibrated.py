"""Factors of the bands, made by ``python -m bench calibration --write``."""

from typing import Final

from shared.convergence.bands import Bands, GainFactor, TimeFactor

CALIBRATED: Final = Bands(
    time=(
        TimeFactor(0.35, 1.5227),
        TimeFactor(0.65, 0.6655),
        TimeFactor(2.0, 0.4782),
    ),
    gain=(
        GainFactor(0.25, 0.7461, 8.5287),
        GainFactor(0.45, 0.3359, 5.0605),
        GainFactor(0.65, 0.3242, 3.7259),
        GainFactor(0.85, 0.0, 1.8036),
        GainFactor(2.0, 0.0, 1.9368),
    ),
)
