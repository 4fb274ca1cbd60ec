"""One source of a pod, a file or a container's log: its stream, and what it has said so far."""

from typing import Final, Literal

from msgspec import Struct

from agent.budgets import POD_EVENTS
from agent.parsing import metric_names
from agent.parsing.base import Point
from agent.parsing.metric_names import ENTRY_BYTES
from agent.parsing.series import Series
from agent.tracking.allowance import Allowance
from agent.tracking.streams import Batch, Reading, Stream
from agent.tracking.track import Track
from shared.convergence.parameters import ConvergenceParameters
from shared.places import MetricsPlace
from shared.progress import Goal

MOST_NAMES: Final = 64
"""Names that are remembered, to tell a user which there are and to pass over most of them."""
SETTLED_POINTS: Final = 2
"""A metric that is preferred to another takes its place when it has so many values."""
MOST_AHEAD_SECONDS: Final = 60.0
"""A time that is later than our clock by more is no time."""
LARGEST_STEP: Final = 2**63 - 1
SOURCE_BYTES: Final = 2048
"""For a source before it has read anything."""
TRACK_BYTES: Final = 6144
"""For a metric that is followed, with its curve."""

Kind = Literal["nan", "restart", "category", "truncated"]


class Happening(Struct, frozen=True):
    """What must not be lost between two states; kinds as in ``shared.wire.Event``."""

    kind: Kind
    at: float
    detail: str = ""


class Counts(Struct, frozen=True):
    """What was read, for the metrics; names as in ``Batch``."""

    lines: int = 0
    points: int = 0
    dropped_lines: int = 0
    dropped_bytes: int = 0


class Read(Struct, frozen=True, kw_only=True):
    """What one look at a source gave.

    Attributes:
        more: More lies there already.
    """

    counts: Counts
    happenings: tuple[Happening, ...]
    more: bool


class Source:
    """See the module.

    Args:
        name: For people: the file, or the container.
        stream: Where values come from.
        place: What the user's annotation says.
        params: Of Algorithm 1.
        written_at: When what lay there first was written, for values without a time.

    Attributes:
        tracks: Of the metric that is followed, and of those that are preferred to it and have too
            few values yet.
        names: Metrics that were seen.
        step: Last step of the metric that is followed, or of the first of the source, which tells
            the step between two values of the other; None if they have none.
        total_steps: Where the run ends, as the source says.
        first_at: When its first value was made; None before it.
        last_at: When its last one was.
        problem: Why it cannot be read, in words.
    """

    def __init__(
        self,
        name: str,
        stream: Stream,
        place: MetricsPlace,
        params: ConvergenceParameters,
        written_at: float | None = None,
    ) -> None:
        self.name = name
        self.stream = stream
        self.tracks: dict[str, Track] = {}
        self.names: set[str] = set()
        self.step: float | None = None
        self.total_steps: int | None = None
        self.first_at: float | None = None
        self.last_at = 0.0
        self.problem = ""
        self._place = place
        self._params = params
        self._written_at = written_at
        self._series = Series()
        self._pacer: str | None = None
        self._passed: set[str] = set()

    @property
    def attempt(self) -> int:
        """1, one more after each restart within this source."""
        return self._series.attempt

    @property
    def held_bytes(self) -> int:
        """Roughly what is kept between two readings."""
        names = ENTRY_BYTES * (len(self.names) + len(self._passed))
        tracks = TRACK_BYTES * len(self.tracks)
        return SOURCE_BYTES + self.stream.held_bytes + self._series.held_bytes + names + tracks

    def read(self, now: float, monotonic: float, allowance: Allowance) -> Read:
        """Take over what has come, as far as the allowance goes.

        Args:
            now: Seconds since the epoch.
            monotonic: Seconds of the clock that never goes back.
            allowance: Of the pod.
        """
        counts, happenings, more = Counts(), list[Happening](), True
        while more:
            batch = self.stream.poll(monotonic, allowance)
            counts = self._take_all(batch, counts, now, happenings)
            more = batch.more
            if allowance.is_used():
                break
        return Read(counts=counts, happenings=tuple(happenings), more=more)

    def advance(self, now: float) -> None:
        """Make all ticks up to ``now``."""
        for track in self.tracks.values():
            track.advance(now)

    def _take_all(
        self, batch: Batch, before: Counts, now: float, happenings: list[Happening]
    ) -> Counts:
        self.problem = batch.problem
        if batch.truncated:
            self._series.file_began_anew()
            _happen(happenings, "truncated", now, self.name)
        points = 0
        for reading in batch.readings:
            points += 1
            if reading.point.metric not in self._passed:
                self._take(reading, now, happenings)
        return Counts(
            before.lines + batch.lines,
            before.points + points,
            before.dropped_lines + batch.dropped_lines,
            before.dropped_bytes + batch.dropped_bytes,
        )

    def _take(self, reading: Reading, now: float, happenings: list[Happening]) -> None:
        """Events of what was there before we looked are not told: the state holds them."""
        taken = self._series.take(reading.point)
        if not taken.is_new:
            return
        point, at, before = reading.point, self._moment(reading, now), self.step
        self._count(point, restarted=taken.restarted)
        diverged = self._value(point, at)
        if taken.restarted and not reading.backlog:
            detail = f"step {_shown(point.step)} after {_shown(before)}"
            _happen(happenings, "restart", at, detail)
        if diverged and not reading.backlog:
            detail = f"{point.metric} is {point.value} at step {_shown(point.step)}"
            _happen(happenings, "nan", at, detail)

    def _count(self, point: Point, *, restarted: bool) -> None:
        if restarted and point.step is not None:
            for track in self.tracks.values():
                track.restart(point.step)
        if point.step is not None and 0 <= point.step <= LARGEST_STEP:
            self.step = point.step
        if point.total_steps is not None and 0 < point.total_steps <= LARGEST_STEP:
            self.total_steps = point.total_steps

    def _value(self, point: Point, at: float) -> bool:
        """Take over a value; return whether the run has diverged with it."""
        track = self._track(point.metric)
        if track is None:
            return False
        well = not track.diverged
        track.take(point.value, point.step, at)
        if track.points == SETTLED_POINTS:
            self._settle(point.metric)
        return well and track.diverged

    def _track(self, metric: str) -> Track | None:
        """Return where a metric's values go; None if nobody follows it.

        One that nobody follows is passed over from then on, but for the first of the source: it
        tells the step between two values of the one that is followed.
        """
        found = self.tracks.get(metric)
        if found is not None or metric == self._pacer:
            return found
        wanted = self._place.metric
        if len(self.names) < MOST_NAMES:
            self.names.add(metric)
        elif metric != wanted:
            return None
        if metric == (wanted or metric_names.preferred([metric, *self.tracks])):
            goal = self._place.goal or metric_names.goal_of(metric) or Goal.MIN
            found = self.tracks[metric] = Track(goal, self._params)
        elif self._pacer is not None:
            self._passed.add(metric)
        self._pacer = self._pacer or metric
        return found

    def _settle(self, metric: str) -> None:
        """Drop what it takes the place of: each track is preferred to those before it."""
        for name in list(self.tracks):
            if name == metric:
                return
            del self.tracks[name]
            if name != self._pacer:
                self._passed.add(name)

    def _moment(self, reading: Reading, now: float) -> float:
        """Return when a value was made: not to come, and not before the one before it.

        Our clock may be set back: then what it says now is believed.
        """
        said = reading.at_seconds
        if said is None or not 0 < said <= now + MOST_AHEAD_SECONDS:
            said = self._written_at if reading.backlog else now
        at = max(min(said or now, now), min(self.last_at, now))
        self.first_at = at if self.first_at is None else self.first_at
        self.last_at = at
        return at


def _happen(happenings: list[Happening], kind: Kind, at: float, detail: str) -> None:
    """Add what happened, unless it has happened very often in this reading."""
    if len(happenings) < POD_EVENTS:
        happenings.append(Happening(kind, at, detail))


def _shown(step: float | None) -> str:
    return "unknown" if step is None else f"{step:.15g}"
