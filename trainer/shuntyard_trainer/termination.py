"""SIGTERM: remembered at once, acted upon between two steps."""

from __future__ import annotations

import os
import signal
import threading
from types import FrameType
from typing import Any, NoReturn

from shuntyard_trainer.errors import SettingError

EXIT_CODE = 128 + signal.SIGTERM
"""143, as a shell counts it. 0 would tell Kubernetes that the training is complete."""


class Termination:
    """Whether the pod has been told to end.

    The handler sets a flag and nothing else, so a second SIGTERM changes nothing: it does not
    interrupt a save. A forked child (a data loader, a pool) keeps the handler that was there
    before ours, and so does this process after ``close``, whoever brings our handler back.
    """

    def __init__(self) -> None:
        self.requested = False
        self._process = os.getpid()
        self._before: Any = signal.SIG_DFL
        self._handles = False

    def handle_sigterm(self) -> None:
        """Catch SIGTERM from now on; again: even if somebody has put another handler there.

        Raises:
            SettingError: This is not the main thread.
        """
        if threading.current_thread() is not threading.main_thread():
            raise SettingError(
                "SIGTERM can be caught on the main thread only: make this object there, or give "
                "handle_sigterm=False and call terminate() where your program learns of the end"
            )
        before = signal.signal(signal.SIGTERM, self._note)
        if not self._handles:
            self._before, self._handles = before, True

    def request(self) -> None:
        """Remember that the pod is to end; any thread and any signal handler may call it."""
        self.requested = True

    def close(self) -> None:
        """From now on SIGTERM does what it did before."""
        if self._handles and signal.getsignal(signal.SIGTERM) == self._note:
            signal.signal(signal.SIGTERM, self._previous())
        self._handles = False

    def leave(self) -> NoReturn:
        """End the process with 143, at the boundary between two steps."""
        raise SystemExit(EXIT_CODE)

    def _note(self, _number: int, _frame: FrameType | None) -> None:
        if self._handles and os.getpid() == self._process:
            self.requested = True
        else:
            signal.signal(signal.SIGTERM, self._previous())
            os.kill(os.getpid(), signal.SIGTERM)

    def _previous(self) -> Any:
        return signal.SIG_DFL if self._before is None else self._before
