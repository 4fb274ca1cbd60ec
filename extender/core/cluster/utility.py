"""What a job's completion is worth, by how long it took (docs/policies/admission.md)."""

import math
from dataclasses import dataclass
from typing import Protocol

_STEEPEST = 700.0
"""exp() of more overflows; the utility is 0 there in every digit."""


class Utility(Protocol):
    """A non-negative function of the time from arrival to completion that never rises."""

    def of(self, duration: float) -> float:
        """Return the utility of completing ``duration`` after arrival, in the unit of the rule."""
        ...


@dataclass(frozen=True)
class Sigmoid:
    """f(u) = γ1 / (1 + exp(γ2·(u - γ3))).

    Attributes:
        priority: γ1, the utility of an early completion (half of it where γ2 = 0).
        decay: γ2 ≥ 0 per unit of time: 0 for a job that does not care, large for a hard deadline.
        target: γ3, when half of it is lost.

    Source:
        Bao, Peng, Wu, Li, INFOCOM 2018, Sect. V.
    """

    priority: float
    decay: float
    target: float

    def of(self, duration: float) -> float:
        """Return the utility; stable for every argument."""
        exponent = self.decay * (duration - self.target)
        if exponent > _STEEPEST:
            return 0.0
        return self.priority / (1.0 + math.exp(exponent))


@dataclass(frozen=True)
class Steps:
    """A value for each deadline: the first that is kept counts, 0 after the last.

    Attributes:
        steps: Pairs of deadline and value; deadlines rise, values fall.
    """

    steps: tuple[tuple[float, float], ...]

    def of(self, duration: float) -> float:
        """Return the value of the first deadline that is not passed."""
        return next((value for deadline, value in self.steps if duration <= deadline), 0.0)
