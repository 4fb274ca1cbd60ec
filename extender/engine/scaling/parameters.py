"""Within which limits jobs change their workers: what ``policy.scaling`` does not say."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

BOUNDS: Final[Mapping[str, tuple[float, float]]] = {
    "cooldown_seconds": (0, 86400),
    "most_rescales_per_hour": (1, 1000),
    "checkpoint_seconds": (1, 86400),
    "hold_seconds": (1, 86400),
    "grow_seconds": (1, 86400),
    "leave_seconds": (1, 86400),
    "most_open": (0, 1000),
}
"""Lowest and highest value of each number in ``RescaleParameters``."""


@dataclass(frozen=True)
class RescaleParameters:
    """Limits and deadlines of changes.

    Attributes:
        enabled: Whether elastic jobs change at all.
        cooldown_seconds: Pause of a job from one change to the next, except to make room for a
            job that starts; a job that has just been given workers keeps them so long.
        most_rescales_per_hour: Changes of one job in any hour; a slot plan's do not count.
        checkpoint_seconds: How long trainers have to save before workers leave.
        hold_seconds: How long they then hold; by then the workers must have left.
        grow_seconds: How long new workers may wait for room before they are given back.
        leave_seconds: How long workers that leave may take to end, before the change counts as
            done without them.
        most_open: Changes that are open at a time; those of slot plans come on top.
    """

    enabled: bool = True
    cooldown_seconds: float = 60.0
    most_rescales_per_hour: int = 12
    checkpoint_seconds: float = 120.0
    hold_seconds: float = 120.0
    grow_seconds: float = 120.0
    leave_seconds: float = 600.0
    most_open: int = 16
