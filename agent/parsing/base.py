"""What every parser of metrics is: complete lines, records or documents in, points out. Pure.

A parser never guesses: text that is not exactly of its format gives no point. It keeps what it
needs from earlier lines (the header of a table, the epoch that runs) and copes with a run that
starts again: the caller feeds the same parser for the life of a file, whether the file is rotated
or begins anew. Only a ``RecordParser`` has to be told, by ``reset``.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Final, Protocol, runtime_checkable

from msgspec import Struct

from agent.parsing.json_scan import JsonScan

NOTHING: Final[tuple["Point", ...]] = ()
"""A line without a point: most lines."""

LONGEST_NAME: Final = 200
"""Characters of a metric's name; longer ones are no names."""


class Point(Struct, frozen=True):
    """One value of one metric.

    Attributes:
        metric: Name as the source prints it. Training and validation are different names
            (``loss``, ``val_loss``), and so are values that mean different things: ``loss`` of a
            Keras epoch and ``batch_loss``, the running mean inside it.
        value: May be NaN or infinite: the caller makes an event of it.
        step: As the source counts: iterations, or epochs with a fraction; None if the line does
            not say it exactly enough to tell points apart.
        total_steps: Where the run ends, in the unit of ``step``; None if the source has not said.
        at_seconds: When it was measured, seconds since the epoch, if the source says; else None.
    """

    metric: str
    value: float
    step: float | None = None
    total_steps: int | None = None
    at_seconds: float | None = None


@runtime_checkable
class Parser(Protocol):
    """A format of lines."""

    @property
    def format(self) -> str:
        """One of ``shared.places.FORMATS``; ``auto`` only while it is not yet known."""
        ...

    def feed(self, line: str) -> Sequence[Point]:
        """Return the points of one complete line, without its end and without control codes."""
        ...


@runtime_checkable
class RecordParser(Protocol):
    """A binary format of records."""

    @property
    def format(self) -> str:
        """One of ``shared.places.FORMATS``."""
        ...

    @property
    def problem(self) -> str:
        """Why nothing more can be read from this file, in words; empty if it can."""
        ...

    def feed_bytes(self, data: bytes, *, skip: bool = False) -> tuple[Sequence[Point], int]:
        """Return the points of the complete records and how many bytes they are.

        The caller keeps the bytes after them and puts them before the next ones.

        Args:
            data: The bytes that follow those taken before.
            skip: Pass over the records unread: there is no time for them.
        """
        ...

    def reset(self) -> None:
        """Begin with a new file: the next bytes are the first of it."""
        ...


@runtime_checkable
class DocumentParser(Protocol):
    """A format that is read as a whole file, anew whenever the file has changed."""

    @property
    def format(self) -> str:
        """One of ``shared.places.FORMATS``."""
        ...

    def scan(self) -> JsonScan:
        """Return what the file is gone through with, piece by piece, before its points are told."""
        ...

    def points(self, scan: JsonScan, read: Callable[[int, int], bytes]) -> Iterator[Point]:
        """Return the points that earlier readings did not hold.

        Args:
            scan: It has taken the whole file.
            read: Returns so many bytes of the file from an offset on.

        Raises:
            MalformedError: The file is not of this format, or not complete.
        """
        ...


@runtime_checkable
class HoldsMemory(Protocol):
    """A format that keeps something from line to line."""

    @property
    def held_bytes(self) -> int:
        """Roughly how much memory it keeps: for budgets, not for accounts."""
        ...


AnyParser = Parser | RecordParser | DocumentParser
