"""Reading ``request.json`` over and over, for the price of one ``stat``."""

from __future__ import annotations

import logging
import os
from pathlib import Path

from shuntyard_trainer import json_file, records
from shuntyard_trainer.records import Request

log = logging.getLogger(__name__)


class RequestFile:
    """What the agent asks for now; the file is read only when it is another one than before."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._seen: tuple[int, int, int] | None = None
        self._request: Request | None = None

    def look(self) -> Request | None:
        """Return the request; None: no file, or one that cannot be used, which is logged."""
        try:
            if self._seen != _identity(self._path.stat()):
                self._read()
        except FileNotFoundError:
            self._seen = self._request = None
        except OSError as error:
            log.warning("%s cannot be read: %s", self._path, error)
            self._seen = self._request = None
        return self._request

    def _read(self) -> None:
        with self._path.open("rb") as file:
            identity = _identity(os.fstat(file.fileno()))
            data = file.read(json_file.MOST_BYTES + 1)
        self._seen, self._request = identity, None
        try:
            self._request = records.request_from(json_file.parse(data))
        except ValueError as error:
            log.warning("%s is ignored: %s", self._path, error)


def _identity(status: os.stat_result) -> tuple[int, int, int]:
    return status.st_ino, status.st_mtime_ns, status.st_size
