"""Checkpoints: written through to the storage, complete on all ranks, and found for resuming."""

from __future__ import annotations

import logging
import os
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Callable, Union

from shuntyard_trainer import records
from shuntyard_trainer.clock import Clock
from shuntyard_trainer.durable import make_durable, size_bytes
from shuntyard_trainer.errors import SaveError, SettingError, UnloadableError
from shuntyard_trainer.mailbox import Mailbox, read_record
from shuntyard_trainer.ranks import Ranks
from shuntyard_trainer.records import Saved
from shuntyard_trainer.verifying import Verifier

log = logging.getLogger(__name__)
Where = Union[str, "os.PathLike[str]", None]
"""Result of a save function: the file or directory, an address, or None if unknown."""
Save = Callable[[int], Where]
"""Writes a checkpoint; takes the number of completed steps."""
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
    """Return True if a path is an address such as ``s3://bucket/step-7``."""
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


def describe(path: str, step: int, started_at: float, clock: Clock, below: Path | None) -> Saved:
    """Return the record of a complete checkpoint.

    ``below`` is the checkpoint directory: a path in it is stored relative to it, because the next
    pod may mount the volume elsewhere.

    Raises:
        OSError: The checkpoint does not exist.
    """
    if not path or is_address(path):
        return Saved(step, path, 0, started_at, clock.now())
    absolute = Path(path).resolve()
    shown = str(absolute)
    if below is not None and below.resolve() in absolute.parents:
        shown = str(absolute.relative_to(below.resolve()))
    return Saved(step, shown, size_bytes(absolute), started_at, clock.now())


class Saver:
    """Saves, waits for the other ranks, verifies, and writes ``saved.json``.

    Args:
        save: Writes a checkpoint; None: the framework does, and calls ``complete``.
        directory: The checkpoint directory; None: there is none.
        mailbox: None on every rank but the first.
        verifier: Used on the first rank, for the path that it returned.
        every_rank_saves: ``save`` is called on every rank, else on the first.
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
        every_rank_saves: bool,
    ) -> None:
        self.can_save = save is not None
        self._save = save
        self._directory = directory
        self._mailbox = mailbox
        self._ranks = ranks
        self._clock = clock
        self._verifier = verifier
        self._saves_here = every_rank_saves or ranks.first
        self._last: Saved | None = None

    def save(self, step: int, hold_until: float | None = None) -> Saved:
        """Save this step; one that this process has saved is not saved again.

        ``hold_until`` is the end of the hold of a request, seconds since the epoch; the check of
        the checkpoint ends well before.

        Raises:
            SaveError: It failed, here or on another rank; raised on every rank.
            SettingError: There is no save function.
        """
        if self.is_saved(step) and self._last is not None:
            return self._last
        save = self._save
        if save is None:
            raise SettingError("there is no save function: give one to Checkpoints")
        started_at = self._clock.now()
        write = partial(save, step) if self._saves_here else _nothing
        return self._complete(step, started_at, write, hold_until)

    def complete(
        self, step: int, where: Where, started_at: float, hold_until: float | None = None
    ) -> Saved:
        """Return the record of a checkpoint that a framework has written.

        Raises:
            SaveError: It does not exist, here or on another rank; raised on every rank.
        """
        write = (lambda: where) if self._saves_here else _nothing
        return self._complete(step, started_at, write, hold_until)

    def is_saved(self, step: int) -> bool:
        """Return True if this process saved this step; an earlier one may have been another run."""
        return self._last is not None and self._last.step == step

    def _complete(
        self,
        step: int,
        started_at: float,
        write: Callable[[], Where],
        hold_until: float | None,
    ) -> Saved:
        path, error = "", ""
        try:
            self._ranks.require_same_step(step)
            path = secure(write())
        except Exception as failure:
            log.warning("step %d could not be saved", step, exc_info=True)
            error = _describe(failure)
        self._require_all(error)
        saved = Saved(step, path, 0, started_at, self._clock.now())
        if self._ranks.first:
            try:
                self._verify(path, hold_until)
                saved = describe(path, step, started_at, self._clock, self._directory)
                if self._mailbox is not None:
                    self._mailbox.write_saved(saved)
            except (OSError, UnloadableError) as failure:
                log.warning("the checkpoint of step %d does not count", step, exc_info=True)
                error = _describe(failure)
        self._require_all(error)
        self._last = saved
        return saved

    def _verify(self, path: str, hold_until: float | None) -> None:
        if path and not is_address(path):
            path = str(Path(path).resolve())
        left = None if hold_until is None else hold_until - self._clock.now()
        self._verifier.check(path, left)

    def _require_all(self, error: str) -> None:
        if not self._ranks.all_ok(not error):
            raise SaveError(error or "another rank could not save")


def _nothing() -> Where:
    return None


def _describe(failure: Exception) -> str:
    return f"{type(failure).__name__}: {failure}"[:MOST_ERROR_CHARACTERS]
