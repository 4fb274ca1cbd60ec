"""After the answer: no step until the pod is ended or released."""

from __future__ import annotations

import enum
import math

from shuntyard_trainer.clock import Clock
from shuntyard_trainer.mailbox import Mailbox
from shuntyard_trainer.ranks import Ranks
from shuntyard_trainer.records import Request
from shuntyard_trainer.termination import Termination

REACTION_SECONDS = 0.02
"""How often SIGTERM is looked for. An Event would do it without waking up, but one that is set by
a signal handler while the same thread waits for it can wait for ever."""


class Release(enum.IntEnum):
    """How a hold ends; of several the largest counts."""

    NOT_YET = 0
    SUPERSEDED = 1
    """The agent asks for a checkpoint under another id."""
    DEADLINE = 2
    CANCELLED = 3
    TERMINATED = 4


class Hold:
    """Waits, on all ranks in step.

    Args:
        mailbox: None on every rank but the first.
        poll_seconds: Least time between two looks at the request.
    """

    def __init__(
        self,
        mailbox: Mailbox | None,
        ranks: Ranks,
        termination: Termination,
        clock: Clock,
        poll_seconds: float,
    ) -> None:
        self._mailbox = mailbox
        self._ranks = ranks
        self._termination = termination
        self._clock = clock
        self._poll_seconds = poll_seconds

    def wait(self, request: Request | None) -> Release:
        """Return how the hold of this request ended; the same on every rank."""
        next_look = -math.inf
        while True:
            look = self._clock.monotonic() >= next_look
            if look:
                next_look = self._clock.monotonic() + self._poll_seconds
                request = self._newest(request)
            release = Release(self._ranks.largest(self._mine(request, look=look)))
            if release is not Release.NOT_YET:
                return release
            self._clock.sleep(REACTION_SECONDS)

    def _newest(self, request: Request | None) -> Request | None:
        """Return the request as it is told now: a cancel, or another hold deadline."""
        now = None if self._mailbox is None else self._mailbox.current()
        return now if now is not None and request is not None and now.id == request.id else request

    def _mine(self, request: Request | None, *, look: bool) -> Release:
        if self._termination.requested:
            return Release.TERMINATED
        if request is None or self._mailbox is None:
            return Release.NOT_YET
        if request.cancelled:
            return Release.CANCELLED
        if self._clock.now() >= request.hold_deadline:
            return Release.DEADLINE
        if look and self._mailbox.new_request() is not None:
            return Release.SUPERSEDED
        return Release.NOT_YET
