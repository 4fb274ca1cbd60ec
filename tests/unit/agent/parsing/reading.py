"""Raw output, as it lies in a log, read by a parser."""

from collections.abc import Iterable
from pathlib import Path

from agent.parsing.base import Parser, Point
from agent.tailing.cutting import LineCutter

LOGS = Path(__file__).parents[3] / "fixtures" / "logs"


def lines_of(data: bytes) -> tuple[str, ...]:
    """Lines as the follower gives them."""
    return LineCutter(64 * 1024).cut(data, 10**6).lines


def read(parser: Parser, data: bytes | str) -> list[Point]:
    raw = data.encode() if isinstance(data, str) else data
    return [point for line in lines_of(raw) for point in parser.feed(line)]


def values(points: Iterable[Point], *names: str) -> list[tuple[str, float, float | None]]:
    """Metric, value and step; of ``names`` only, if there are any."""
    return [(p.metric, p.value, p.step) for p in points if not names or p.metric in names]
