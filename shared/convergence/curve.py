"""Further fall of a training curve: SLAQ's two forms, fitted by weighted least squares.

The step is scaled to 0…1 from the first point to the last. SLAQ's ``1/(ax² + bx + c) + d`` (methods
that converge sublinearly, as SGD does) and ``μ^(x-b) + c`` (linearly or faster) are both
``gain * shape(speed * x) + floor``. For a given shape and speed, gain and floor are a straight-line
fit; so only the speed is searched for, and for the ratio of a to b a few values are tried.

Uses only ``math``, on a few dozen points: the agent has no numpy and little CPU time.
"""

import math
from collections.abc import Callable, Sequence
from operator import mul
from typing import Final

import msgspec

Shape = Callable[[float], float]
"""``shape(t)``: 1 at t = 0, falls towards 0."""

LEAST_POINTS: Final = 3
"""As many as gain, floor and speed: how far such a fit can be trusted, the calibration shows."""
OLDEST_WEIGHT: Final = 0.1
"""Weight of the first point; the last has 1, between them it grows by equal factors."""
_UNKNOWNS: Final = 4
_SLOWEST, _FASTEST = math.log(0.25), math.log(300.0)
"""Log of the speeds tried. A slower curve is indistinguishable from a straight line."""
_COARSE: Final = 8
_REFINEMENTS: Final = 3
_STEP: Final = (_FASTEST - _SLOWEST) / (_COARSE - 1)
_FLAT: Final = 1e-12


def _exponential(t: float) -> float:
    return math.exp(-t)


def _sublinear(square: float) -> Shape:
    def shape(t: float) -> float:
        return 1.0 / (1.0 + t * (1.0 - square + square * t))

    return shape


SHAPES: Final[tuple[Shape, ...]] = (
    _exponential,
    *(_sublinear(square) for square in (0.0, 0.1, 0.3, 0.6, 0.9)),
)


class _Fit(msgspec.Struct, frozen=True):
    """One shape at one speed, with its best gain.

    ``error`` is the weighted sum of squares; the weights add up to the effective number of points.
    """

    shape: Shape
    log_speed: float
    error: float
    gain: float

    def drop(self, until: float) -> float:
        """Return how far the curve falls from the last point to ``until``."""
        speed = math.exp(self.log_speed)
        return self.gain * (self.shape(speed) - self.shape(speed * until))


class _Samples(msgspec.Struct, frozen=True):
    """The points.

    Attributes:
        weights: They add up to ``effective``, the effective number of points.
        pulls: Each weight times its value less the weighted mean; they add up to 0.
        spread: The weighted sum of the squares of the values less their mean.
    """

    xs: Sequence[float]
    weights: Sequence[float]
    effective: float
    pulls: Sequence[float]
    spread: float

    def fit(self, shape: Shape, log_speed: float) -> _Fit:
        """Return the best gain, 0 or above, and what it leaves unexplained."""
        speed = math.exp(log_speed)
        curve = [shape(speed * x) for x in self.xs]
        weighted = list(map(mul, self.weights, curve))
        spread = sum(map(mul, weighted, curve)) - sum(weighted) ** 2 / self.effective
        common = sum(map(mul, self.pulls, curve))
        if spread <= _FLAT or common <= 0:  # the values do not fall with it
            return _Fit(shape, log_speed, self.spread, 0.0)
        gain = common / spread
        return _Fit(shape, log_speed, max(0.0, self.spread - gain * common), gain)

    def roughly(self, shape: Shape) -> _Fit:
        """Return the fit with the best speed of a grid."""
        return min(
            (self.fit(shape, _SLOWEST + i * _STEP) for i in range(_COARSE)), key=lambda f: f.error
        )

    def refined(self, best: _Fit) -> _Fit:
        """Return a fit with a better speed, by parabolas through its neighbours."""
        reach = _STEP
        for _ in range(_REFINEMENTS):
            reach /= 2
            low = self.fit(best.shape, max(_SLOWEST, best.log_speed - reach))
            high = self.fit(best.shape, min(_FASTEST, best.log_speed + reach))
            tried = [best, low, high]
            bend = low.error - 2 * best.error + high.error
            if bend > 0:
                shift = reach * (low.error - high.error) / (2 * bend)
                vertex = best.log_speed + max(-reach, min(reach, shift))
                tried.append(self.fit(best.shape, max(_SLOWEST, min(_FASTEST, vertex))))
            best = min(tried, key=lambda f: f.error)
        return best


class Drop(msgspec.Struct, frozen=True):
    """How far the curve falls from its last point on.

    Attributes:
        value: The fall, 0 or above.
        noise: Standard deviation of a point around the curve.
    """

    value: float
    noise: float


def further_drop(xs: Sequence[float], ys: Sequence[float], until: float) -> Drop:
    """Return how far the curve falls from the last point to ``until``; 0 if it does not fall.

    Args:
        xs: Rising, within 0…1; at least ``LEAST_POINTS``.
        ys: The values there, of moderate size (about -1…1).
        until: 1, where the last point is, or above.

    Source:
        Zhang, Stafman, Or, Freedman, "SLAQ: Quality-Driven Scheduling for Distributed Machine
        Learning", SoCC 2017: the two forms, recent points weigh more.
    """
    samples = _samples(xs, ys)
    best = min((samples.refined(samples.roughly(shape)) for shape in SHAPES), key=lambda f: f.error)
    noise = best.error / max(1.0, samples.effective - _UNKNOWNS)
    return Drop(best.drop(until) if best.gain else 0.0, math.sqrt(noise))


def _samples(xs: Sequence[float], ys: Sequence[float]) -> _Samples:
    last = len(xs) - 1
    raw = [OLDEST_WEIGHT ** (1 - i / last) for i in range(len(xs))]
    effective = sum(raw) ** 2 / sum(map(mul, raw, raw))
    weights = [w * effective / sum(raw) for w in raw]
    mean = sum(map(mul, weights, ys)) / effective
    centred = [y - mean for y in ys]
    pulls = list(map(mul, weights, centred))
    return _Samples(xs, weights, effective, pulls, sum(map(mul, pulls, centred)))
