"""Carries out what a boundary has decided: saves now or in the background, then answers."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Callable

from shuntyard_trainer.answering import Answering
from shuntyard_trainer.boundary import Boundary, Decision, Order
from shuntyard_trainer.errors import SaveError
from shuntyard_trainer.ranks import Ranks
from shuntyard_trainer.records import Saved
from shuntyard_trainer.saving import Saver, Started, Where


class Orders:
    """See the module; the same on every rank.

    At most one save runs in the background. It is finished before another one begins, so
    ``saved.json`` never goes back.

    Args:
        train_while_saving: With a save function that returns ``Pending``: training goes on while a
            requested checkpoint is written, and the trainer holds when it is complete.
    """

    def __init__(
        self,
        saver: Saver,
        answering: Answering,
        boundary: Boundary,
        ranks: Ranks,
        *,
        train_while_saving: bool,
    ) -> None:
        self._saver = saver
        self._answering = answering
        self._boundary = boundary
        self._ranks = ranks
        self._train_while_saving = train_while_saving
        self._running: tuple[Started, Order] | None = None

    def carry_out(self, order: Order | None, completed: int) -> None:
        """Carry out an order at a boundary; None: only look after the save in the background.

        Raises:
            SystemExit: With 143, after SIGTERM.
        """
        if self._running is not None:
            order = self._look_after(*self._running, order, completed)
        if order is None:
            return
        holds = order.decision is Decision.HOLD and not self._train_while_saving
        if holds or order.decision is Decision.TERMINATE or self._saver.is_saved(order.step):
            save = partial(self._saver.save, order.step, order.hold_until)
            self._answering.finish(order, self._attempt(save))
            return
        started = self._saver.begin(order.step)
        if self._ranks.largest(0 if started.is_done else 1):
            self._boundary.saved()
            self._running = started, order
        else:
            finish = partial(self._saver.finish, started, order.hold_until)
            self._answering.finish(order, self._attempt(finish))

    def conclude(self, order: Order, where: Where) -> None:
        """Complete an order whose checkpoint a framework has written.

        Raises:
            SystemExit: With 143, after SIGTERM.
        """
        complete = partial(self._saver.complete, order.step, where, order.started_at)
        self._answering.finish(order, self._attempt(partial(complete, order.hold_until)))

    def wait(self) -> None:
        """Wait for the save in the background; its failure is logged, its request answered."""
        if self._running is not None:
            started, order = self._running
            self._answering.answer(order, order.request, self._end(started, order))

    def _look_after(
        self, started: Started, running: Order, order: Order | None, completed: int
    ) -> Order | None:
        """Finish the save in the background if it is written or must be; return what is left.

        A request that waits for this save is found again at each look, and a save without a
        request is not needed while another one runs.
        """
        decision = Decision.GO_ON if order is None else order.decision
        waits = running.decision is Decision.HOLD
        must = decision is Decision.TERMINATE or (decision is Decision.HOLD and not waits)
        if not must and self._ranks.largest(0 if started.is_done else 1):
            return None
        result = self._end(started, running)
        if decision is Decision.TERMINATE:
            self._answering.answer(running, running.request, result)
            return _without(running, order)
        if waits:
            late = replace(running, redone_steps=completed - running.step)
            self._answering.finish(late, result)
            return None
        return order if must else None

    def _end(self, started: Started, order: Order) -> Saved | SaveError:
        self._running = None
        return self._attempt(partial(self._saver.finish, started, order.hold_until))

    def _attempt(self, save: Callable[[], Saved]) -> Saved | SaveError:
        self._boundary.saved()
        try:
            return save()
        except SaveError as error:
            return error


def _without(running: Order, order: Order | None) -> Order | None:
    """Return the order without the request that was answered just now."""
    if order is None or order.request is None or running.request is None:
        return order
    return replace(order, request=None) if order.request.id == running.request.id else order
