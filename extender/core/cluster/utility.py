"""The worth of a job's completion by how long it took, and the annotation that states it.

``shuntyard.io/utility``::

    sigmoid:100,2,4h         γ1 = 100, γ2 = 2 per hour, γ3 = 4 h: half of it is lost after 4 h
    steps:2h=100,4h=50       100 if it is done within 2 h, 50 within 4 h, then nothing

Times run from the creation of the job to its completion (docs/policies/admission.md).
"""

import itertools
import math
import re
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache
from typing import Final, Protocol

from shared import duration, labels
from shared.errors import InputError

_FIELD: Final = f"annotation {labels.UTILITY}"
_EXPECTED: Final = "sigmoid:100,2,4h (worth, loss per hour, time) or steps:2h=100,4h=50"
_MOST_TEXT: Final = 4096
"""Some hundred steps; a longer text would cost time in every pass."""
MOST_TEXTS: Final = 4096
"""Texts that are kept parsed, so that no pass parses them again."""
_MOST_WORTH: Final = 1e100
_SECONDS_AN_HOUR: Final = 3600.0
_NUMBER: Final = re.compile(r"[0-9]+\.?[0-9]*|\.[0-9]+")
_STEEPEST: Final = 700.0
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


@dataclass(frozen=True)
class StatedSigmoid:
    """``sigmoid:γ1,γ2,γ3``.

    Attributes:
        priority: γ1 above 0.
        decay_per_hour: γ2, at least 0: 0 for a job that can wait, 5 or more for a deadline.
        target_seconds: γ3 above 0, when half of it is lost.
    """

    priority: float
    decay_per_hour: float
    target_seconds: float

    def of(self, duration: float) -> float:
        """Return the worth of completing so many seconds after the creation."""
        decay = self.decay_per_hour / _SECONDS_AN_HOUR
        return Sigmoid(self.priority, decay, self.target_seconds).of(duration)


UtilityCurve = StatedSigmoid | Steps
"""The worth of completing, by seconds from creation to completion."""


@lru_cache(MOST_TEXTS)
def utility_of(text: str) -> UtilityCurve:
    """Read ``shuntyard.io/utility``.

    Raises:
        InputError: It is no utility.
    """
    if len(text) > _MOST_TEXT:
        raise InputError(_FIELD, text, f"{_EXPECTED}, of {_MOST_TEXT} characters")
    kind, _, rest = text.partition(":")
    parts = [part.strip() for part in rest.split(",")]
    try:
        if kind == "sigmoid" and len(parts) == 3:  # noqa: PLR2004 - γ1, γ2, γ3
            curve = StatedSigmoid(_number(parts[0]), _number(parts[1]), _seconds(parts[2]))
            if curve.priority > 0:
                return curve
        if kind == "steps":
            return _steps(parts)
    except ValueError:
        pass
    raise InputError(_FIELD, text, _EXPECTED)


def utility_text(worth: UtilityCurve) -> str:
    """Return the annotation that ``utility_of`` reads as the same."""
    if isinstance(worth, StatedSigmoid):
        numbers = f"{plain(worth.priority)},{plain(worth.decay_per_hour)}"
        return f"sigmoid:{numbers},{plain(worth.target_seconds)}s"
    return "steps:" + ",".join(f"{plain(at)}s={plain(value)}" for at, value in worth.steps)


def _steps(parts: list[str]) -> Steps:
    pairs = [part.partition("=") for part in parts]
    steps = tuple((_seconds(at.strip()), _number(value.strip())) for at, _, value in pairs)
    neighbours = itertools.pairwise(steps)
    if any(a[0] >= b[0] or a[1] <= b[1] for a, b in neighbours) or steps[-1][1] <= 0:
        raise ValueError("deadlines rise, values fall")
    return Steps(steps)


def _number(text: str) -> float:
    if not _NUMBER.fullmatch(text):
        raise ValueError(text)
    number = float(text)
    if number > _MOST_WORTH:  # sums of them, and what they cost, are to be numbers
        raise ValueError(text)
    return number


def _seconds(text: str) -> float:
    try:
        seconds = duration.parse(text)
    except InputError:
        raise ValueError(text) from None
    if seconds <= 0:
        raise ValueError(text)
    return seconds


def plain(number: float) -> str:
    """Write a number without an exponent, to the last bit."""
    return format(Decimal(repr(float(number))).normalize(), "f")
