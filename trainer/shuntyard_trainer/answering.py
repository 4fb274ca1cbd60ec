"""After the save: answer who asked, hold, go on or end."""

from __future__ import annotations

import logging

from shuntyard_trainer.errors import SaveError
from shuntyard_trainer.holding import Hold, Release
from shuntyard_trainer.mailbox import Mailbox
from shuntyard_trainer.orders import Decision, Order
from shuntyard_trainer.ranks import Ranks
from shuntyard_trainer.records import Request, Saved
from shuntyard_trainer.termination import Termination

log = logging.getLogger(__name__)
_WHY = {Release.CANCELLED: "cancelled", Release.DEADLINE: "deadline"}


class Answering:
    """Carries an order to its end, on all ranks in step.

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
            SystemExit: With 143, if the order or SIGTERM during the hold says so.
        """
        answered = self._answer(order, order.request, result)
        if order.decision is Decision.TERMINATE:
            self._termination.leave()
        if order.decision is Decision.HOLD and self._ranks.all_ok(answered):
            self._stay(order, result)

    def keep_hold(self, request: Request | None) -> None:
        """Hold for a request that an earlier life of this pod has answered.

        Raises:
            SystemExit: With 143, after SIGTERM.
        """
        self._leave_or_release(self._hold.wait(request), request)

    def _stay(self, order: Order, result: Saved | SaveError) -> None:
        request, release = order.request, self._hold.wait(order.request)
        while release is Release.SUPERSEDED:
            request = None if self._mailbox is None else self._mailbox.new_request()
            asked = self._mailbox is None or request is not None
            if not self._ranks.all_ok(asked and self._answer(order, request, result)):
                return
            release = self._hold.wait(request)
        self._leave_or_release(release, request)

    def _leave_or_release(self, release: Release, request: Request | None) -> None:
        if release is Release.TERMINATED:
            self._termination.leave()
        if self._mailbox is not None and request is not None and release in _WHY:
            try:
                self._mailbox.tell_released(request, _WHY[release])
            except OSError:
                log.warning("the release of %s could not be told", request.id, exc_info=True)

    def _answer(self, order: Order, request: Request | None, result: Saved | SaveError) -> bool:
        """Return whether the agent now knows of a checkpoint; nobody to tell counts as told."""
        saved = isinstance(result, Saved)
        if self._mailbox is None or request is None:
            return saved
        try:
            if isinstance(result, Saved):
                self._mailbox.tell_acked(request, result)
            else:
                self._mailbox.tell_failed(request, order.step, order.started_at, str(result))
        except OSError:
            log.warning("request %s could not be answered", request.id, exc_info=True)
            return False
        return saved
