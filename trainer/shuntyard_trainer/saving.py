"""A checkpoint of all ranks is complete, or it has failed on all ranks."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Callable

from shuntyard_trainer import storing
from shuntyard_trainer.clock import Clock
from shuntyard_trainer.errors import SaveError, SettingError
from shuntyard_trainer.mailbox import Mailbox
from shuntyard_trainer.ranks import Ranks
from shuntyard_trainer.records import Saved
from shuntyard_trainer.storing import Save, Where

log = logging.getLogger(__name__)
MOST_ERROR_LETTERS = 1000
"""Of an answer: the agent reads files of at most 64 KiB."""


class Saver:
    """Saves, waits for the other ranks, and says so in ``saved.json``.

    Args:
        save: Writes a checkpoint; None: the framework does, ``complete`` is told where.
        directory: The checkpoint directory; None: there is none.
        mailbox: None on every rank but the first.
        every_rank_saves: ``save`` is called on every rank, else on the first.
    """

    def __init__(
        self,
        save: Save | None,
        directory: Path | None,
        mailbox: Mailbox | None,
        ranks: Ranks,
        clock: Clock,
        *,
        every_rank_saves: bool,
    ) -> None:
        self.can_save = save is not None
        self._save = save
        self._directory = directory
        self._mailbox = mailbox
        self._ranks = ranks
        self._clock = clock
        self._saves_here = every_rank_saves or ranks.first
        self._last: Saved | None = None

    def save(self, step: int) -> Saved:
        """Return the checkpoint of this step; one that this life has written is not repeated.

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
        return self._complete(step, started_at, lambda: save(step) if self._saves_here else None)

    def complete(self, step: int, where: Where, started_at: float) -> Saved:
        """Return the record of a checkpoint that a framework has written.

        Raises:
            SaveError: It is not there, here or on another rank; raised on every rank.
        """
        return self._complete(step, started_at, lambda: where if self._saves_here else None)

    def is_saved(self, step: int) -> bool:
        """Return whether this life has written this step; an earlier life's may be another run."""
        return self._last is not None and self._last.step == step

    def _complete(self, step: int, started_at: float, write: Callable[[], Where]) -> Saved:
        path, error = "", ""
        try:
            self._ranks.require_same_step(step)
            path = storing.secure(write())
        except Exception as failure:
            log.warning("step %d could not be saved", step, exc_info=True)
            error = _describe(failure)
        self._require_all(error)
        saved = Saved(step, path, 0, started_at, self._clock.now())
        if self._ranks.first:
            try:
                saved = storing.describe(path, step, started_at, self._clock, self._directory)
                if self._mailbox is not None:
                    self._mailbox.tell_saved(saved)
            except OSError as failure:
                error = _describe(failure)
        self._require_all(error)
        self._last = saved
        return saved

    def _require_all(self, error: str) -> None:
        if not self._ranks.all_ok(not error):
            raise SaveError(error or "another rank could not save")


def _describe(failure: Exception) -> str:
    return f"{type(failure).__name__}: {failure}"[:MOST_ERROR_LETTERS]
