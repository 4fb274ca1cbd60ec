"""Streams of values: a follower with a parser for lines, records or documents."""

from collections.abc import Iterable, Iterator
from typing import Final, Protocol

from msgspec import Struct

from agent.tailing.chunk import Chunk
from agent.tailing.cri import PodLogFollower
from agent.tailing.follower import FileFollower
from agent.tailing.whole_file import Document, NewestDocument, Stamp
from agent.tracking.allowance import CHECK_LINES, Allowance
from shared.errors import InputError, MalformedError
from shared.parsing.base import (
    DocumentParser,
    GivesHint,
    HoldsMemory,
    Parser,
    Point,
    ReadsEarly,
    RecordParser,
)
from shared.parsing.json_scan import JsonScan

STREAM_BYTES: Final = 4096
"""Memory of a follower and a parser, before they keep anything."""
PIECE_BYTES: Final = 64 * 1024
"""Bytes of records and documents that are processed between two checks of the allowance."""


class Reading(Struct, frozen=True):
    """A value as it was read.

    Attributes:
        point: The value.
        at_seconds: When it was made, seconds since the epoch, if the source states it.
        backlog: It existed before the source was first read: it is older.
        share: Of the time since the reading before that had passed when it was made, 0 to 1.
    """

    point: Point
    at_seconds: float | None = None
    backlog: bool = False
    share: float = 1.0


class Batch(Struct, frozen=True, kw_only=True):
    """Result of one poll; fields as in ``Chunk``.

    Attributes:
        readings: To be iterated once; lines are parsed only then, so that a long past is never in
            memory as a whole.
        first_at: When the first line was written; None if the source does not state it.
    """

    readings: Iterable[Reading] = ()
    lines: int = 0
    first_at: float | None = None
    truncated: bool = False
    more: bool = False
    dropped_bytes: int = 0
    dropped_lines: int = 0
    problem: str = ""


class Stream(Protocol):
    """A source of values."""

    @property
    def format(self) -> str:
        """One of ``shared.places.FORMATS``; ``auto`` until it is detected."""
        ...

    @property
    def held_bytes(self) -> int:
        """Approximate memory between two polls."""
        ...

    @property
    def hint(self) -> str:
        """A pattern that might read it, for a user; empty if there is none."""
        ...

    def poll(self, monotonic: float, allowance: Allowance) -> Batch:
        """Return what is new since the last poll.

        Args:
            monotonic: In seconds.
            allowance: When it is used up, the rest of the batch is skipped, and counted there.
        """
        ...

    def close(self) -> None:
        """Close the files."""
        ...


class LineStream:
    """Lines of a file or of a container's log."""

    def __init__(self, follower: FileFollower | PodLogFollower, parser: Parser) -> None:
        self._follower = follower
        self._parser = parser
        self._holder = parser if isinstance(parser, HoldsMemory) else None
        self._adviser = parser if isinstance(parser, GivesHint) else None
        self._read_early = parser.read_early if isinstance(parser, ReadsEarly) else None

    @property
    def format(self) -> str:
        """See ``Stream``."""
        return self._parser.format

    @property
    def held_bytes(self) -> int:
        """See ``Stream``."""
        held_bytes = 0 if self._holder is None else self._holder.held_bytes
        return STREAM_BYTES + self._follower.held_bytes + held_bytes

    @property
    def hint(self) -> str:
        """See ``Stream``."""
        return "" if self._adviser is None else self._adviser.hint

    def poll(self, monotonic: float, allowance: Allowance) -> Batch:
        """See ``Stream``."""
        chunk = self._follower.poll(monotonic)
        allowance.skip(size=chunk.behind_bytes)
        return _batch(chunk, self._readings(chunk, allowance))

    def close(self) -> None:
        """See ``Stream``."""
        self._follower.close()

    def _readings(self, chunk: Chunk, allowance: Allowance) -> Iterator[Reading]:
        feed, lines, times, backlog = self._parser.feed, chunk.lines, chunk.times, chunk.backlog
        start = 0
        while start < len(lines):
            part = lines[start : start + allowance.lines_at_once]
            if allowance.is_over_before(len(part)):
                allowance.skip(lines=len(lines) - start)
                return
            for index, line in enumerate(part, start):
                for point in feed(line):
                    at_seconds = point.at_seconds
                    if at_seconds is None and times:
                        at_seconds = times[index]
                    yield Reading(point, at_seconds, backlog)
            start += len(part)
        if lines and not chunk.more and self._read_early is not None:
            for point in self._read_early():
                yield Reading(point, point.at_seconds or (times[-1] if times else None), backlog)


class RecordStream:
    """Records of a binary file."""

    hint = ""

    def __init__(self, follower: FileFollower, parser: RecordParser) -> None:
        self._follower = follower
        self._parser = parser
        self._rest = b""

    @property
    def format(self) -> str:
        """See ``Stream``."""
        return self._parser.format

    @property
    def held_bytes(self) -> int:
        """See ``Stream``."""
        return STREAM_BYTES + self._follower.held_bytes + len(self._rest)

    def poll(self, monotonic: float, allowance: Allowance) -> Batch:
        """See ``Stream``; the next poll returns a problem of the format."""
        if self._parser.problem:
            return Batch(problem=self._parser.problem)
        chunk = self._follower.poll(monotonic)
        if chunk.truncated or chunk.rotated:
            self._rest = b""
            self._parser.reset()
        return _batch(chunk, self._readings(chunk, allowance))

    def close(self) -> None:
        """See ``Stream``."""
        self._follower.close()

    def _readings(self, chunk: Chunk, allowance: Allowance) -> Iterator[Reading]:
        for at in range(0, len(chunk.data), PIECE_BYTES):
            piece, skip = chunk.data[at : at + PIECE_BYTES], allowance.is_over()
            allowance.skip(size=len(piece) if skip else 0)
            data = self._rest + piece
            points, consumed = self._parser.feed_bytes(data, skip=skip)
            self._rest = data[consumed:]
            for point in points:
                yield Reading(point, point.at_seconds, chunk.backlog)


class DocumentStream:
    """A file that is rewritten as a whole."""

    hint = ""

    def __init__(self, document: NewestDocument, parser: DocumentParser) -> None:
        self._document = document
        self._parser = parser
        self._read_before = False
        self._stamp: Stamp | None = None
        self._scan: JsonScan | None = None
        self._problem = ""

    @property
    def format(self) -> str:
        """See ``Stream``."""
        return self._parser.format

    @property
    def held_bytes(self) -> int:
        """See ``Stream``."""
        return STREAM_BYTES + (0 if self._scan is None else self._scan.held_bytes)

    def poll(self, monotonic: float, allowance: Allowance) -> Batch:
        """See ``Stream``. A large document takes several polls."""
        del monotonic
        try:
            with self._document.opened() as document:
                return self._read(document, allowance)
        except InputError as error:
            return Batch(problem=str(error))

    def close(self) -> None:
        """See ``Stream``."""
        self._scan = None

    def _read(self, document: Document, allowance: Allowance) -> Batch:
        if document.stamp is None:
            return Batch(problem=document.problem)
        if document.stamp != self._stamp:
            self._stamp, self._scan, self._problem = document.stamp, self._parser.scan(), ""
        if self._scan is None:
            return Batch(problem=self._problem)
        try:
            if not _scan_to_end(document, self._scan, allowance):
                return Batch(more=True)
            points = self._parser.points(self._scan, document.read)
        except MalformedError as error:
            self._problem = f"{document.path} cannot be read: {error}"
            return Batch(problem=self._problem)
        finally:
            if self._problem or self._scan.offset >= document.size:
                self._scan = None
        backlog, self._read_before = not self._read_before, True
        return Batch(readings=self._readings(points, allowance, backlog=backlog))

    def _readings(
        self, points: Iterable[Point], allowance: Allowance, *, backlog: bool
    ) -> Iterator[Reading]:
        """Return the points of a checkpoint; they were made evenly since the one before."""
        taken: list[Point] = []
        for index, point in enumerate(points):
            if index % CHECK_LINES == 0 and allowance.is_over():
                break
            taken.append(point)
        for count, point in enumerate(taken, 1):
            yield Reading(point, point.at_seconds, backlog, count / len(taken))


def _scan_to_end(document: Document, scan: JsonScan, allowance: Allowance) -> bool:
    """Continue to scan a document; return True if its end was reached."""
    while scan.offset < document.size:
        if allowance.is_used():
            return False
        piece = document.read(scan.offset, PIECE_BYTES)
        if not piece:
            raise MalformedError("it became shorter")
        scan.feed(piece)
    return True


def _batch(chunk: Chunk, readings: Iterable[Reading]) -> Batch:
    return Batch(
        readings=readings,
        lines=len(chunk.lines),
        first_at=chunk.times[0] if chunk.times else None,
        truncated=chunk.truncated,
        more=chunk.more,
        dropped_bytes=chunk.dropped_bytes,
        dropped_lines=chunk.dropped_lines,
        problem=chunk.problem,
    )
