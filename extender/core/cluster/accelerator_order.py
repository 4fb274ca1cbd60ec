"""The order of GPU models that a job prefers, ``shuntyard.io/accelerators``.

``h100>a100``: an H100 rather than an A100. ``h100=2.5>a100=1`` also states how fast the job trains
on each; only the ratios matter. On other models it may run as well, if none of these has room.
"""

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from shared import labels
from shared.errors import InputError

MOST_MODELS: Final = 8
MOST_TEXTS: Final = 256
_FIELD: Final = f"annotation {labels.ACCELERATORS}"
_PART: Final = re.compile(
    r"\s*([A-Za-z0-9](?:[A-Za-z0-9._-]{0,61}[A-Za-z0-9])?)"
    r"(?:\s*=\s*([0-9]{1,4}(?:\.[0-9]{1,4})?))?\s*"
)


@dataclass(frozen=True)
class Accelerator:
    """A model, and how fast the job trains on it.

    Attributes:
        model: Words of the product label, in lower case.
        speed: Relative to the other models; above 0; None if no speed is stated.
    """

    model: str
    speed: float | None = None


@lru_cache(MOST_TEXTS)
def order_of(text: str) -> tuple[Accelerator, ...]:
    """Read the annotation, the most preferred model first.

    Raises:
        InputError: A part cannot be used.
    """
    parts = text.split(">")
    if len(parts) > MOST_MODELS:
        raise InputError(_FIELD, text, f"at most {MOST_MODELS} models")
    order = tuple(_accelerator(text, part) for part in parts)
    if len({one.model for one in order}) < len(order):
        raise InputError(_FIELD, text, "each model once")
    if len({one.speed is None for one in order}) > 1:
        raise InputError(_FIELD, text, "a speed for each model, or for none, as h100=2.5>a100=1")
    return order


def _accelerator(text: str, part: str) -> Accelerator:
    match = _PART.fullmatch(part)
    if match is None:
        raise InputError(_FIELD, text, "models with > between them, as h100>a100")
    speed = None if match[2] is None else float(match[2])
    if speed is not None and speed <= 0:
        raise InputError(_FIELD, text, "speeds above 0, as h100=2.5>a100=1")
    return Accelerator(match[1].lower(), speed)
