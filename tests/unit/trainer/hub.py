"""A hub of ranks: each gives a number and gets the largest when all have given one."""

from __future__ import annotations

import socket
import threading
from types import TracebackType


class Hub:
    def __init__(self, world_size: int) -> None:
        self.rounds = 0
        self._world_size = world_size
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self._thread = threading.Thread(target=self._serve)

    def __enter__(self) -> Hub:  # noqa: PYI034 - Python 3.9 has no Self
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._thread.join(timeout=60)
        assert not self._thread.is_alive()

    def _serve(self) -> None:
        with self._listener:
            self._listener.settimeout(60)
            sockets = [self._listener.accept()[0] for _ in range(self._world_size)]
        files = [connection.makefile("rw") for connection in sockets]
        while True:
            numbers = [file.readline() for file in files]
            if not all(numbers):
                break
            self.rounds += 1
            largest = max(int(number) for number in numbers)
            for file in files:
                file.write(f"{largest}\n")
                file.flush()
        for each in (*files, *sockets):
            each.close()
        assert not any(numbers), "some ranks have ended and others have not"
