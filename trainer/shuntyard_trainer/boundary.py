"""Between two steps: what is to be done, decided by all ranks together."""

from __future__ import annotations

import enum
import logging
import math
from dataclasses import dataclass

from shuntyard_trainer.clock import Clock
from shuntyard_trainer.errors import SettingError
from shuntyard_trainer.mailbox import Mailbox
from shuntyard_trainer.ranks import Ranks
from shuntyard_trainer.records import Request
from shuntyard_trainer.termination import Termination

log = logging.getLogger(__name__)


class Decision(enum.IntEnum):
    """What every rank does at this boundary; of several decisions the largest counts."""

    GO_ON = 0
    SAVE = 1
    """Save and go on."""
    HOLD = 2
    """Save, answer, and take no step until released."""
    TERMINATE = 3
    """Save and exit with 143."""
    STALE = 4
    """Another copy of this training has begun: exit with 143, without a save."""


@dataclass(frozen=True)
class Order:
    """A decision other than ``GO_ON``, which all ranks carry out.

    Attributes:
        decision: What to do.
        step: Completed steps.
        started_at: When it was decided, seconds since the epoch.
        request: The agent's request; known to rank 0 only.
        redone_steps: Steps made since, while the checkpoint was written; a next life repeats them.
    """

    decision: Decision
    step: int
    started_at: float
    request: Request | None = None
    redone_steps: int = 0

    @property
    def hold_until(self) -> float | None:
        """When the hold after the answer ends; None if this process will not hold."""
        if self.request is None or self.decision is not Decision.HOLD:
            return None
        return self.request.hold_deadline


class Boundary:
    """Checks for reasons to save.

    Args:
        mailbox: None on every rank but the first, and without an agent.
        poll_seconds: Least time between two checks for a request.
        save_every_seconds: Save without a request; None: never.
        agree_every_steps: With several ranks: boundaries per ``agree``.

    Raises:
        SettingError: An interval is not above 0.
    """

    def __init__(
        self,
        mailbox: Mailbox | None,
        ranks: Ranks,
        termination: Termination,
        clock: Clock,
        *,
        poll_seconds: float,
        save_every_seconds: float | None,
        agree_every_steps: int,
    ) -> None:
        _above_zero("poll_seconds", poll_seconds)
        _above_zero("save_every_seconds", save_every_seconds)
        _above_zero("agree_every_steps", agree_every_steps)
        self._mailbox = mailbox
        self._ranks = ranks
        self._termination = termination
        self._clock = clock
        self._monotonic = clock.monotonic
        self._poll_seconds = poll_seconds
        self._save_every_seconds = save_every_seconds
        self._agree_every_steps = agree_every_steps
        self._next_check = -math.inf
        self._next_save = math.inf
        self._passed = 0
        self.saved()

    def saved(self) -> None:
        """Restart the time to the next save."""
        if self._save_every_seconds is not None:
            self._next_save = self._monotonic() + self._save_every_seconds

    def due(self, step: int) -> Order | None:
        """Return what is to be done, the same on every rank; usually None.

        With one rank, this reads the monotonic clock and a flag, and once in ``poll_seconds`` a
        file. With several ranks it is one ``agree`` in ``agree_every_steps`` calls.

        Raises:
            SystemExit: With 143, if another copy of this training has begun.
        """
        if self._ranks.alone:
            if self._monotonic() < self._next_check and not self._termination.requested:
                return None
        else:
            self._passed += 1
            if self._passed % self._agree_every_steps:
                return None
        return self._decide(step)

    def _decide(self, step: int) -> Order | None:
        request = self._request()
        decision = Decision(self._ranks.largest(self._mine(request)))
        if decision is Decision.GO_ON:
            return None
        if decision is Decision.STALE:
            log.error("another copy of this training has begun: this one ends without a save")
            self._termination.leave()
        return Order(decision, step, self._clock.now(), request)

    def _request(self) -> Request | None:
        now = self._monotonic()
        if self._mailbox is None or (now < self._next_check and not self._termination.requested):
            self._next_check = max(self._next_check, now)
            return None
        self._next_check = now + self._poll_seconds
        return self._mailbox.new_request()

    def _mine(self, request: Request | None) -> Decision:
        if self._mailbox is not None and self._mailbox.superseded:
            return Decision.STALE
        if self._termination.requested:
            return Decision.TERMINATE
        if request is not None:
            return Decision.HOLD
        if self._ranks.first and self._monotonic() >= self._next_save:
            return Decision.SAVE
        return Decision.GO_ON


def _above_zero(name: str, value: float | None) -> None:
    if value is not None and not value > 0:
        raise SettingError(f"{name}={value!r} is not above 0")
