"""Before a checkpoint is acknowledged: can it be loaded?"""

from __future__ import annotations

import logging
import threading
from pathlib import Path
from typing import Callable, NamedTuple

from shuntyard_trainer.checkpoint_format import Format, examine
from shuntyard_trainer.clock import Clock
from shuntyard_trainer.errors import SettingError, UnloadableError

log = logging.getLogger(__name__)
Verify = Callable[[str], object]
"""Loads the checkpoint at a path or address as a new life would, and raises if it cannot be."""

FIRST, EVERY, NEVER = "first", "every", "never"
PART_OF_HOLD = 0.5
"""The agent must see the answer long before the hold ends."""


class Loading(NamedTuple):
    """How a checkpoint is to be loaded.

    Attributes:
        found: Its format; None for an address.
        seconds: It may take so long.
        is_requested: One that takes longer does not count.
    """

    found: Format | None
    seconds: float
    is_requested: bool


class Verifier:
    """Checks the files of every checkpoint, and loads one of each format.

    Loading takes memory and time, and what it finds is mostly a property of the format: a value
    that the loader refuses. So ``first`` loads when a format is new, and otherwise checks sizes,
    checksums and the names of classes (``checkpoint_format``).

    Args:
        verify: Loads a checkpoint; None: only its files are checked.
        when: ``first``, ``every`` or ``never``.
        seconds: Limit for one checkpoint. It is at most half of what is left of a hold.
        clock: Monotonic clock, for tests.

    Raises:
        SettingError: ``when`` is another text, or ``seconds`` is not above 0.
    """

    def __init__(
        self,
        verify: Verify | None = None,
        *,
        when: str = FIRST,
        seconds: float = 60.0,
        clock: Clock | None = None,
    ) -> None:
        if when not in {FIRST, EVERY, NEVER}:
            raise SettingError(f"when={when!r}: expected 'first', 'every' or 'never'")
        if not seconds > 0:
            raise SettingError(f"seconds={seconds!r} is not above 0")
        self._verify = verify
        self._when = when
        self._seconds = seconds
        self._clock = clock or Clock()
        self._loadable: set[Format | None] = set()
        self._loading: threading.Thread | None = None

    def check(self, path: str, hold_seconds: float | None) -> None:
        """Return if the checkpoint can be loaded: ``begin``, then ``load`` if that is left.

        Raises:
            UnloadableError: It cannot be loaded, or a requested one not within the limit.
            OSError: A file cannot be read.
        """
        left = self.begin(path, hold_seconds)
        if left is not None:
            self.load(path, left)

    def begin(
        self, path: str, hold_seconds: float | None, inspect: Verify | None = None
    ) -> Loading | None:
        """Check the files; return how it is to be loaded, None if it is not.

        Args:
            path: Absolute path, or an address; of an address only loading is checked.
            hold_seconds: Seconds until the end of the hold, which the check must not reach. None:
                the checkpoint is not requested, so it also counts if the time was too short.
            inspect: Raises if a part is missing or has another size.

        Raises:
            UnloadableError: A file is missing or not whole.
            OSError: A file cannot be read.
        """
        if not path or self._when == NEVER:
            return None
        limit = self._seconds
        if hold_seconds is not None:
            limit = min(limit, max(0.0, hold_seconds * PART_OF_HOLD))
        until = self._clock.monotonic() + limit
        found = None
        if "://" not in path:
            found = examine(Path(path), lambda: self._clock.monotonic() > until)
            if inspect is not None:
                _inspect(path, inspect)
        if self._verify is None or (self._when == FIRST and found in self._loadable):
            return None
        left = max(0.0, until - self._clock.monotonic())
        return Loading(found, left, is_requested=hold_seconds is not None)

    def load(self, path: str, loading: Loading) -> None:
        """Load, in a thread.

        If that takes too long the thread goes on: when it is done, the format is known.

        Raises:
            UnloadableError: It cannot be loaded, or a requested one not within the limit.
        """
        failures: list[BaseException] = []
        if self._loading is None or not self._loading.is_alive():
            thread = threading.Thread(
                target=self._run,
                args=(path, loading.found, failures),
                name="shuntyard-verify",
                daemon=True,
            )
            self._loading = thread
            thread.start()
            thread.join(loading.seconds)
            if failures:
                text = f"{path} cannot be loaded: {type(failures[0]).__name__}: {failures[0]}"
                raise UnloadableError(text) from failures[0]
            if not thread.is_alive():
                return
        text = f"{path} could not be loaded within {loading.seconds:.0f} s"
        if loading.is_requested:
            raise UnloadableError(text)
        log.warning("%s: it counts without this check", text)

    def _run(self, path: str, found: Format | None, failures: list[BaseException]) -> None:
        try:
            if self._verify is not None:
                self._verify(path)
        except BaseException as error:  # noqa: BLE001 - raised again where the save is
            failures.append(error)
        else:
            self._loadable.add(found)


def _inspect(path: str, inspect: Verify) -> None:
    try:
        inspect(path)
    except (OSError, UnloadableError):
        raise
    except Exception as error:  # whatever a framework raises for a broken file
        raise UnloadableError(f"{path} is not whole: {type(error).__name__}: {error}") from error
