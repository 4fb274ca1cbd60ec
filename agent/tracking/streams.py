"""One source of values: a follower and the parser of what it gives."""

from collections.abc import Iterable, Iterator
from typing import Final, Protocol

from msgspec import Struct

from agent.parsing.base import DocumentParser, GivesUp, Parser, Point, RecordParser
from agent.tailing.chunk import Chunk
from agent.tailing.cri import PodLogFollower
from agent.tailing.follower import FileFollower
from agent.tailing.whole_file import NewestDocument
from shared.errors import InputError

MOST_REST_BYTES: Final = 8 * 2**20
"""Kept of a binary record that is not complete."""


class Reading(Struct, frozen=True):
    """A value as it was read.

    Attributes:
        point: The value.
        at_seconds: When it was made, seconds since the epoch, if the source says so.
        backlog: It lay there before it was looked for: of some time ago.
    """

    point: Point
    at_seconds: float | None = None
    backlog: bool = False


class Batch(Struct, frozen=True, kw_only=True):
    """What one look at a source gave; fields as in ``Chunk``.

    Attributes:
        readings: To be gone through once; lines become values only then, so that a long past is
            never in memory as a whole.
    """

    readings: Iterable[Reading] = ()
    lines: int = 0
    truncated: bool = False
    more: bool = False
    dropped_bytes: int = 0
    dropped_lines: int = 0
    problem: str = ""


class Stream(Protocol):
    """A source of values."""

    @property
    def format(self) -> str:
        """One of ``shared.places.FORMATS``; ``auto`` until it is found out."""
        ...

    def poll(self, monotonic: float) -> Batch:
        """Return what came since the last time; ``monotonic`` in seconds."""
        ...

    def close(self) -> None:
        """Give back what is open."""
        ...


class LineStream:
    """Lines of a file or of a container's log."""

    def __init__(self, follower: FileFollower | PodLogFollower, parser: Parser) -> None:
        self._follower = follower
        self._parser = parser

    @property
    def format(self) -> str:
        """See ``Stream``."""
        return self._parser.format

    def poll(self, monotonic: float) -> Batch:
        """See ``Stream``."""
        if isinstance(self._parser, GivesUp) and self._parser.problem:
            return Batch(problem=self._parser.problem)
        chunk = self._follower.poll(monotonic)
        return _batch(chunk, self._readings(chunk))

    def close(self) -> None:
        """See ``Stream``."""
        self._follower.close()

    def _readings(self, chunk: Chunk) -> Iterator[Reading]:
        for index, line in enumerate(chunk.lines):
            for point in self._parser.feed(line):
                seen_at = chunk.times[index] if chunk.times else None
                at_seconds = seen_at if point.at_seconds is None else point.at_seconds
                yield Reading(point, at_seconds, chunk.backlog)


class RecordStream:
    """Records of a binary file."""

    def __init__(self, follower: FileFollower, parser: RecordParser) -> None:
        self._follower = follower
        self._parser = parser
        self._rest = b""

    @property
    def format(self) -> str:
        """See ``Stream``."""
        return self._parser.format

    def poll(self, monotonic: float) -> Batch:
        """See ``Stream``."""
        if self._parser.problem:
            return Batch(problem=self._parser.problem)
        chunk = self._follower.poll(monotonic)
        if chunk.truncated or chunk.rotated:
            self._rest = b""
            self._parser.reset()
        points, consumed = self._parser.feed_bytes(self._rest + chunk.data)
        self._rest = (self._rest + chunk.data)[consumed:]
        readings = (Reading(point, point.at_seconds, chunk.backlog) for point in points)
        return _batch(chunk, readings, self._parser.problem)

    def close(self) -> None:
        """See ``Stream``."""
        self._follower.close()


class DocumentStream:
    """A file that is written anew as a whole."""

    def __init__(self, document: NewestDocument, parser: DocumentParser) -> None:
        self._document = document
        self._parser = parser
        self._read_before = False

    @property
    def format(self) -> str:
        """See ``Stream``."""
        return self._parser.format

    def poll(self, monotonic: float) -> Batch:
        """See ``Stream``."""
        del monotonic
        try:
            found = self._document.poll()
        except InputError as error:
            return Batch(problem=str(error))
        if found.data is None:
            return Batch(problem=found.problem)
        backlog, self._read_before = not self._read_before, True
        points = self._parser.feed_document(found.data)
        return Batch(readings=(Reading(p, p.at_seconds, backlog) for p in points))

    def close(self) -> None:
        """See ``Stream``."""


def _batch(chunk: Chunk, readings: Iterable[Reading], problem: str = "") -> Batch:
    return Batch(
        readings=readings,
        lines=len(chunk.lines),
        truncated=chunk.truncated,
        more=chunk.more,
        dropped_bytes=chunk.dropped_bytes,
        dropped_lines=chunk.dropped_lines,
        problem=problem or chunk.problem,
    )
