"""Factors of the bands, made by ``python -m bench calibration --write``."""

from typing import Final

from shared.convergence.bands import Bands, GainFactor, TimeFactor

CALIBRATED: Final = Bands(
    time=(
        TimeFactor(0.35, 1.5441),
        TimeFactor(0.65, 0.6655),
        TimeFactor(2.0, 0.4845),
    ),
    gain=(
        GainFactor(0.25, 0.3625, 5.79),
        GainFactor(0.45, 0.2069, 3.1841),
        GainFactor(0.65, 0.087, 2.4211),
        GainFactor(0.85, 0.0, 1.4627),
        GainFactor(2.0, 0.0, 1.4539),
    ),
)
