"""What becomes of a line that cannot be read: the end of the reading, or one more that is counted.

Nothing is dropped in silence: who skips bad lines gets all of them back, to print them.
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
        skip: Whether a bad line is counted and left out; else it ends the reading.
        skipped: Those that were left out, in the order of the file.
        notes: What else the reader should know of how the trace was read.
    """

    skip: bool = False
    skipped: list[TraceError] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def kept(self, lines: Iterable[L], read: Callable[[L], R]) -> Iterator[R]:
        """Yield what ``read`` makes of each line.

        Raises:
            TraceError: A line is bad, and bad lines are not to be skipped.
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
