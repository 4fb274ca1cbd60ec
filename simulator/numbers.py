"""Statistics: means over seeds, their spread, quantiles."""

import math
import statistics
from collections.abc import Iterable, Sequence

from msgspec import Struct


class Spread(Struct, frozen=True, tag=True):
    """A mean over seeds.

    Attributes:
        mean: Arithmetic mean.
        deviation: Sample standard deviation; 0 for a single value.
        count: Number of values.
    """

    mean: float
    deviation: float
    count: int

    @property
    def error(self) -> float:
        """Standard error of the mean."""
        return self.deviation / math.sqrt(self.count) if self.count else 0.0


def spread(values: Iterable[float]) -> Spread:
    """Return mean and sample standard deviation.

    Raises:
        ValueError: There are no values.
    """
    numbers = [float(value) for value in values]
    if not numbers:
        raise ValueError("no values: a mean needs at least one")
    deviation = statistics.stdev(numbers) if len(numbers) > 1 else 0.0
    return Spread(statistics.fmean(numbers), deviation, len(numbers))


def gain(value: float, reference: float) -> float:
    """Return by how many percent ``value`` is below ``reference``; negative where it is above."""
    return 100.0 * (1.0 - value / reference)


def quantile(values: Sequence[float], share: float) -> float:
    """Return the value below which ``share`` of the values lie, linear between neighbours.

    Raises:
        ValueError: There are no values, or ``share`` is not within 0…1.
    """
    if not values or not 0.0 <= share <= 1.0:
        raise ValueError(f"quantile {share:g} of {len(values)} values: expected 0…1 of some values")
    ordered = sorted(values)
    position = share * (len(ordered) - 1)
    low = math.floor(position)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (position - low) * (ordered[high] - ordered[low])
