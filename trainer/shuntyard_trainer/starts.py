"""The starts of one training, so that an old copy commits nothing once a later one has begun.

Every start leaves ``start-<generation>-<number>.json``. The latest is the one with the largest
generation, and of these the one with the largest number. A commit creates its temporary file, then
looks for a later start, then renames. A start creates its own file, then removes the temporary
files of others, then reads the last checkpoint. So a commit of an old copy either comes before the
new one reads, or is refused, or finds its temporary file removed.

Source:
    docs/checkpoint-contract-spec.md, rule 11.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, NamedTuple

from shuntyard_trainer import durable, records
from shuntyard_trainer.errors import StaleCopyError


class Start(NamedTuple):
    """One start; the later of two is the larger.

    Attributes:
        generation: ``SHUNTYARD_GENERATION`` of the pod; it grows with each start of the job.
        number: Of the start within its generation, from 1.
    """

    generation: int
    number: int


class Starts:
    """The starts in one directory, of which one is this process's.

    Args:
        folder: The directory of the contract's files.
        generation: Of this pod; None: not known, so this start is later than all before it.
    """

    def __init__(self, folder: Path, generation: int | None) -> None:
        self._folder = folder
        self._generation = generation
        self.mine = Start(0, 0)

    def begin(self, record: dict[str, Any]) -> None:
        """Leave the file of this start, and remove all but the latest eight.

        A start of an older generation than the latest leaves none: it is superseded from the
        beginning.

        Raises:
            OSError: It could not be written.
        """
        found = self._all()
        latest = max(found, default=Start(0, 0))
        generation = latest.generation if self._generation is None else self._generation
        number = max((s.number for s in found if s.generation == generation), default=0)
        self.mine = Start(generation, number)
        while not self.is_superseded():
            number += 1
            name = records.start_name(generation, number)
            fields = {"version": records.VERSION, "generation": generation, "number": number}
            if durable.create_record(self._folder / name, {**fields, **record}):
                self.mine = Start(generation, number)
                break
        for old in sorted(self._all())[: -records.KEPT_STARTS]:
            (self._folder / records.start_name(*old)).unlink(missing_ok=True)

    def is_superseded(self) -> bool:
        """Return True if a later start has left its file."""
        return max(self._all(), default=self.mine) > self.mine

    def require_latest(self) -> None:
        """Raise unless this start is the latest one.

        Raises:
            StaleCopyError: A later start has left its file.
        """
        if self.is_superseded():
            raise StaleCopyError(
                f"start {self.mine.number} of generation {self.mine.generation} is not the latest "
                f"in {self._folder}: another copy of this training has begun, so nothing is saved"
            )

    def _all(self) -> list[Start]:
        with os.scandir(self._folder) as entries:
            found = [records.start_of(entry.name) for entry in entries]
        return [Start(*each) for each in found if each is not None]
