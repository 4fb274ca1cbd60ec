"""How fast a job trains while its members are apart, ``shuntyard.io/spread-speeds``.

``rack=0.8, zone=0.5``: while they are in several racks it trains at 0.8 of the speed that it has in
one rack, and in several zones at 0.5. What is not stated is not known, and counts nothing.
"""

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from shared import labels
from shared.errors import InputError

MOST_LEVELS: Final = 8
MOST_TEXTS: Final = 256
FIELD: Final = f"annotation {labels.SPREAD_SPEEDS}"
_PART: Final = re.compile(r"\s*([^\s=,]{1,253})\s*=\s*(0\.[0-9]{1,4}|1(?:\.0{1,4})?)\s*")


@dataclass(frozen=True)
class SpreadSpeed:
    """What several domains of a level cost.

    Attributes:
        level: Name or label of the level; the settings decide whether it exists.
        speed: A part of the speed in one domain, above 0, at most 1.
    """

    level: str
    speed: float


@lru_cache(MOST_TEXTS)
def spread_speeds_of(text: str) -> tuple[SpreadSpeed, ...]:
    """Read the annotation.

    Raises:
        InputError: A part cannot be used.
    """
    parts = text.split(",")
    if len(parts) > MOST_LEVELS:
        raise InputError(FIELD, text, f"at most {MOST_LEVELS} levels")
    found = tuple(_speed(text, part) for part in parts)
    if len({one.level for one in found}) < len(found):
        raise InputError(FIELD, text, "each level once")
    return found


def _speed(text: str, part: str) -> SpreadSpeed:
    match = _PART.fullmatch(part)
    if match is None or float(match[2]) <= 0:
        raise InputError(
            FIELD, text, "levels with speeds above 0 and up to 1, as rack=0.8,zone=0.5"
        )
    return SpreadSpeed(match[1], float(match[2]))
