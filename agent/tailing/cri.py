"""Follows a container's log in the pod log directory, across rotations and restarts.

``/var/log/pods/<namespace>_<pod>_<uid>/<container>/`` has ``<n>.log`` for restart ``n``. The
kubelet renames it to ``<n>.log.<time>`` when it is large, and compresses that one when it renames
the next.

Source:
    Kubernetes, ``pkg/kubelet/logs/container_log_manager.go``.
"""

import os
import re
from itertools import islice
from pathlib import Path
from typing import Final, NamedTuple

from msgspec import structs

from agent.tailing.chunk import Chunk, Limits, OpenFiles
from agent.tailing.follower import FileFollower
from agent.tailing.opening import directory, problem
from shared.parsing.cri_lines import CriCutter

_NAME: Final = re.compile(r"([0-9]{1,9})\.log(?:\.([0-9-]{1,32})(\.gz|\.tmp)?)?", re.ASCII)
_MOST_NAMES: Final = 1024
"""Names of a container's directory that are read; the kubelet keeps 5 files of a restart."""
_CURRENT: Final = "~"
"""Instead of a time: sorts after every time."""
NAME_BYTES: Final = 256
"""Memory of the name of a file."""
_READ_AT_START: Final = 2
_NOTHING: Final = Chunk()


class LogFile(NamedTuple):
    """A log file; log files sort by when they were written."""

    restart: int
    rotated_at: str
    name: str
    plain: bool


class PodLogFollower:
    """Follows the lines of one container, in the order in which its runtime wrote them.

    At the start it reads the current file and the one before it: a log that was just rotated, or a
    container that was just restarted, would otherwise seem to have no past.

    Args:
        folder: Directory of the container; it need not exist yet.
        limits: See ``FileFollower``.
        from_start: Read the existing content; else begin at its end.
        open_files: See ``FileFollower``.
    """

    def __init__(
        self,
        folder: Path,
        *,
        limits: Limits | None = None,
        from_start: bool = True,
        open_files: OpenFiles | None = None,
    ) -> None:
        self.folder = folder
        self._folder = str(folder)
        self._limits = limits or Limits()
        self._from_start = from_start
        self._open_files = open_files
        self._cutter = CriCutter(self._limits.line_bytes)
        self._at: LogFile | None = None
        self._file: FileFollower | None = None
        self._names: list[LogFile] = []
        self._listing = _ListingState()
        self._polled_before = False

    @property
    def is_open(self) -> bool:
        """True while a descriptor is open."""
        return self._file is not None and self._file.is_open

    @property
    def held_bytes(self) -> int:
        """Approximate memory between two polls."""
        return NAME_BYTES * len(self._names) + self._cutter.held_bytes

    def poll(self, now: float) -> Chunk:
        """Return what was written since the last poll; see ``FileFollower.poll``."""
        try:
            self._list()
            chunk = self._poll(now)
        except FileNotFoundError:
            chunk = _NOTHING
        except OSError as error:
            return Chunk(problem=problem(error, self.folder))
        self._polled_before = True
        return chunk

    def suspend(self) -> None:
        """Close the open file; the next poll that finds something new opens it again."""
        if self._file is not None:
            self._file.suspend()

    close = suspend

    def _list(self) -> None:
        """List the directory if it has changed, and once more for changes at the same instant."""
        status = os.stat(self._folder, follow_symlinks=False)  # noqa: PTH116 - half the time of a Path's
        changed_at = status.st_mtime_ns
        if self._listing.is_current(changed_at):
            return
        folder = self.folder
        with (
            directory(folder, folder, listing=True) as descriptor,
            os.scandir(descriptor) as entries,
        ):
            files = [_log_file(entry.name) for entry in islice(entries, _MOST_NAMES)]
        self._names = sorted(file for file in files if file is not None)
        self._listing.note(changed_at)

    def _poll(self, now: float) -> Chunk:
        """Read on; change to the next file only if it existed before this one returned nothing."""
        if self._file is None and not self._begin():
            return _NOTHING
        assert self._file is not None  # noqa: S101 - because _begin has made it
        chunk = self._file.poll(now)
        following = self._following()
        if chunk != _NOTHING or following is None:
            return chunk
        return self._go_to(following, now)

    def _begin(self) -> bool:
        plain = [file for file in self._names if file.plain]
        if not plain:
            return False
        first = plain[-_READ_AT_START:][0] if self._from_start else plain[-1]
        if any(file.restart == first.restart and file < first for file in self._names):
            self._cutter.enter_parts()
        self._open(first, from_start=self._from_start, appeared=self._polled_before)
        return True

    def _following(self) -> LogFile | None:
        at = self._at
        return next((f for f in self._names if f.plain and at is not None and f > at), None)

    def _go_to(self, following: LogFile, now: float) -> Chunk:
        restarted = self._at is not None and self._at.restart != following.restart
        before = self._cutter.restart() if restarted else self._cutter.rotate()
        file = self._open(following, from_start=True, appeared=True)
        chunk = file.poll(now)
        return structs.replace(
            chunk,
            rotated=True,
            dropped_bytes=chunk.dropped_bytes + before.dropped_bytes,
            dropped_lines=chunk.dropped_lines + before.dropped_lines,
        )

    def _open(self, log: LogFile, *, from_start: bool, appeared: bool) -> FileFollower:
        self.suspend()
        self._at = log
        self._file = FileFollower(
            self.folder / log.name,
            limits=self._limits,
            from_start=from_start,
            appeared=appeared,
            cutter=self._cutter,
            open_files=self._open_files,
        )
        return self._file


class _ListingState:
    """Whether a listing is current: directory times have a resolution of milliseconds."""

    def __init__(self) -> None:
        self._changed_at: int | None = None
        self._times = 0

    def is_current(self, changed_at: int) -> bool:
        return self._changed_at == changed_at and self._times > 1

    def note(self, changed_at: int) -> None:
        self._times = self._times + 1 if self._changed_at == changed_at else 1
        self._changed_at = changed_at


def _log_file(name: str) -> LogFile | None:
    match = _NAME.fullmatch(name)
    if match is None:
        return None
    restart, rotated_at, packed = match.groups()
    return LogFile(int(restart), rotated_at or _CURRENT, name, packed is None)
