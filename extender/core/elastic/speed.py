"""How fast a job trains with w workers and p parameter servers (docs/policies/speed.md).

The form is that of Optimus. More workers share the computing, and all of them load the servers:
with one global batch there is a number of workers beyond which a job gets slower.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from extender.core.parameters.elastic import SpeedParameters

FloatMatrix = NDArray[np.float64]


class Mode(StrEnum):
    """What a worker waits for."""

    SYNC = "sync"
    """One global batch, shared by all workers; a step ends with the last of them."""
    ASYNC = "async"
    """Every worker has a batch of its own and waits for no other worker."""
    LINEAR = "linear"
    """As ``ASYNC``, and communication costs nothing: the bound from above."""


@dataclass(frozen=True)
class StepTime:
    """T(p, w) = A/w + b + c·w/p + d·w + e·p, in seconds; no coefficient is below 0.

    Attributes:
        compute: A; what one worker would compute, alone.
        fixed: b; the same for every p and w.
        exchange: c; each server's part of the traffic of all workers.
        per_worker: d.
        per_server: e.

    Source:
        Optimus (Peng et al., EuroSys 2018), equation of synchronous training.
    """

    compute: float
    fixed: float
    exchange: float = 0.0
    per_worker: float = 0.0
    per_server: float = 0.0

    def __post_init__(self) -> None:
        wrong = [v for v in self.coefficients if not (math.isfinite(v) and v >= 0.0)]
        if wrong or self.compute + self.fixed <= 0.0:
            raise ValueError(
                f"step time {self.coefficients}: expected five numbers ≥ 0, A + b above 0"
            )

    @property
    def coefficients(self) -> tuple[float, float, float, float, float]:
        """A, b, c, d, e."""
        return (self.compute, self.fixed, self.exchange, self.per_worker, self.per_server)

    def communication(self, workers: int, servers: int) -> float:
        """Return c·w/p + d·w + e·p in seconds; without servers d·w alone is left."""
        exchange = self.exchange * workers / servers if servers else 0.0
        return exchange + self.per_worker * workers + self.per_server * servers


@dataclass(frozen=True)
class Speed:
    """How fast one job trains.

    Attributes:
        step: Its step time.
        batch: M; samples of a step (``SYNC``), or of one worker's step.
        mode: See there.
        near_cost: As in ``SpeedParameters``.
    """

    step: StepTime
    batch: float = 1.0
    mode: Mode = Mode.SYNC
    near_cost: float = SpeedParameters.near_cost

    def rate(self, workers: int, servers: int, near: float = 0.0) -> float:
        """Return samples per second; 0 without workers.

        Args:
            workers: w.
            servers: p; 0 for a job whose workers exchange among themselves.
            near: φ: share of the workers that are on a node of a server, 0…1.

        Source:
            Optimus for ``SYNC`` and ``ASYNC``; the factor λφ + 1 - φ on communication is that of
            our model runs.
        """
        if workers <= 0:
            return 0.0
        spread = self.near_cost * near + 1.0 - near
        communication = spread * self.step.communication(workers, servers)
        computing = self.step.compute + self.step.fixed
        if self.mode is Mode.SYNC:
            alone = self.step.compute / workers + self.step.fixed
            return self.batch / (alone + communication)
        if self.mode is Mode.ASYNC:
            return workers * self.batch / (computing + communication)
        return workers * self.batch / computing


@dataclass(frozen=True)
class Measured:
    """A step time that was measured.

    Attributes:
        workers: w ≥ 1.
        servers: p ≥ 0.
        seconds: Of a step; of one worker's step where the mode is not ``SYNC``.
    """

    workers: int
    servers: int
    seconds: float


@dataclass(frozen=True)
class Fit:
    """A fitted step time.

    Attributes:
        step: The coefficients.
        mean_error: Mean of |fitted - measured| / measured.
    """

    step: StepTime
    mean_error: float


def fit(measured: Sequence[Measured], mode: Mode, params: SpeedParameters) -> Fit:
    """Return the step time with coefficients ≥ 0 that is closest in the sum of squares.

    Without servers, or with one and the same number of them, some coefficients cannot be
    distinguished. Then the sum over their columns is right for that number of servers only.

    Args:
        measured: Step times, several for one configuration if there are; order does not matter.
        mode: ``SYNC``: all five columns; otherwise A stands for A + b, as no measurement
            distinguishes them; ``LINEAR``: that one alone.
        params: How many counts of workers there must be.

    Raises:
        ValueError: A measurement cannot be one, or there are too few.

    Source:
        Optimus, Sect. 3.2 (non-negative least squares).
    """
    _check(measured, mode, params)
    ordered = sorted(measured, key=lambda m: (m.workers, m.servers, m.seconds))
    columns = np.array([_row(m, mode) for m in ordered])
    seconds = np.array([m.seconds for m in ordered])
    solution = non_negative(columns, seconds)
    fitted = columns @ solution
    numbers = [float(number) for number in solution]
    if mode is not Mode.SYNC:
        numbers = [numbers[0], 0.0, *numbers[1:]]
    if numbers[0] + numbers[1] <= 0.0:
        raise ValueError(
            "the fitted step time has no part that computes: these measurements grow with the "
            "workers from nothing, and no step does"
        )
    return Fit(StepTime(*numbers), float(np.mean(np.abs(fitted - seconds) / seconds)))


def non_negative(columns: FloatMatrix, values: FloatMatrix) -> FloatMatrix:
    """Return x ≥ 0 with the least |columns · x - values|², exactly.

    Some best x has independent columns where it is above 0, and there it is the plain least squares
    solution. So the best of all sets of columns is the answer; for five there are 32. Among equals
    the set with the fewest columns, then the first.

    Raises:
        ValueError: There are more than 12 columns.
    """
    rows, width = columns.shape
    if width > 12:  # noqa: PLR2004 - 4096 sets; no model of ours has more than five columns
        raise ValueError(f"{width} columns: expected at most 12")
    best = np.zeros(width)
    least = float(values @ values)
    tolerance = 1e-12 * max(least, 1e-300)
    scale = np.maximum(np.linalg.norm(columns, axis=0), 1e-300)
    for chosen in _sets(width, rows):
        part = columns[:, chosen] / scale[list(chosen)]
        solution, _, rank, _ = np.linalg.lstsq(part, values, rcond=1e-10)
        if rank < len(chosen) or (solution < 0.0).any():
            continue
        rest = part @ solution - values
        if (error := float(rest @ rest)) < least - tolerance:
            least = error
            best = np.zeros(width)
            best[list(chosen)] = solution / scale[list(chosen)]
    return best


def _sets(width: int, rows: int) -> Iterable[tuple[int, ...]]:
    for size in range(1, min(width, rows) + 1):
        yield from combinations(range(width), size)


def _row(measured: Measured, mode: Mode) -> list[float]:
    w, p = float(measured.workers), float(measured.servers)
    exchange = w / p if p else 0.0
    if mode is Mode.SYNC:
        return [1.0 / w, 1.0, exchange, w, p]
    return [1.0, exchange, w, p] if mode is Mode.ASYNC else [1.0]


def _check(measured: Sequence[Measured], mode: Mode, params: SpeedParameters) -> None:
    for one in measured:
        if one.workers < 1 or one.servers < 0:
            raise ValueError(f"{one}: expected at least one worker and no fewer than 0 servers")
        if not (math.isfinite(one.seconds) and one.seconds > 0.0):
            raise ValueError(f"{one}: expected a step of more than 0 seconds")
    counts = {one.workers for one in measured}
    least = 1 if mode is Mode.LINEAR else params.least_counts
    if len(counts) < least:
        raise ValueError(
            f"steps were measured with {len(counts)} numbers of workers: expected at least {least}"
        )
