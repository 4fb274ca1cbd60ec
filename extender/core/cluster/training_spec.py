"""The training of a job as its user states it: an annotation, read and written.

``shuntyard.io/training``::

    epochs=90,chunks=8,batches=40,step=1.5s,gradient=30Mi,bandwidth=1Gbit,ps-bandwidth=5Gbit
"""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Final

from extender.core.cluster.utility import MOST_TEXTS, plain
from shared import duration, labels, quantity
from shared.errors import InputError

_FIELD: Final = f"annotation {labels.TRAINING}"
LEAST_BATCH_SECONDS: Final = 1e-30
MOST_BATCH_SECONDS: Final = 1e9
"""Of a mini-batch on one worker, as it may be measured: it is written as a Go duration."""
BATCH_EXPECTED: Final = (
    f"seconds of a mini-batch between {LEAST_BATCH_SECONDS:g} and {MOST_BATCH_SECONDS:g}"
)
_WHOLE: Final = re.compile(r"[0-9]{1,9}")
_BIT: Final = "bit"
_COUNTS: Final = ("epochs", "chunks", "batches")
_TIMES: Final = ("step", "whole-step")
_BANDWIDTHS: Final = ("bandwidth", "ps-bandwidth")
_KEYS: Final = (*_COUNTS, *_TIMES, "gradient", *_BANDWIDTHS)


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


@lru_cache(MOST_TEXTS)
def training_of(text: str) -> Training:
    """Read ``shuntyard.io/training``.

    Raises:
        InputError: A part cannot be used, or is missing.
    """
    parts = _parts(text)
    for name in _COUNTS:
        if name not in parts:
            raise InputError(_FIELD, text, f"complete: {name}=… is missing, e.g. {name}=10")
    if "gradient" in parts and "bandwidth" not in parts:
        raise InputError(_FIELD, text, "complete: gradient needs bandwidth")
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
    """Return the annotation that ``training_of`` reads as the same."""
    parts = [f"epochs={training.epochs}", f"chunks={training.chunks}"]
    parts.append(f"batches={training.batches}")
    if training.step_seconds is not None:
        parts.append(f"step={plain(training.step_seconds)}s")
    if training.whole_step_seconds is not None:
        parts.append(f"whole-step={plain(training.whole_step_seconds)}s")
    if training.bandwidth is not None:
        if training.gradient_bytes is not None:
            parts.append(f"gradient={training.gradient_bytes}")
        parts.append(f"bandwidth={plain(training.bandwidth)}{_BIT}")
    if training.ps_bandwidth is not None:
        parts.append(f"ps-bandwidth={plain(training.ps_bandwidth)}{_BIT}")
    return ",".join(parts)


def _parts(text: str) -> Mapping[str, str]:
    parts: dict[str, str] = {}
    for part in text.split(","):
        key, equals, value = (piece.strip() for piece in part.partition("="))
        if key not in _KEYS or not equals:
            raise InputError(_FIELD, part.strip(), f"one of {', '.join(_KEYS)}, and =")
        if key in parts:
            raise InputError(_FIELD, text, f"{key} once")
        parts[key] = value
    return parts


def _count(parts: Mapping[str, str], name: str) -> int:
    text = parts[name]
    if not _WHOLE.fullmatch(text) or int(text) < 1:
        raise InputError(f"{name} of {_FIELD}", text, "an integer of at least 1")
    return int(text)


def _time(parts: Mapping[str, str], name: str) -> float | None:
    if name not in parts:
        return None
    field = f"{name} of {_FIELD}"
    seconds = duration.parse(parts[name], field=field)
    if seconds <= 0:
        raise InputError(field, parts[name], "a Go duration above 0 such as 1.5s")
    return seconds


def _gradient(parts: Mapping[str, str]) -> int | None:
    if "gradient" in parts:
        return _bytes(parts["gradient"])
    return None if "bandwidth" in parts else 0


def _bytes(text: str) -> int:
    field = f"gradient of {_FIELD}"
    size = quantity.parse(text, field=field)
    if size < 0:
        raise InputError(field, text, "bytes such as 30Mi")
    return math.ceil(size)


def _bandwidth(parts: Mapping[str, str], name: str) -> float | None:
    if name not in parts:
        return None
    field, text = f"{name} of {_FIELD}", parts[name]
    number = text.removesuffix(_BIT)
    bits = quantity.parse(number, field=field) if number != text else Fraction(0)
    if bits <= 0:
        raise InputError(field, text, "bits per second such as 1Gbit")
    return float(bits)
