"""The workers beside rank 0 of an elastic training, which join and leave between two steps."""

import threading
from select import select
from socket import socket

import numpy as np
import wire
from model import Vector

OVER = -1
"""Sent instead of a step when the training is complete."""


class Crew:
    """The connected workers by rank; a new one joins at the next boundary."""

    def __init__(self, listener: socket) -> None:
        self.present: dict[int, socket] = {}
        self._came: dict[int, socket] = {}
        threading.Thread(target=self._listen, args=(listener,), daemon=True).start()

    def _listen(self, listener: socket) -> None:
        while True:
            connection, _ = listener.accept()
            connection.settimeout(wire.SILENCE_SECONDS)
            try:
                rank, _ = wire.receive(connection)
            except OSError as error:
                print(f"a caller did not say who it is: {error}", flush=True)
            else:
                self._came[rank] = connection

    def boundary(self) -> int:
        """Add new workers, drop those that left; return the number of workers, with rank 0."""
        while self._came:
            rank, connection = self._came.popitem()
            self.present[rank] = connection
            print(f"rank {rank} has come", flush=True)
        for rank in [rank for rank, connection in self.present.items() if _is_gone(connection)]:
            self._drop(rank)
        return 1 + len(self.present)

    def ask(self, rank: int, step: int, question: Vector) -> None:
        """Send a worker its part of a step."""
        try:
            wire.send(self.present[rank], step, question)
        except OSError:
            self._drop(rank)

    def given_by(self, rank: int) -> Vector | None:
        """Wait for a worker's result; None if it has left."""
        if rank not in self.present:
            return None
        try:
            return wire.receive(self.present[rank])[1]
        except OSError:
            self._drop(rank)
            return None

    def dismiss(self) -> None:
        """Notify all that the training is complete."""
        self.boundary()
        for rank in list(self.present):
            self.ask(rank, OVER, np.empty(0))

    def _drop(self, rank: int) -> None:
        self.present.pop(rank).close()
        print(f"rank {rank} has left", flush=True)


def _is_gone(connection: socket) -> bool:
    """Return True if the worker has left: between two steps there is nothing else to read."""
    return bool(select([connection], [], [], 0)[0])
