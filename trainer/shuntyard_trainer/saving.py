"""Checkpoints: written through to the storage, complete on all ranks, and found for resuming."""

from __future__ import annotations

import logging
import os
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Callable, Union

from shuntyard_trainer import records
from shuntyard_trainer.clock import Clock
from shuntyard_trainer.durable import make_durable, size_bytes
from shuntyard_trainer.errors import SaveError, SettingError, UnloadableError
from shuntyard_trainer.mailbox import Mailbox, read_record
from shuntyard_trainer.ranks import Ranks
from shuntyard_trainer.records import Saved
from shuntyard_trainer.verifying import Loading, Verifier, Verify

log = logging.getLogger(__name__)
Where = Union[str, "os.PathLike[str]", None]
"""Result of a save function: the file or directory, an address, or None if unknown."""


class Pending:
    """Result of a save function that writes in the background.

    Args:
        where: Where the checkpoint will be.
        wait: Waits until it is written; raises if it could not be.
        done: Returns True if ``wait`` would return at once.
    """

    def __init__(self, where: Where, wait: Callable[[], object], done: Callable[[], bool]) -> None:
        self._where = where
        self._wait = wait
        self.done = done

    @classmethod
    def of_future(cls, where: Where, future: Any) -> Pending:
        """Return one for a ``concurrent.futures.Future``, whatever its result is."""
        return cls(where, future.result, future.done)

    def result(self) -> Where:
        """Wait until it is written, and return where."""
        self._wait()
        return self._where


Save = Callable[[int], Union[Where, Pending]]
"""Writes a checkpoint, or begins to; takes the number of completed steps."""
MOST_ERROR_CHARACTERS = 1000
"""Characters of an error in an answer: the agent reads files of at most 64 KiB."""


def last_saved(directory: Path | None) -> Saved | None:
    """Return the last complete checkpoint, with a path that can be opened; None: there is none.

    A checkpoint that was deleted is logged and ignored: the directory was emptied to start from
    scratch.
    """
    if directory is None:
        return None
    file = directory / records.FOLDER / records.SAVED
    record = read_record(file)
    if record is None:
        return None
    try:
        saved = records.saved_from(record)
    except ValueError as error:
        log.warning("%s is ignored: %s", file, error)
        return None
    if not saved.path or is_address(saved.path):
        return saved
    path = directory / saved.path
    if not path.exists():
        log.warning("%s names %s, which does not exist: training starts from scratch", file, path)
        return None
    return replace(saved, path=str(path))


def is_address(path: str) -> bool:
    """Return True for an address such as ``s3://bucket/step-7``."""
    return "://" in path


def secure(where: Where) -> str:
    """Flush a checkpoint to the storage and return its path.

    Raises:
        OSError: It does not exist, or the storage reports an error.
    """
    path = "" if where is None else os.fspath(where)
    if path and not is_address(path):
        make_durable(Path(path).resolve())
    return path


def describe(saved: Saved, clock: Clock, below: Path | None) -> Saved:
    """Return the record of a checkpoint that is complete now.

    ``below`` is the checkpoint directory: a path in it is stored relative to it, because the next
    pod may mount the volume elsewhere.

    Raises:
        OSError: The checkpoint does not exist.
    """
    if not saved.path or is_address(saved.path):
        return replace(saved, finished_at=clock.now())
    absolute = Path(saved.path).resolve()
    shown = str(absolute)
    if below is not None and below.resolve() in absolute.parents:
        shown = str(absolute.relative_to(below.resolve()))
    return replace(saved, path=shown, bytes=size_bytes(absolute), finished_at=clock.now())


@dataclass(frozen=True)
class Started:
    """A save that was begun.

    Attributes:
        step: Completed steps.
        started_at: Seconds since the epoch.
        found: What the save function returned.
        error: Why it could not be begun; empty if it was.
    """

    step: int
    started_at: float
    found: Where | Pending = None
    error: str = ""

    @property
    def is_done(self) -> bool:
        """True if nothing is to be waited for."""
        return not isinstance(self.found, Pending) or self.found.done()

    def result(self) -> Where:
        """Wait, and return where it is."""
        return self.found.result() if isinstance(self.found, Pending) else self.found


class Saver:
    """Saves, waits for the other ranks, verifies, and writes ``saved.json``.

    Args:
        save: Writes a checkpoint; None: the framework does, and calls ``complete``.
        directory: The checkpoint directory; None: there is none.
        mailbox: None on every rank but the first.
        verifier: Used on the first rank, for the path that it returned.
        inspect: Raises if a part of a checkpoint is missing; called on the first rank at each save.
        every_rank_saves: ``save`` is called on every rank, else on the first.
        every_rank_verifies: ``verify`` is called on every rank, which loads a part of its own.
    """

    def __init__(
        self,
        save: Save | None,
        directory: Path | None,
        mailbox: Mailbox | None,
        ranks: Ranks,
        clock: Clock,
        verifier: Verifier,
        *,
        inspect: Verify | None,
        every_rank_saves: bool,
        every_rank_verifies: bool,
    ) -> None:
        self.can_save = save is not None
        self._save = save
        self._directory = directory
        self._mailbox = mailbox
        self._ranks = ranks
        self._clock = clock
        self._verifier = verifier
        self._inspect = inspect
        self._verifies_apart = every_rank_verifies and not ranks.alone
        self._saves_here = every_rank_saves or ranks.first
        self._last: Saved | None = None

    def save(self, step: int, hold_until: float | None = None) -> Saved:
        """Save this step, and wait for the end; one that this process has saved is not saved again.

        ``hold_until`` is the end of the hold of a request, seconds since the epoch; the check of
        the checkpoint ends well before.

        Raises:
            SaveError: It failed, here or on another rank; raised on every rank.
            SettingError: There is no save function.
        """
        if self.is_saved(step) and self._last is not None:
            return self._last
        return self.finish(self.begin(step), hold_until)

    def begin(self, step: int) -> Started:
        """Begin to save this step; ``finish`` must follow, on every rank.

        Raises:
            SettingError: There is no save function.
        """
        if self._save is None:
            raise SettingError("there is no save function: give one to Checkpoints")
        return self._begin(step, self._clock.now(), partial(self._save, step))

    def complete(
        self, step: int, where: Where, started_at: float, hold_until: float | None = None
    ) -> Saved:
        """Return the record of a checkpoint that a framework has written.

        Raises:
            SaveError: It does not exist, here or on another rank; raised on every rank.
        """
        return self.finish(self._begin(step, started_at, lambda: where), hold_until)

    def finish(self, started: Started, hold_until: float | None) -> Saved:
        """Wait until the checkpoint is written on every rank, check it, write ``saved.json``.

        Raises:
            SaveError: It failed, here or on another rank; raised on every rank.
        """
        path, error = "", started.error
        if not error:
            try:
                path = secure(started.result())
            except Exception as failure:  # noqa: BLE001 - a user's function; it is logged
                error = _failed(started.step, failure)
        self._require_all(error)
        saved = Saved(started.step, path, 0, started.started_at, self._clock.now())
        self._require_all(error := self._checked(path, hold_until, started.step))
        if self._ranks.first:
            try:
                saved = describe(saved, self._clock, self._directory)
                if self._mailbox is not None:
                    self._mailbox.write_saved(saved)
            except OSError as failure:
                error = _discounted(started.step, failure)
        self._require_all(error)
        self._last = saved
        return saved

    def is_saved(self, step: int) -> bool:
        """Return True if this process saved this step; an earlier one may have been another run."""
        return self._last is not None and self._last.step == step

    def _begin(self, step: int, started_at: float, write: Callable[[], Where | Pending]) -> Started:
        try:
            self._ranks.require_same_step(step)
            if self._mailbox is not None:
                self._mailbox.require_latest()
            found = write() if self._saves_here else None
        except Exception as failure:  # noqa: BLE001 - a user's function; it is logged
            return Started(step, started_at, None, _failed(step, failure))
        return Started(step, started_at, found)

    def _checked(self, path: str, hold_until: float | None, step: int) -> str:
        """Return why it does not count, empty if it does; the first rank decides on loading."""
        if path and not is_address(path):
            path = str(Path(path).resolve())
        loading, error = None, ""
        try:
            if self._ranks.first:
                left = None if hold_until is None else hold_until - self._clock.now()
                loading = self._verifier.begin(path, left, self._inspect)
        except (OSError, UnloadableError) as failure:
            error = _discounted(step, failure)
        loading = self._shared(loading) if self._verifies_apart else loading
        try:
            if loading is not None:
                self._verifier.load(path, loading)
        except UnloadableError as failure:
            error = _discounted(step, failure)
        return error

    def _shared(self, mine: Loading | None) -> Loading | None:
        """Return on every rank what the first one has decided: one number says both."""
        own = 0 if mine is None else 2 + 2 * int(mine.seconds * 1000) + mine.is_requested
        number = self._ranks.largest(own)
        if own or not number:
            return mine
        return Loading(None, (number // 2 - 1) / 1000, is_requested=bool(number % 2))

    def _require_all(self, error: str) -> None:
        if not self._ranks.all_ok(not error):
            raise SaveError(error or "another rank could not save")


def _failed(step: int, failure: Exception) -> str:
    log.warning("step %d could not be saved", step, exc_info=failure)
    return _describe(failure)


def _discounted(step: int, failure: Exception) -> str:
    log.warning("the checkpoint of step %d does not count", step, exc_info=failure)
    return _describe(failure)


def _describe(failure: Exception) -> str:
    return f"{type(failure).__name__}: {failure}"[:MOST_ERROR_CHARACTERS]
