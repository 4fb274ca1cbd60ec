"""The learning rate of a run, as its log states it: what it means for the curve of the metric.

A loss that stands still at a high learning rate often falls again when the rate is lowered. So a
window must not reach over a sudden change, and while the rate only rises the run warms up.
"""

import math
import re
from functools import lru_cache
from typing import Final

import msgspec

SUDDEN_RATIO: Final = 1.5
"""A change by this factor or more between two values is sudden; a smooth schedule is not."""
_NAME: Final = re.compile(
    r"(?:(?:train(?:ing)?|optim(?:izer)?|x)[/_.])?"
    r"(?:lr(?:ate)?|learning[ _-]?rate)(?:[/_.-]?(?:pg|group|adamw?|sgd)?[_-]?0?)?",
    re.IGNORECASE,
)


class Rate(msgspec.Struct, frozen=True):
    """What is known of the learning rate.

    Attributes:
        last: Its last value; None before the first.
        rises: It has only risen so far: warm-up.
        fell: It has fallen once.
        changed_at: Step of its last sudden change after the warm-up; None if there was none.
    """

    last: float | None = None
    rises: bool = False
    fell: bool = False
    changed_at: float | None = None


UNKNOWN: Final = Rate()


@lru_cache(maxsize=1024)
def is_rate(name: str) -> bool:
    """Return True if a series of this name is the learning rate (``lr``, ``train/lr``, ``lr/pg0``).

    Of several groups of parameters only the first one counts.
    """
    return _NAME.fullmatch(name) is not None


def observed(rate: Rate, step: float | None, value: float) -> Rate:
    """Return what is known after a further value; one that is no rate changes nothing.

    Args:
        rate: What was known.
        step: Step of the followed metric; None if unknown: then a sudden change is not placed.
        value: The rate, 0 or above.
    """
    if not (math.isfinite(value) and value >= 0) or rate.last == value:
        return rate if rate.last != value else msgspec.structs.replace(rate, rises=False)
    if rate.last is None:
        return Rate(last=value)
    fell = rate.fell or value < rate.last
    sudden = fell and not rate.last / SUDDEN_RATIO < value < rate.last * SUDDEN_RATIO
    return Rate(
        last=value,
        rises=not fell,
        fell=fell,
        changed_at=step if sudden and step is not None else rate.changed_at,
    )
