"""Handling of lines that cannot be read: they end the reading, or are skipped and collected.

Skipped lines are all returned, so that the caller can print them.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import TypeVar

from simulator.traces.errors import TraceError

L = TypeVar("L")
R = TypeVar("R")


@dataclass
class Faults:
    """Bad lines of one trace. Mutable; belongs to one reading.

    Attributes:
        skip: Whether a bad line is skipped; else it ends the reading.
        skipped: The skipped lines, in the order of the file.
        notes: Other remarks on how the trace was read.
    """

    skip: bool = False
    skipped: list[TraceError] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def kept(self, lines: Iterable[L], read: Callable[[L], R]) -> Iterator[R]:
        """Yield ``read(line)`` for each line.

        Raises:
            TraceError: A line is bad and ``skip`` is not set.
        """
        for line in lines:
            try:
                result = read(line)
            except TraceError as error:
                if not self.skip:
                    raise
                self.skipped.append(error)
            else:
                yield result
