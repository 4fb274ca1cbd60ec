"""Between two steps: is there anything to do?"""

from __future__ import annotations

import math

from shuntyard_trainer.clock import Clock
from shuntyard_trainer.errors import SettingError
from shuntyard_trainer.mailbox import Mailbox
from shuntyard_trainer.orders import Decision, Order
from shuntyard_trainer.ranks import Ranks
from shuntyard_trainer.records import Request
from shuntyard_trainer.termination import Termination


class Boundary:
    """Looks for reasons to save.

    Args:
        mailbox: None on every rank but the first, and where nobody asks.
        poll_seconds: Least time between two looks for a request.
        save_every_seconds: Save without being asked; None: never.
        agree_every_steps: With several ranks: how many boundaries make one question to all.

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
        self._next_look = -math.inf
        self._next_save = math.inf
        self._passed = 0
        self.saved()

    def saved(self) -> None:
        """Begin the time to the next save anew."""
        if self._save_every_seconds is not None:
            self._next_save = self._monotonic() + self._save_every_seconds

    def due(self, step: int) -> Order | None:
        """Return what is to be done, the same on every rank; None, nearly always: nothing.

        Alone, this reads the monotonic clock and looks at a flag, and once in ``poll_seconds`` at
        a file. With several ranks it is one ``agree`` in ``agree_every_steps`` calls.
        """
        if self._ranks.alone:
            if self._monotonic() < self._next_look and not self._termination.requested:
                return None
        else:
            self._passed += 1
            if self._passed % self._agree_every_steps:
                return None
        return self._ask(step)

    def _ask(self, step: int) -> Order | None:
        request = self._request()
        decision = Decision(self._ranks.largest(self._mine(request)))
        if decision is Decision.GO_ON:
            return None
        return Order(decision, step, self._clock.now(), request)

    def _request(self) -> Request | None:
        now = self._monotonic()
        if self._mailbox is None or (now < self._next_look and not self._termination.requested):
            self._next_look = max(self._next_look, now)
            return None
        self._next_look = now + self._poll_seconds
        return self._mailbox.new_request()

    def _mine(self, request: Request | None) -> Decision:
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
