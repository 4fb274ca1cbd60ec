"""What all parsers of metrics share: points, the protocols of parsers, and numbers. Pure.

A parser takes complete lines, records or documents and returns points. It never guesses: text that
is not exactly of its format gives no point. It keeps what it needs from earlier lines (the header
of a table, the current epoch) and copes with a run that starts again: the caller feeds the same
parser for the life of a file, whether the file is rotated or begins anew. Only a ``RecordParser``
needs a ``reset`` then.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Final, Literal, Protocol, runtime_checkable

from msgspec import Struct

from shared.parsing.json_scan import JsonScan

NOTHING: Final[tuple["Point", ...]] = ()
"""No point: most lines."""
LONGEST_NAME: Final = 200
"""Characters of a metric's name; longer ones are ignored."""
NUMBER: Final = (
    r"[-+]?(?:(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][-+]?[0-9]+)?"
    r"|nan|NaN|inf|Infinity|-nan)"
)
"""Pattern of a number, NaN or infinity, without a group."""
_WHOLE: Final = re.compile(NUMBER)
_COUNT: Final = re.compile(r"[0-9]{1,18}")
_SURE_BITS: Final = 1000
"""Of a whole number that is a float without fail."""


Unit = Literal["step", "epoch"]
"""What a step counts."""


class Point(Struct, frozen=True):
    """One value of one metric.

    Attributes:
        metric: Name as the source prints it. Training and validation are different names
            (``loss``, ``val_loss``), and so are values that mean different things: ``loss`` of a
            Keras epoch and ``batch_loss``, the running mean inside it.
        value: May be NaN or infinite: the caller reports it as an event.
        step: As the source counts: iterations, or epochs with a fraction; None if the line does
            not state it exactly enough to distinguish points.
        total_steps: Where the run ends, in the unit of ``step``; None if the source does not say.
        at_seconds: When it was measured, seconds since the epoch; None if the source does not
            state it.
        unit: Of ``step``; a parser whose steps are all of one unit need not say which.
        left_seconds: Time to the end of the run as the source states it; None if it does not.
    """

    metric: str
    value: float
    step: float | None = None
    total_steps: int | None = None
    at_seconds: float | None = None
    unit: Unit = "step"
    left_seconds: float | None = None


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
        """Why nothing more can be read from this file; empty if it can."""
        ...

    def feed_bytes(self, data: bytes, *, skip: bool = False) -> tuple[Sequence[Point], int]:
        """Return the points of the complete records, and how many bytes those records have.

        The caller keeps the remaining bytes and passes them again before the next ones.

        Args:
            data: The bytes that follow those consumed before.
            skip: Skip the records unread: there is no time for them.
        """
        ...

    def reset(self) -> None:
        """Begin with a new file: the next bytes are its first."""
        ...


@runtime_checkable
class DocumentParser(Protocol):
    """A format that is read as a whole file, again whenever the file has changed."""

    @property
    def format(self) -> str:
        """One of ``shared.places.FORMATS``."""
        ...

    def scan(self) -> JsonScan:
        """Return a scan to feed the file to, piece by piece, before ``points``."""
        ...

    def points(self, scan: JsonScan, read: Callable[[int, int], bytes]) -> Iterator[Point]:
        """Return the points that earlier readings did not have.

        Args:
            scan: It was fed the whole file.
            read: Takes an offset and a length; returns those bytes of the file.

        Raises:
            MalformedError: The file is not of this format, or not complete.
        """
        ...


@runtime_checkable
class HoldsMemory(Protocol):
    """A format that keeps something from line to line."""

    @property
    def held_bytes(self) -> int:
        """Approximate memory it keeps, for the budgets."""
        ...


@runtime_checkable
class GivesHint(Protocol):
    """A format that can tell what a user might have meant."""

    @property
    def hint(self) -> str:
        """A pattern of the format ``regex`` that would read values; empty if none is known."""
        ...


@runtime_checkable
class ReadsEarly(Protocol):
    """A parser that waits for more lines until it is sure of the format."""

    def read_early(self) -> Sequence[Point]:
        """Return the points of the lines so far that may be read before others come."""
        ...


AnyParser = Parser | RecordParser | DocumentParser


def number(text: str) -> float | None:
    """Return the value of a number; None if ``text`` is not one (``1_000``, ``1,000``, ``0x1``)."""
    return float(text) if _WHOLE.fullmatch(text) else None


def count(text: str) -> int | None:
    """Return a count of at most 18 digits; None if ``text`` is not one."""
    return int(text) if _COUNT.fullmatch(text) else None


def plain(value: object) -> float | None:
    """Return the value of a decoded JSON number, or of a text that is one; else None.

    fairseq and Hugging Face write numbers as texts. true and false are not numbers.
    """
    if type(value) is float:  # the usual ones first: this is called for each value of a line
        return value
    if type(value) is int and value.bit_length() < _SURE_BITS:
        return float(value)
    if isinstance(value, str):
        return number(value)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        return float(value)
    except OverflowError:
        return None
