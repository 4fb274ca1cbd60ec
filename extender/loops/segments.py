"""Numbered files of the decision log: append, begin a new one, drop the oldest."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from shared.errors import SettingsError

NEW_SEGMENT: Final = b""
"""Stands between lines where a new segment begins."""


@dataclass(frozen=True)
class SegmentFiles:
    """Where segments go and how large they may be together: ``segment_bytes`` x ``segments``."""

    directory: Path
    segment_bytes: int
    segments: int

    def prepare(self) -> None:
        """Make the directory.

        Raises:
            SettingsError: It cannot be written to.
        """
        try:
            self.directory.mkdir(parents=True, exist_ok=True)
            (self.directory / ".writable").touch()
        except OSError as error:
            text = f"decision_log.directory: {self.directory}: {error.strerror}"
            raise SettingsError(f"{text}, expected a directory to write to") from error

    def append(self, lines: Sequence[bytes]) -> int:
        """Write lines to the last segment, and to new ones where ``NEW_SEGMENT`` stands.

        Returns:
            The size of all segments in bytes.
        """
        batch: list[bytes] = []
        for line in lines:
            if line == NEW_SEGMENT:
                self._extend(batch)
                self._rotate()
                batch = []
            else:
                batch.append(line)
        self._extend(batch)
        return sum(path.stat().st_size for path in self.paths())

    def paths(self) -> list[Path]:
        """Return the segments, oldest first."""
        return sorted(self.directory.glob("decisions-*.jsonl"))

    def _extend(self, lines: Sequence[bytes]) -> None:
        if lines:
            with self.paths()[-1].open("ab") as file:
                file.writelines(lines)

    def _rotate(self) -> None:
        present = self.paths()
        number = int(present[-1].stem.rpartition("-")[2]) + 1 if present else 1
        (self.directory / f"decisions-{number:08d}.jsonl").touch()
        for path in present[: max(0, len(present) + 1 - self.segments)]:
            path.unlink()
