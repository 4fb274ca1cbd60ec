"""How the certificates of other replicas are judged, renewed with the file of who signed them."""

import logging
import ssl
import threading
from pathlib import Path

log = logging.getLogger(__name__)


class Trust:
    """A context that is kept while its file stays as it is; its users keep their connections.

    Args:
        authority: Authorities in PEM; None: those of the system, which do not change while we run.
    """

    def __init__(self, authority: Path | None) -> None:
        self._authority = authority
        self._lock = threading.Lock()
        self._context: ssl.SSLContext | None = None
        self._contents = b""
        self._told = ""

    def context(self) -> ssl.SSLContext:
        """Return what judges them now. Blocks for file reads.

        A file that cannot be used is said once, and the one before stays in use.

        Raises:
            OSError: It cannot be used, and there is none before it.
        """
        with self._lock:
            try:
                context = self._latest()
            except OSError as error:  # no such authorities: an ssl.SSLError, which is one too
                if self._context is None:
                    raise
                context = self._context
                self._tell(f"authorities {self._authority} stay as they were: {error}")
            else:
                self._told = ""
            return context

    def _latest(self) -> ssl.SSLContext:
        contents = b"" if self._authority is None else self._authority.read_bytes()
        if self._context is None or contents != self._contents:
            self._context = ssl.create_default_context(cafile=self._authority)
            self._contents = contents
        return self._context

    def _tell(self, problem: str) -> None:
        if problem != self._told:
            log.warning("%s", problem)
        self._told = problem
