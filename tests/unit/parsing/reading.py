"""Raw output, as it lies in a log, read by a parser."""

from collections.abc import Iterable
from pathlib import Path

from shared.errors import MalformedError
from shared.parsing.base import DocumentParser, Parser, Point
from shared.parsing.cutting import LineCutter

LOGS = Path(__file__).parents[2] / "fixtures" / "logs"


def lines_of(data: bytes) -> tuple[str, ...]:
    """Lines as the follower gives them."""
    return LineCutter(64 * 1024).cut(data, 10**6).lines


def read(parser: Parser, data: bytes | str) -> list[Point]:
    raw = data.encode() if isinstance(data, str) else data
    return [point for line in lines_of(raw) for point in parser.feed(line)]


def fed(parser: DocumentParser, data: bytes, piece: int = 100) -> list[Point]:
    """Points of a document that is gone through in small pieces; none if it cannot be read."""
    scan = parser.scan()
    try:
        for at in range(0, len(data), piece):
            scan.feed(data[at : at + piece])
        return list(parser.points(scan, lambda offset, length: data[offset : offset + length]))
    except MalformedError:
        return []


def values(points: Iterable[Point], *names: str) -> list[tuple[str, float, float | None]]:
    """Metric, value and step; of ``names`` only, if there are any."""
    return [(p.metric, p.value, p.step) for p in points if not names or p.metric in names]
