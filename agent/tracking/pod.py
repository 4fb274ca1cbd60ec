"""One pod: its sources, its checkpoint directory, and the report made from them."""

from collections.abc import Iterator
from typing import Final

from msgspec import Struct

from agent.budgets import POD_EVENTS, POD_MEMORY_BYTES, PROBLEM_CHARACTERS
from agent.checkpoint.files import CheckpointFiles
from agent.checkpoint.rules import Outcome, Problem, unusable
from agent.tracking.allowance import Allowance
from agent.tracking.choice import Choice, choose, why_no_choice
from agent.tracking.pace import PaceMeter
from agent.tracking.source import LARGEST_STEP, Counts, SourceEvent, SourceRead
from agent.tracking.sources import NodeContext, Sources, path_variables
from shared import places
from shared.errors import InputError
from shared.model import Uid
from shared.places import MetricsPlace
from shared.progress import Category, Checkpoint, CheckpointPhase, PodReport, Progress
from shared.wire import CheckpointRequest, Command, PodPlace

POD_BYTES: Final = 8192
"""Memory of a pod before anything is read: place, report, checkpoint directory."""
STEADY_SECONDS: Final = 600.0
"""A run that is so old changes little from one reading to the next, and so does a log without any
value for so long."""
STEADY_RATIO: Final = 2.0
"""It is read less often by this factor, unless a checkpoint is asked for."""
FOUND_RATIO: Final = 3.0
"""While files are known, the search for further ones is rarer by this factor."""
_WAITING: Final = (CheckpointPhase.ASKED, CheckpointPhase.ACKED)


class PodRead(Struct, frozen=True, kw_only=True):
    """Result of reading a pod.

    Attributes:
        urgent: The report has an urgent change.
    """

    counts: tuple[Counts, ...] = ()
    events: tuple[SourceEvent, ...] = ()
    urgent: bool = False


class TrackedPod:
    """See the module. All methods block.

    What cannot be used or read is a problem of this pod, reported in its report.

    Args:
        place: The pod, as sent by the extender.
        context: What all pods share.

    Attributes:
        report: The current report.
        label: The pod's name, for people.
        allowance: CPU time of its readings.
        held_bytes: Approximate memory.
    """

    def __init__(self, place: PodPlace, context: NodeContext) -> None:
        self.place = place
        self.label = f"pod {place.namespace}/{place.name}"
        self.uid = Uid(place.uid)
        self.report = PodReport(uid=self.uid)
        self.allowance = Allowance()
        self._context = context
        self._metrics, self._problem = _metrics_place(place)
        self._sources = Sources(place, self._metrics, context)
        self._choice: Choice | None = None
        self._pace = PaceMeter()
        self._checkpoint, self._files = _checkpoint(place, context)
        self.held_bytes = POD_BYTES
        self._find_at = self._read_at = self._check_at = float("-inf")

    @property
    def files(self) -> int:
        """Number of followed files."""
        return len(self._sources.all)

    @property
    def due_at(self) -> float:
        """When the next reading or check is due, on the monotonic clock."""
        read_at = max(self._read_at, self.allowance.ready_at)
        return read_at if self._files is None else min(read_at, self._check_at)

    def due(self, monotonic: float) -> bool:
        """Return True if reading its metrics is due; ``monotonic`` in seconds."""
        return monotonic >= max(self._read_at, self.allowance.ready_at)

    def drop_largest(self) -> bool:
        """Stop reading the source that uses most memory; return False if there is none."""
        dropped = self._sources.drop_largest()
        if dropped:
            self._choice = choose(self._sources.all, self._metrics.metric, self._choice)
            self._update_report()
        self.held_bytes = POD_BYTES + self._sources.held_bytes
        return dropped

    def read(self, now: float, monotonic: float) -> PodRead:
        """Read its metrics and update the report.

        Args:
            now: Seconds since the epoch.
            monotonic: Seconds of the monotonic clock.
        """
        self.allowance.begin(monotonic)
        reads = self._read(now, monotonic)
        self.held_bytes = POD_BYTES + self._sources.held_bytes
        while self.held_bytes > POD_MEMORY_BYTES and self.drop_largest():
            pass
        self.allowance.end()
        events = tuple(event for read in reads for event in read.events)[:POD_EVENTS]
        before, urgent = self.report, self._update_report()
        changes = _category_change(before.progress, self.report.progress, now)
        return PodRead(
            counts=tuple(read.counts for read in reads),
            events=(*events, *changes),
            urgent=urgent,
        )

    def check_checkpoint(self, monotonic: float) -> bool:
        """Check its checkpoint directory if that is due.

        Returns:
            True if there is an urgent change.
        """
        if self._files is None or monotonic < self._check_at:
            return False
        before, self._checkpoint = self._checkpoint, self._files.read(monotonic)
        waiting, context = self._checkpoint.phase in _WAITING, self._context
        seconds = context.asked_seconds if waiting else context.checkpoint_seconds
        self._check_at = _next(monotonic, seconds)
        return self._checkpoint != before and self._update_report()

    def carry_out(self, command: Command, now: float) -> Outcome:
        """Carry out a command of the extender; ``now`` in seconds since the epoch."""
        if self._files is None:
            return Outcome.REFUSED
        self._check_at = self._read_at = float("-inf")
        if isinstance(command, CheckpointRequest):
            return self._files.request(command, now)
        return self._files.cancel(command)

    def close(self) -> None:
        """Close all sources."""
        self._sources.close()

    def _read(self, now: float, monotonic: float) -> tuple[SourceRead, ...]:
        self._read_at = _next(monotonic, self._interval_seconds(now))
        if self._problem:
            return ()
        if monotonic >= self._find_at:
            self._sources.find()
            rare = FOUND_RATIO if self._sources.all else 1.0
            self._find_at = monotonic + rare * self._context.find_seconds
        reads = tuple(source.read(now, monotonic, self.allowance) for source in self._sources.all)
        self._choice = choose(self._sources.all, self._metrics.metric, self._choice)
        self._pace.take(self._sources.all, now)
        if any(read.more for read in reads):  # ticks up to now need the values up to now
            self._read_at = monotonic
        else:
            self._advance(now)
        return reads

    def _interval_seconds(self, now: float) -> float:
        waiting = self._checkpoint is not None and self._checkpoint.phase in _WAITING
        begun_at = self._begun_at()
        steady = begun_at is not None and now - begun_at >= STEADY_SECONDS and not waiting
        return self._context.interval_seconds * (STEADY_RATIO if steady else 1.0)

    def _begun_at(self) -> float | None:
        """Return when the run began, or its log while no value is known; None before that."""
        if self._choice is not None:
            return self._choice.track.first_at
        return max((s.begun_at for s in self._sources.all if s.begun_at is not None), default=None)

    def _advance(self, now: float) -> None:
        for source in self._sources.all:
            source.advance(now)
        if self._choice is not None:
            rate = self._choice.source.rate
            self._choice.track.predict(self._total_steps(self._choice), now, rate)

    def _update_report(self) -> bool:
        """Update the report; return True if it has an urgent change."""
        before, self.report = self.report, self._report()
        return _urgent_part(before) != _urgent_part(self.report)

    def _report(self) -> PodReport:
        choice = self._choice
        report = PodReport(
            uid=self.uid,
            progress=None if choice is None else self._progress(choice),
            checkpoint=self._checkpoint,
            problem=self._problems(),
        )
        return self.report if report == self.report else report

    def _problems(self) -> str:
        sources = self._sources
        problems = [self._problem, sources.problem, sources.dropped_problem, self.allowance.problem]
        problems += [source.problem for source in sources.all]
        if self._choice is None:
            problems.append(why_no_choice(sources.all, self._metrics.metric))
        return "; ".join(dict.fromkeys(filter(None, problems)))[:PROBLEM_CHARACTERS]

    def _total_steps(self, choice: Choice) -> int | None:
        return self._metrics.total_steps or choice.source.total_steps

    def _progress(self, choice: Choice) -> Progress:
        source, track = choice.source, choice.track
        return Progress(
            metric=choice.metric,
            source=source.stream.format,
            updated_at=track.last_at,
            goal=track.goal,
            step=_whole(source.step),
            total_steps=self._total_steps(choice),
            value=track.value,
            first_value=track.first_value,
            best_value=track.best_value,
            points=track.points,
            category=track.category,
            specon=track.state.category,
            evidence=track.evidence,
            growth=track.state.known_growth,
            converged_at=track.converged_at,
            attempt=choice.attempt,
            diverged=track.diverged,
            bad_values=track.bad_values,
            bad_since_step=_whole(track.bad_since_step),
            pace=self._pace.pace,
            curve=track.curve.values(),
            remaining_seconds=track.remaining_seconds or source.stated_seconds,
            remaining_loss=track.remaining_loss,
        )


def _next(monotonic: float, seconds: float) -> float:
    """Return the next multiple of ``seconds``, the same for all pods.

    Reading all pods at once costs less than one now and then: caches are warm.
    """
    return (monotonic // seconds + 1) * seconds


def _whole(step: float | None) -> int | None:
    return int(step) if step is not None and 0 <= step <= LARGEST_STEP else None


def _metrics_place(place: PodPlace) -> tuple[MetricsPlace, str]:
    try:
        return places.metrics_place(place.metrics, path_variables(place)), ""
    except InputError as error:
        return MetricsPlace(), str(error)


def _checkpoint(
    place: PodPlace, context: NodeContext
) -> tuple[Checkpoint | None, CheckpointFiles | None]:
    if place.checkpoint is None:
        return None, None
    try:
        path = places.checkpoint_directory(place.checkpoint, path_variables(place))
    except InputError as error:
        return unusable(Problem.MISCONFIGURED, str(error)), None
    uid, group = Uid(place.uid), context.checkpoint_gid
    return None, CheckpointFiles(context.volume, path, uid, context.node, group)


def _category_change(
    before: Progress | None, after: Progress | None, now: float
) -> Iterator[SourceEvent]:
    if before and after and before.metric == after.metric and before.category != after.category:
        yield SourceEvent("category", now, after.category.value)


def _urgent_part(report: PodReport) -> object:
    """Return the part whose changes are urgent: converged or not, state of the checkpoint.

    A noisy loss alternates between progressing and watching; that can wait.
    """
    progress, checkpoint = report.progress, report.checkpoint
    converged = progress is not None and progress.category is Category.CONVERGED
    if checkpoint is None:
        return converged
    return (
        converged,
        checkpoint.phase,
        checkpoint.request,
        checkpoint.problem,
        checkpoint.done,
        checkpoint.resumed_step,
    )
