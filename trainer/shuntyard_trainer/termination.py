"""SIGTERM: recorded immediately, handled between two steps."""

from __future__ import annotations

import os
import signal
import threading
from types import FrameType
from typing import Any, NoReturn

from shuntyard_trainer.errors import SettingError

EXIT_CODE = 128 + signal.SIGTERM
"""143, as in a shell. To Kubernetes 0 would mean that the training is complete."""


class Termination:
    """Records that the pod must end.

    The handler only sets a flag, so a second SIGTERM has no effect: it does not interrupt a save. A
    forked child (a data loader, a pool) uses the previous handler, and so does this process after
    ``close``, even if our handler is installed again.
    """

    def __init__(self) -> None:
        self.requested = False
        self._process = os.getpid()
        self._before: Any = signal.SIG_DFL
        self._handles = False

    def handle_sigterm(self) -> None:
        """Catch SIGTERM from now on; a second call replaces any other handler.

        Raises:
            SettingError: This is not the main thread.
        """
        if threading.current_thread() is not threading.main_thread():
            raise SettingError(
                "SIGTERM can be caught on the main thread only: create this object there, or give "
                "handle_sigterm=False and call terminate() where your program learns of the end"
            )
        before = signal.signal(signal.SIGTERM, self._note)
        if not self._handles:
            self._before, self._handles = before, True

    def request(self) -> None:
        """Record that the pod must end; any thread and any signal handler may call it."""
        self.requested = True

    def close(self) -> None:
        """Restore the previous handler of SIGTERM."""
        if self._handles and signal.getsignal(signal.SIGTERM) == self._note:
            signal.signal(signal.SIGTERM, self._previous())
        self._handles = False

    def leave(self) -> NoReturn:
        """Exit with 143, at the boundary between two steps."""
        raise SystemExit(EXIT_CODE)

    def _note(self, _number: int, _frame: FrameType | None) -> None:
        if self._handles and os.getpid() == self._process:
            self.requested = True
        else:
            signal.signal(signal.SIGTERM, self._previous())
            os.kill(os.getpid(), signal.SIGTERM)

    def _previous(self) -> Any:
        return signal.SIG_DFL if self._before is None else self._before
