"""What is to be done between two steps."""

from __future__ import annotations

import enum
from dataclasses import dataclass

from shuntyard_trainer.records import Request


class Decision(enum.IntEnum):
    """What every rank does at this boundary; of several the largest counts."""

    GO_ON = 0
    SAVE = 1
    """Save and go on."""
    HOLD = 2
    """Save, answer, and take no step until released."""
    TERMINATE = 3
    """Save and end with 143."""


@dataclass(frozen=True)
class Order:
    """A decision other than ``GO_ON``, which all ranks carry out.

    Attributes:
        decision: What to do.
        step: Steps that are completed.
        started_at: When it was decided, seconds since the epoch.
        request: What the agent asked for; known to rank 0 only.
    """

    decision: Decision
    step: int
    started_at: float
    request: Request | None = None
