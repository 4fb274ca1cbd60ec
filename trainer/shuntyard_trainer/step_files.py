"""Checkpoints named by their step in one directory, of which the newest few are kept."""

from __future__ import annotations

import shutil
from pathlib import Path

from shuntyard_trainer.errors import SettingError
from shuntyard_trainer.saving import last_saved

LEAST_KEPT = 2
"""``saved.json`` names the previous one until the new one is complete."""


class StepFiles:
    """``<directory>/step-0000000123<suffix>``: a file, or a directory if the framework writes one.

    Raises:
        SettingError: ``keep`` is below two.
    """

    def __init__(self, directory: Path, suffix: str, keep: int) -> None:
        if keep < LEAST_KEPT:
            raise SettingError(f"keep={keep!r}: at least {LEAST_KEPT} checkpoints are kept")
        self._directory = directory
        self._suffix = suffix
        self._keep = keep

    def path(self, step: int) -> Path:
        """Return the path of a step's checkpoint; creates its directory."""
        self._directory.mkdir(parents=True, exist_ok=True)
        return self._directory / f"step-{step:010}{self._suffix}"

    def unfinished(self, step: int) -> Path:
        """Return the temporary path of a step's checkpoint."""
        return self._directory / f".unfinished-{self.path(step).name}"

    def finish(self, step: int) -> Path:
        """Rename the ``unfinished`` checkpoint, and remove the oldest ones."""
        path = self.path(step)
        if path.is_dir():
            remove(path)
        self.unfinished(step).replace(path)
        self.prune(path)
        return path

    def prune(self, newest: Path) -> None:
        """Remove all but the newest ones.

        ``newest`` is kept, whatever its time, and the one that ``saved.json`` names: the newer
        ones may be such that do not count, because they cannot be loaded.
        """
        saved = last_saved(self._directory)
        kept = {path.resolve() for path in (newest, Path(saved.path) if saved else newest)}
        found = list(self._directory.glob(f"step-*{self._suffix}"))
        others = [path for path in found if path.resolve() not in kept]
        others.sort(key=lambda path: path.stat().st_mtime_ns)
        for old in others[: max(0, len(found) - self._keep)]:
            remove(old)


def remove(path: Path) -> None:
    """Remove a file or a directory, if it exists."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
