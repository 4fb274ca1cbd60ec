"""Check of rule 3: what the checkpoint has is on the disk when the answer comes.

Linux counts the pages of a file that are still to be written to the disk as dirty in the mapping
of a process that has them mapped. Fsync leaves none. The names of files are not seen so.

Source:
    https://docs.kernel.org/filesystems/proc.html: ``/proc/PID/smaps``, ``Shared_Dirty`` and
    ``Private_Dirty``.
"""

from __future__ import annotations

import mmap
import os
from collections.abc import Iterator
from pathlib import Path

from shuntyard_trainer import durable
from shuntyard_trainer.clock import Clock
from shuntyard_trainer.contract_run import NotTestedError, Run, expect
from shuntyard_trainer.contract_trainer import checkpoint_path

_SMAPS = Path("/proc/self/smaps")
_DIRTY = {"Shared_Dirty:", "Private_Dirty:"}
_TRIAL = ".contract-test-trial"
_TRIALS = 20
"""The system may flush a file by itself between two looks, as another program's ``sync`` does."""
_PAUSE_SECONDS = 0.05
"""Between two trials."""


def flushes(run: Run) -> None:
    """Check rule 3: no file of the checkpoint has pages that are still to be written."""
    path = checkpoint_path(run.directory, run.acked)
    if path is None:
        raise NotTestedError("its checkpoint is elsewhere")
    left = {each: size for each in _files(path) if (size := unflushed_bytes(each))}
    require_visible(path.parent)
    for each, size in left.items():
        expect(holds=False, text=f"{each.name}: {size} bytes were not flushed before the answer")


def unflushed_bytes(path: Path) -> int:
    """Return how many bytes of a file are still to be written to the disk, in whole pages.

    Raises:
        NotTestedError: The system does not say so.
    """
    if not path.stat().st_size:
        return 0
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ) as mapped:
        mapped[:: mmap.PAGESIZE]  # each page is looked at, so that it is in the mapping
        return sum(_dirty_bytes(path))


def _dirty_bytes(path: Path) -> Iterator[int]:
    """Yield the dirty bytes of every mapping of a file into this process."""
    try:
        lines = _SMAPS.read_text(errors="replace").splitlines()
    except OSError:
        raise NotTestedError("this system does not say what is on the disk") from None
    name, is_ours = os.path.realpath(path), False
    for line in lines:
        key, *values = line.split(None, 5)
        if not key.endswith(":"):
            is_ours = values[-1:] == [name]
        elif is_ours and key in _DIRTY:
            yield int(values[0]) * 1024


def require_visible(folder: Path) -> None:
    """Write a file: its pages are dirty before it is flushed, and not after.

    Raises:
        NotTestedError: Here it is otherwise: a file system in memory, or over the network.
    """
    trial = folder / _TRIAL
    try:
        is_visible = _is_shown(trial)
    finally:
        trial.unlink(missing_ok=True)
    if not is_visible:
        raise NotTestedError("this file system does not show it: set TMPDIR to a local disk")


def _is_shown(trial: Path) -> bool:
    for _ in range(_TRIALS):
        if _shows(trial):
            return True
        Clock.sleep(_PAUSE_SECONDS)
    return False


def _shows(trial: Path) -> bool:
    trial.write_bytes(b"x")
    before = unflushed_bytes(trial)
    durable.fsync(trial)
    return bool(before) and not unflushed_bytes(trial)


def _files(path: Path) -> list[Path]:
    return [each for each in (path, *path.rglob("*")) if each.is_file()]
