"""All-reduce of a step: collects one vector of each rank and returns the mean to all."""

import threading
from collections.abc import Callable
from socket import socket

import numpy as np
import wire
from model import Vector


class Reducer:
    """Adds up a step's vectors in the order of the ranks, so that a run can be repeated exactly.

    A member that comes (again) gets the present step and parameters and continues from there.

    Args:
        ranks: How many members contribute.
        steps: After how many steps it is over.
        parameters: What the members start from.
        apply: Parameters and mean gradient to new parameters.
    """

    def __init__(
        self, ranks: int, steps: int, parameters: Vector, apply: Callable[[Vector, Vector], Vector]
    ) -> None:
        self.ranks, self.steps = ranks, steps
        self.step, self.parameters = 0, parameters
        self._apply = apply
        self._given: dict[int, Vector] = {}
        self._left: set[int] = set()
        self._changed = threading.Condition()

    def contribute(self, rank: int, step: int, gradient: Vector) -> tuple[int, Vector]:
        """Wait until every rank has sent its gradient; return the next step and its parameters."""
        with self._changed:
            if step == self.step:
                self._given[rank] = gradient
                if len(self._given) == self.ranks:
                    self._finish_step()
                else:
                    self._changed.wait_for(lambda: self.step > step)
            return self.step, self.parameters

    def _finish_step(self) -> None:
        mean = np.mean([self._given[rank] for rank in sorted(self._given)], axis=0)
        self.parameters = self._apply(self.parameters, mean)
        self.step += 1
        self._given.clear()
        self._changed.notify_all()

    def leave(self, rank: int) -> None:
        """Record that a rank has the last parameters."""
        with self._changed:
            self._left.add(rank)
            self._changed.notify_all()

    def wait_until_all_left(self, others: int) -> None:
        """Return when so many ranks have left."""
        with self._changed:
            self._changed.wait_for(lambda: len(self._left) >= others)

    def serve(self, listener: socket) -> None:
        """Answer members for ever, each in a thread of its own; run it in a daemon thread."""
        while True:
            connection, _ = listener.accept()
            connection.settimeout(wire.SILENCE_SECONDS)
            threading.Thread(target=self._serve_member, args=(connection,), daemon=True).start()

    def _serve_member(self, connection: socket) -> None:
        try:
            with connection:
                rank, _ = wire.receive(connection)
                wire.send(connection, self.step, self.parameters)
                while self.step < self.steps:
                    step, gradient = wire.receive(connection)
                    wire.send(connection, *self.contribute(rank, step, gradient))
                wire.receive(connection)  # goodbye
            self.leave(rank)
        except OSError as error:
            print(f"a member is gone: {error}", flush=True)
