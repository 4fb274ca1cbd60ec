"""What users write of a job's worth and of its training: two annotations, read and written.

``shuntyard.io/utility``::

    sigmoid:100,2,4h         γ1 = 100, γ2 = 2 per hour, γ3 = 4 h: half of it is lost after 4 h
    steps:2h=100,4h=50       100 if it is done within 2 h, 50 within 4 h, then nothing

``shuntyard.io/training``::

    epochs=90,chunks=8,batches=40,step=1.5s,gradient=30Mi,bandwidth=1Gbit,ps-bandwidth=5Gbit

Times run from the creation of the job to its completion.
"""

import itertools
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from typing import Final

from extender.core.cluster import utility
from shared import duration, labels, quantity
from shared.errors import InputError

_UTILITY_FIELD: Final = f"annotation {labels.UTILITY}"
_TRAINING_FIELD: Final = f"annotation {labels.TRAINING}"
_UTILITY_EXPECTED: Final = "sigmoid:100,2,4h (worth, loss per hour, time) or steps:2h=100,4h=50"
LEAST_BATCH_SECONDS: Final = 1e-30
MOST_BATCH_SECONDS: Final = 1e9
"""Of a mini-batch on one worker, as it may be measured: it is written as a Go duration."""
BATCH_EXPECTED: Final = (
    f"seconds of a mini-batch between {LEAST_BATCH_SECONDS:g} and {MOST_BATCH_SECONDS:g}"
)
_MOST_TEXT: Final = 4096
"""Some hundred steps; what is longer would be looked at in every cycle."""
_MOST_KNOWN: Final = 4096
"""Texts that are not read again in every cycle."""
_MOST_WORTH: Final = 1e100
_SECONDS_AN_HOUR: Final = 3600.0
_NUMBER: Final = re.compile(r"[0-9]+\.?[0-9]*|\.[0-9]+")
_WHOLE: Final = re.compile(r"[0-9]{1,9}")
_BIT: Final = "bit"
_COUNTS: Final = ("epochs", "chunks", "batches")
_TIMES: Final = ("step", "whole-step")
_BANDWIDTHS: Final = ("bandwidth", "ps-bandwidth")
_KEYS: Final = (*_COUNTS, *_TIMES, "gradient", *_BANDWIDTHS)


@dataclass(frozen=True)
class Sigmoid:
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
        """Return what completing so many seconds after the creation is worth."""
        decay = self.decay_per_hour / _SECONDS_AN_HOUR
        return utility.Sigmoid(self.priority, decay, self.target_seconds).of(duration)


UtilityCurve = Sigmoid | utility.Steps
"""What completing is worth, by seconds from creation to completion."""


@dataclass(frozen=True)
class Training:
    """``shuntyard.io/training``.

    Attributes:
        epochs: E.
        chunks: N, also the most workers at a time.
        batches: M, mini-batches of a chunk.
        step_seconds: τ, what one worker takes to compute the gradient of a mini-batch; None: not
            stated, it has to be measured.
        whole_step_seconds: The same with push and pull, as it was measured; then gradient and
            bandwidth add nothing.
        gradient_bytes: e, what a worker pushes, and pulls, for each mini-batch; None: not stated
            although it is exchanged, since a bandwidth is.
        bandwidth: b, bits per second of a worker.
        ps_bandwidth: B, bits per second of a parameter server.
    """

    epochs: int
    chunks: int
    batches: int
    step_seconds: float | None = None
    whole_step_seconds: float | None = None
    gradient_bytes: int | None = 0
    bandwidth: float | None = None
    ps_bandwidth: float | None = None

    @property
    def exchange_seconds(self) -> float:
        """2e/b, the time of push and pull."""
        return 16.0 * (self.gradient_bytes or 0) / self.bandwidth if self.bandwidth else 0.0

    @property
    def complete(self) -> bool:
        """Whether it states how long a mini-batch takes with push and pull."""
        stated = self.step_seconds is not None and self.gradient_bytes is not None
        return stated or self.whole_step_seconds is not None


def is_batch(seconds: float) -> bool:
    """Return True if a mini-batch can take so long: trainers may report anything."""
    return LEAST_BATCH_SECONDS <= seconds <= MOST_BATCH_SECONDS


@lru_cache(_MOST_KNOWN)
def utility_of(text: str) -> UtilityCurve:
    """Read ``shuntyard.io/utility``.

    Raises:
        InputError: It is no utility.
    """
    if len(text) > _MOST_TEXT:
        raise InputError(_UTILITY_FIELD, text, f"{_UTILITY_EXPECTED}, of {_MOST_TEXT} characters")
    kind, _, rest = text.partition(":")
    parts = [part.strip() for part in rest.split(",")]
    try:
        if kind == "sigmoid" and len(parts) == 3:  # noqa: PLR2004 - γ1, γ2, γ3
            found = Sigmoid(_number(parts[0]), _number(parts[1]), _seconds(parts[2]))
            if found.priority > 0:
                return found
        if kind == "steps":
            return _steps(parts)
    except ValueError:
        pass
    raise InputError(_UTILITY_FIELD, text, _UTILITY_EXPECTED)


def utility_text(worth: UtilityCurve) -> str:
    """Write it so that ``utility_of`` reads the same."""
    if isinstance(worth, Sigmoid):
        numbers = f"{_plain(worth.priority)},{_plain(worth.decay_per_hour)}"
        return f"sigmoid:{numbers},{_plain(worth.target_seconds)}s"
    return "steps:" + ",".join(f"{_plain(at)}s={_plain(value)}" for at, value in worth.steps)


@lru_cache(_MOST_KNOWN)
def training_of(text: str) -> Training:
    """Read ``shuntyard.io/training``.

    Raises:
        InputError: A part cannot be used, or is missing.
    """
    parts = _parts(text)
    for name in _COUNTS:
        if name not in parts:
            raise InputError(_TRAINING_FIELD, text, f"that it has {name}=…, e.g. {name}=10")
    if "gradient" in parts and "bandwidth" not in parts:
        raise InputError(_TRAINING_FIELD, text, "that bandwidth is there, as gradient is")
    step, whole = (_time(parts, name) for name in _TIMES)
    bandwidth, ps_bandwidth = (_bandwidth(parts, name) for name in _BANDWIDTHS)
    return Training(
        epochs=_count(parts, "epochs"),
        chunks=_count(parts, "chunks"),
        batches=_count(parts, "batches"),
        step_seconds=step,
        whole_step_seconds=whole,
        gradient_bytes=_gradient(parts),
        bandwidth=bandwidth,
        ps_bandwidth=ps_bandwidth,
    )


def training_text(training: Training) -> str:
    """Write it so that ``training_of`` reads the same."""
    parts = [f"epochs={training.epochs}", f"chunks={training.chunks}"]
    parts.append(f"batches={training.batches}")
    if training.step_seconds is not None:
        parts.append(f"step={_plain(training.step_seconds)}s")
    if training.whole_step_seconds is not None:
        parts.append(f"whole-step={_plain(training.whole_step_seconds)}s")
    if training.bandwidth is not None:
        if training.gradient_bytes is not None:
            parts.append(f"gradient={training.gradient_bytes}")
        parts.append(f"bandwidth={_plain(training.bandwidth)}{_BIT}")
    if training.ps_bandwidth is not None:
        parts.append(f"ps-bandwidth={_plain(training.ps_bandwidth)}{_BIT}")
    return ",".join(parts)


def _steps(parts: list[str]) -> utility.Steps:
    pairs = [part.partition("=") for part in parts]
    steps = tuple((_seconds(at.strip()), _number(value.strip())) for at, _, value in pairs)
    neighbours = itertools.pairwise(steps)
    if any(a[0] >= b[0] or a[1] <= b[1] for a, b in neighbours) or steps[-1][1] <= 0:
        raise ValueError("deadlines rise, values fall")
    return utility.Steps(steps)


def _parts(text: str) -> Mapping[str, str]:
    parts: dict[str, str] = {}
    for part in text.split(","):
        key, equals, value = (piece.strip() for piece in part.partition("="))
        if key not in _KEYS or not equals:
            raise InputError(_TRAINING_FIELD, part.strip(), f"one of {', '.join(_KEYS)}, and =")
        if key in parts:
            raise InputError(_TRAINING_FIELD, text, f"{key} once")
        parts[key] = value
    return parts


def _count(parts: Mapping[str, str], name: str) -> int:
    text = parts[name]
    if not _WHOLE.fullmatch(text) or int(text) < 1:
        raise InputError(f"{name} of {_TRAINING_FIELD}", text, "an integer of at least 1")
    return int(text)


def _time(parts: Mapping[str, str], name: str) -> float | None:
    if name not in parts:
        return None
    field = f"{name} of {_TRAINING_FIELD}"
    found = duration.parse(parts[name], field=field)
    if found <= 0:
        raise InputError(field, parts[name], "a Go duration above 0 such as 1.5s")
    return found


def _gradient(parts: Mapping[str, str]) -> int | None:
    if "gradient" in parts:
        return _bytes(parts["gradient"])
    return None if "bandwidth" in parts else 0


def _bytes(text: str) -> int:
    field = f"gradient of {_TRAINING_FIELD}"
    found = quantity.parse(text, field=field)
    if found < 0:
        raise InputError(field, text, "bytes such as 30Mi")
    return math.ceil(found)


def _bandwidth(parts: Mapping[str, str], name: str) -> float | None:
    if name not in parts:
        return None
    field, text = f"{name} of {_TRAINING_FIELD}", parts[name]
    number = text.removesuffix(_BIT)
    found = quantity.parse(number, field=field) if number != text else Fraction(0)
    if found <= 0:
        raise InputError(field, text, "bits per second such as 1Gbit")
    return float(found)


def _number(text: str) -> float:
    if not _NUMBER.fullmatch(text):
        raise ValueError(text)
    found = float(text)
    if found > _MOST_WORTH:  # sums of them, and what they cost, are to be numbers
        raise ValueError(text)
    return found


def _seconds(text: str) -> float:
    try:
        found = duration.parse(text)
    except InputError:
        raise ValueError(text) from None
    if found <= 0:
        raise ValueError(text)
    return found


def _plain(number: float) -> str:
    """Write a number without an exponent, to the last bit."""
    return format(Decimal(repr(float(number))).normalize(), "f")
