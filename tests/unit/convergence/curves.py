"""Training curves with known parameters, on steps 0…1000."""

import math
import random
from collections.abc import Callable

from shared.convergence.forecast import Point

TOTAL = 1000
Curve = Callable[[float], float]


def exponential(speed: float, floor: float) -> Curve:
    """SLAQ's second form: falls from 1 to nearly ``floor``."""
    return lambda step: floor + (1 - floor) * math.exp(-speed * step / TOTAL)


def sublinear(linear: float, square: float, floor: float) -> Curve:
    """SLAQ's first form."""
    return lambda step: (
        floor + (1 - floor) / (1 + linear * step / TOTAL + square * (step / TOTAL) ** 2)
    )


def paper(speed: float, floor: float) -> Curve:
    """The shape of the SpeCon simulation: VAE 5.2 with floor 0.64, GRU 11.5, Bi-RNN 19.6."""
    whole = 1 - math.exp(-speed)
    return lambda step: floor + (1 - floor) * (1 - (1 - math.exp(-speed * step / TOTAL)) / whole)


def observed(
    curve: Curve,
    *,
    upto: float,
    count: int = 100,
    noise: float = 0.0,
    seconds_per_step: float = 0.5,
    seed: int = 0,
) -> list[Point]:
    """Evenly spread points from the start to step ``upto``, noise relative to the value."""
    rng = random.Random(seed)
    steps = [upto * (i + 1) / count for i in range(count)]
    return [
        Point(step, curve(step) * (1 + noise * rng.gauss(0, 1)), step * seconds_per_step)
        for step in steps
    ]
