"""After the save: answer the request, then hold until the pod is ended or released."""

from __future__ import annotations

import enum
import logging
import math

from shuntyard_trainer.boundary import Decision, Order
from shuntyard_trainer.clock import Clock
from shuntyard_trainer.errors import SaveError
from shuntyard_trainer.mailbox import Mailbox
from shuntyard_trainer.ranks import Ranks
from shuntyard_trainer.records import Request, Saved
from shuntyard_trainer.termination import Termination

REACTION_SECONDS = 0.02
"""How often SIGTERM is checked. An Event would need no polling, but can block forever if a signal
handler sets it while the same thread waits for it."""
log = logging.getLogger(__name__)


class Release(enum.IntEnum):
    """How a hold ends; of several reasons the largest counts."""

    NOT_YET = 0
    SUPERSEDED = 1
    """The agent requests a checkpoint with another id."""
    DEADLINE = 2
    CANCELLED = 3
    TERMINATED = 4


class Hold:
    """Waits until a hold ends, on all ranks together.

    Args:
        mailbox: None on every rank but the first.
        poll_seconds: Least time between two checks of the request.
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
            is_due = self._clock.monotonic() >= next_look
            if is_due:
                next_look = self._clock.monotonic() + self._poll_seconds
                request = self._newest(request)
            release = Release(self._ranks.largest(self._mine(request, is_due=is_due)))
            if release is not Release.NOT_YET:
                return release
            self._clock.sleep(REACTION_SECONDS)

    def _newest(self, request: Request | None) -> Request | None:
        """Return the current request: it may be cancelled, or have another hold deadline."""
        now = None if self._mailbox is None else self._mailbox.current()
        return now if now is not None and request is not None and now.id == request.id else request

    def _mine(self, request: Request | None, *, is_due: bool) -> Release:
        if self._termination.requested or (self._mailbox and self._mailbox.superseded):
            return Release.TERMINATED
        if request is None or self._mailbox is None:
            return Release.NOT_YET
        if request.cancelled:
            return Release.CANCELLED
        if self._clock.now() >= request.hold_deadline:
            return Release.DEADLINE
        if is_due and self._mailbox.new_request() is not None:
            return Release.SUPERSEDED
        return Release.NOT_YET


_WHY = {Release.CANCELLED: "cancelled", Release.DEADLINE: "deadline"}


class Answering:
    """Completes an order, on all ranks together.

    Args:
        mailbox: None on every rank but the first.
    """

    def __init__(
        self, mailbox: Mailbox | None, ranks: Ranks, termination: Termination, hold: Hold
    ) -> None:
        self._mailbox = mailbox
        self._ranks = ranks
        self._termination = termination
        self._hold = hold

    def finish(self, order: Order, result: Saved | SaveError) -> None:
        """Answer the request, if there is one, and hold if the answer is a checkpoint.

        Raises:
            SystemExit: With 143, by the order or after SIGTERM during the hold.
        """
        answered = self.answer(order, order.request, result)
        if order.decision is Decision.TERMINATE:
            self._termination.leave()
        if order.decision is Decision.HOLD and self._ranks.all_ok(answered):
            self._stay(order, result)

    def keep_hold(self, request: Request | None) -> None:
        """Hold for a request that an earlier process of this pod has answered.

        Raises:
            SystemExit: With 143, after SIGTERM.
        """
        self._leave_or_release(self._hold.wait(request), request)

    def _stay(self, order: Order, result: Saved | SaveError) -> None:
        request, release = order.request, self._hold.wait(order.request)
        while release is Release.SUPERSEDED:
            request = None if self._mailbox is None else self._mailbox.new_request()
            asked = self._mailbox is None or request is not None
            if not self._ranks.all_ok(asked and self.answer(order, request, result)):
                return
            release = self._hold.wait(request)
        self._leave_or_release(release, request)

    def _leave_or_release(self, release: Release, request: Request | None) -> None:
        if release is Release.TERMINATED:
            self._termination.leave()
        if self._mailbox is not None and request is not None and release in _WHY:
            try:
                self._mailbox.write_released(request, _WHY[release])
            except OSError:
                log.warning("the release of %s could not be written", request.id, exc_info=True)

    def answer(self, order: Order, request: Request | None, result: Saved | SaveError) -> bool:
        """Return True if the checkpoint was saved and, if requested, the answer was written."""
        saved = isinstance(result, Saved)
        if self._mailbox is None or request is None:
            return saved
        try:
            if isinstance(result, Saved):
                self._mailbox.answer_saved(request, result, order.redone_steps)
            else:
                self._mailbox.answer_failed(request, order.step, order.started_at, str(result))
        except OSError:
            log.warning("request %s could not be answered", request.id, exc_info=True)
            return False
        return saved
