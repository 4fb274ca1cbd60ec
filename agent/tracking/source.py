"""One source of a pod, a file or a container's log: its stream, and its values so far."""

from math import inf, isfinite
from typing import Final

from msgspec import Struct

from agent.budgets import POD_EVENTS
from agent.tracking.allowance import Allowance
from agent.tracking.streams import Batch, Reading, Stream
from agent.tracking.track import Track
from shared.convergence import rate as rates
from shared.convergence.parameters import ConvergenceParameters
from shared.parsing import metric_names
from shared.parsing.base import Point, Unit
from shared.parsing.following import SETTLED_POINTS
from shared.parsing.metric_names import ENTRY_BYTES
from shared.parsing.series import Series
from shared.places import MetricsPlace
from shared.progress import Goal, Span
from shared.wire import Happening

MOST_NAMES: Final = 64
"""Names that are kept, to show them to a user and to skip most of them."""
MOST_AHEAD_SECONDS: Final = 60.0
"""A time that is further ahead of our clock is ignored."""
STATED_BAND: Final = 0.25
"""Half of the band around a time left that a program states itself."""
LARGEST_STEP: Final = 2**63 - 1
SOURCE_BYTES: Final = 2048
"""Memory of a source before it has read anything."""
TRACK_BYTES: Final = 6144
"""Memory of a followed metric, with its curve."""


class SourceEvent(Struct, frozen=True):
    """An event that must not be lost between two reports; kinds as in ``shared.wire.Event``."""

    kind: Happening
    at: float
    detail: str = ""


class Counts(Struct, frozen=True):
    """Amounts read, for the agent's metrics; names as in ``Batch``."""

    lines: int = 0
    points: int = 0
    dropped_lines: int = 0
    dropped_bytes: int = 0


class SourceRead(Struct, frozen=True, kw_only=True):
    """Result of reading a source once.

    Attributes:
        more: More is unread already.
    """

    counts: Counts
    events: tuple[SourceEvent, ...]
    more: bool


class Source:
    """See the module.

    Args:
        name: The file or the container, for people.
        stream: Reads the values.
        place: The parsed annotation.
        params: Parameters of Algorithm 1.
        written_at: Modification time of the existing content, for values without a time.

    Attributes:
        tracks: The followed metric, and preferred ones that have too few values yet.
        names: Names of the metrics so far.
        begun_at: When its first line was written, or read where that is not stated; None before it.
        first_at: When its first value was made; None before it.
        last_at: When its last value was made.
        problem: Why it cannot be read.
        lines: Lines read so far.
        taken: New values so far.
        rate: What its first series of a learning rate shows.
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
        self._steps: dict[Unit, float] = {}
        self._totals: dict[Unit, int] = {}
        self._unit: Unit | None = None
        self._ends_at: float | None = None
        self.begun_at: float | None = None
        self.first_at: float | None = None
        self.last_at = 0.0
        self.problem = ""
        self.lines = 0
        self.taken = 0
        self.rate = rates.UNKNOWN
        self._rate_metric: str | None = None
        self._place = place
        self._params = params
        self._written_at = written_at
        self._series = Series()
        self._step_metric: str | None = None
        self._skipped: set[str] = set()

    @property
    def step(self) -> float | None:
        """The last step, in the unit of the followed metric; None if there is none.

        It is of that metric, or of the first metric of the source, which has the steps between two
        values of the followed one.
        """
        return None if self._unit is None else self._steps.get(self._unit)

    @property
    def total_steps(self) -> int | None:
        """Where the run ends, in the unit of ``step``; None if the source does not say.

        Also None if the run is beyond it: then it is not the run's.
        """
        total = None if self._unit is None else self._totals.get(self._unit)
        return None if total is None or total < (self.step or 0.0) else total

    @property
    def stated_seconds(self) -> Span | None:
        """The time left that the program states itself, counted from the last value.

        Its band is an assumption: programs take their mean pace so far for the rest.
        """
        if self._ends_at is None:
            return None
        left = max(0.0, self._ends_at - self.last_at)
        return Span(left, left * (1 - STATED_BAND), left * (1 + STATED_BAND))

    @property
    def attempt(self) -> int:
        """1, one more after each restart within this source."""
        return self._series.attempt

    @property
    def held_bytes(self) -> int:
        """Approximate memory between two readings."""
        names = ENTRY_BYTES * (len(self.names) + len(self._skipped))
        tracks = TRACK_BYTES * len(self.tracks)
        return SOURCE_BYTES + self.stream.held_bytes + self._series.held_bytes + names + tracks

    def read(self, now: float, monotonic: float, allowance: Allowance) -> SourceRead:
        """Read what is new, within the allowance.

        Args:
            now: Seconds since the epoch.
            monotonic: Seconds of the monotonic clock.
            allowance: The pod's.
        """
        counts, events, more = Counts(), list[SourceEvent](), True
        while more:
            batch = self.stream.poll(monotonic, allowance)
            counts = self._take_all(batch, counts, now, events)
            more = batch.more
            if more and allowance.is_used():
                break
        return SourceRead(counts=counts, events=tuple(events), more=more)

    def advance(self, now: float) -> None:
        """Make all ticks up to ``now``."""
        for track in self.tracks.values():
            track.advance(now)

    def _take_all(
        self, batch: Batch, before: Counts, now: float, events: list[SourceEvent]
    ) -> Counts:
        self.problem = batch.problem
        self.lines += batch.lines
        if self.begun_at is None and batch.lines:
            self.begun_at = min(now, batch.first_at or now)
        if batch.truncated:
            self._series.file_restarted()
            _add_event(events, "truncated", now, self.name)
        points, begun_at = 0, self.last_at
        for reading in batch.readings:
            points += 1
            if reading.point.metric == self._rate_metric:
                self.rate = rates.observed(self.rate, self.step, reading.point.value)
            if reading.point.metric not in self._skipped:
                self._take(reading, now, begun_at, events)
        return Counts(
            before.lines + batch.lines,
            before.points + points,
            before.dropped_lines + batch.dropped_lines,
            before.dropped_bytes + batch.dropped_bytes,
        )

    def _take(
        self, reading: Reading, now: float, begun_at: float, events: list[SourceEvent]
    ) -> None:
        """Process a value; existing content gives no events, the report has its result."""
        taken = self._series.take(reading.point)
        if not taken.is_new:
            return
        self.taken += 1
        point, before = reading.point, self.step if taken.restarted else None
        at = self._moment(reading, now, begun_at)
        if taken.has_new_metrics:
            self._forget_metrics()
        elif taken.has_new_unit and (track := self.tracks.get(point.metric)) is not None:
            track.restart(-inf)
        self._count(point, restarted=taken.restarted)
        if point.left_seconds is not None and isfinite(point.left_seconds):
            self._ends_at = at + point.left_seconds
        diverged = self._value(point, at)
        if taken.restarted and not reading.backlog:
            detail = f"step {_shown(point.step)} after {_shown(before)}"
            _add_event(events, "restart", at, detail)
        if diverged and not reading.backlog:
            detail = f"{point.metric} is {point.value} at step {_shown(point.step)}"
            _add_event(events, "nan", at, detail)

    def _forget_metrics(self) -> None:
        """Choose again: the program trains something else now."""
        self.tracks, self.names, self._skipped = {}, set(), set()
        self._step_metric, self._unit = None, None
        self._steps, self._totals = {}, {}

    def _count(self, point: Point, *, restarted: bool) -> None:
        if restarted and point.step is not None:
            self.rate = rates.UNKNOWN
            for track in self.tracks.values():
                track.restart(point.step)
        if point.step is not None and 0 <= point.step <= LARGEST_STEP:
            self._steps[point.unit] = point.step
            if self._unit is None or point.metric in self.tracks:
                self._unit = point.unit
        if point.total_steps is not None and 0 < point.total_steps <= LARGEST_STEP:
            self._totals[point.unit] = point.total_steps

    def _value(self, point: Point, at: float) -> bool:
        """Process a value; return True if the run has diverged with it."""
        track = self.tracks.get(point.metric) or self._track(point.metric, point.value)
        if track is None:
            return False
        was_finite = not track.diverged
        track.take(point.value, point.step, at)
        if track.points >= SETTLED_POINTS and len(self.tracks) > 1 and track.value is not None:
            self._settle(point.metric)
        return was_finite and track.diverged

    def _track(self, metric: str, value: float) -> Track | None:
        """Return the track of a metric; None if it is not followed.

        A metric that is not followed is skipped from then on, except the first of the source: it
        has the steps between two values of the followed one. A finite loss is also followed where
        the preferred metrics never were finite.
        """
        track = self.tracks.get(metric)
        if track is not None or metric == self._step_metric:
            return track
        stated = self._place.metric
        if len(self.names) < MOST_NAMES:
            self.names.add(metric)
            if self._rate_metric is None and rates.is_rate(metric):
                self._rate_metric = metric
        elif metric != stated:
            return None
        outweighs = isfinite(value) and metric_names.is_whole_loss(metric)
        others = [n for n, t in self.tracks.items() if not outweighs or t.value is not None]
        if metric == (stated or metric_names.preferred([metric, *others])):
            goal = self._place.goal or metric_names.goal_of(metric) or Goal.MIN
            judged = metric_names.measures_convergence(metric)
            track = self.tracks[metric] = Track(goal, self._params, judged=judged)
        elif self._step_metric is not None:
            self._skipped.add(metric)
        self._step_metric = self._step_metric or metric
        return track

    def _settle(self, metric: str) -> None:
        """Drop the tracks that it replaces: those of metrics to which it is preferred."""
        for name in list(self.tracks):
            if name == metric or metric_names.preferred([metric, name]) != metric:
                continue
            del self.tracks[name]
            if name != self._step_metric:
                self._skipped.add(name)

    def _moment(self, reading: Reading, now: float, begun_at: float) -> float:
        """Return when a value was made: not in the future, and not before the previous one.

        Values that are written together were made since the ones before, ``begun_at``. If our
        clock was set back, its present time is used.
        """
        stated = reading.at_seconds
        if stated is None or not 0 < stated <= now + MOST_AHEAD_SECONDS:
            stated = self._written_at if reading.backlog else now
            if not reading.backlog and 0 < begun_at < now:
                stated = begun_at + reading.share * (now - begun_at)
        at = stated if stated and stated < now else now
        at = max(at, self.last_at) if self.last_at <= now else now
        self.first_at = at if self.first_at is None else self.first_at
        self.last_at = at
        return at


def _add_event(events: list[SourceEvent], kind: Happening, at: float, detail: str) -> None:
    """Add an event, unless this reading has very many."""
    if len(events) < POD_EVENTS:
        events.append(SourceEvent(kind, at, detail))


def _shown(step: float | None) -> str:
    return "unknown" if step is None else f"{step:.15g}"
