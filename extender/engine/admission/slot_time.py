"""Time slots: numbered since the epoch, so that every replica and every life counts alike."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

BOUNDS: Final[Mapping[str, tuple[float, float]]] = {
    "slot_seconds": (1, 86400),
    "horizon": (1, 1000),
    "share": (0.0, 1.0),
    "profile_seconds": (1, 86400),
    "profile_steps": (1, 1_000_000),
    "profile_spread": (0.001, 1.0),
}
"""Lowest and highest value of each number in ``SlotTimeParameters``."""


class WhenGone(StrEnum):
    """What becomes of a job that would be worth nothing even if it began now."""

    HOLD = "hold"
    """It waits on, and says why."""
    QUEUE = "queue"
    """It waits like a job without a utility, in the others' share."""


class Unmeasured(StrEnum):
    """What becomes of a job that does not say how long its steps take, if nobody knows."""

    HOLD = "hold"
    """It waits until somebody says it."""
    PROFILE = "profile"
    """It runs like a job without a utility, in the others' share, until agents have measured it."""


@dataclass(frozen=True)
class SlotTimeParameters:
    """How time and machines are given to jobs with a utility.

    Attributes:
        enabled: Whether jobs with a utility are admitted by price; else they wait like all others.
        slot_seconds: Length of a slot.
        horizon: Slots that plans reach ahead, the present one counted.
        share: Part of every node that is theirs; the rest is the other jobs'.
        server_label: Label of nodes on which parameter servers run and no workers; empty: every
            node can hold both.
        when_gone: What becomes of a job whose utility is gone.
        unmeasured: What becomes of a job of which nobody knows how long its steps take.
        profile_seconds: After how long of running without a result its owner is told so.
        profile_steps: Steps that must have been seen before their time counts as measured.
        profile_spread: Largest standard error of that time, as a part of it.
    """

    enabled: bool = False
    slot_seconds: float = 600.0
    horizon: int = 144
    share: float = 0.5
    server_label: str = ""
    when_gone: WhenGone = WhenGone.HOLD
    unmeasured: Unmeasured = Unmeasured.PROFILE
    profile_seconds: float = 600.0
    profile_steps: int = 20
    profile_spread: float = 0.1


def slot_at(now: float, slot_seconds: float) -> int:
    """Return the number of the slot in which ``now`` lies, counted since the epoch."""
    return int(now // slot_seconds)


def begins_at(slot: int, slot_seconds: float) -> float:
    """Return when a slot begins, seconds since the epoch."""
    return slot * slot_seconds
