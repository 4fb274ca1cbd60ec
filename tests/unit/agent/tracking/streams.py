"""Sources with values given by a test."""

from collections.abc import Iterable

from agent.tracking.allowance import Allowance
from agent.tracking.source import Source, SourceEvent
from agent.tracking.streams import Batch, Reading
from shared.convergence.parameters import RECOMMENDED, ConvergenceParameters
from shared.parsing.base import Point
from shared.places import MetricsPlace

NOW = 10_000.0
_ANYWHERE = MetricsPlace()


class GivenStream:
    """Gives what a test says next."""

    format = "jsonl"

    def __init__(self) -> None:
        self.batch = Batch()
        self.closed = False

    held_bytes = 0
    hint = ""

    def poll(self, monotonic: float, allowance: Allowance) -> Batch:
        del monotonic, allowance
        batch, self.batch = self.batch, Batch()
        return batch

    def close(self) -> None:
        self.closed = True


class GivenSource(Source):
    """A source over a ``GivenStream``."""

    def __init__(
        self,
        name: str = "a",
        place: MetricsPlace = _ANYWHERE,
        *,
        params: ConvergenceParameters = RECOMMENDED,
        written_at: float | None = None,
    ) -> None:
        self.given = GivenStream()
        super().__init__(name, self.given, place, params, written_at)

    def say(
        self,
        *points: Point,
        now: float = NOW,
        backlog: bool = False,
        truncated: bool = False,
        lines: int = 0,
    ) -> list[SourceEvent]:
        """Read these points; return what happened."""
        readings = _readings(points, backlog)
        self.given.batch = Batch(readings=readings, truncated=truncated, lines=lines)
        return list(self.read(now, 0.0, Allowance()).events)


def _readings(points: Iterable[Point], backlog: bool) -> list[Reading]:
    return [Reading(point, point.at_seconds, backlog) for point in points]


def loss(step: float | None, value: float, at: float | None = None, name: str = "loss") -> Point:
    """One value."""
    return Point(name, value, step, None, at)
