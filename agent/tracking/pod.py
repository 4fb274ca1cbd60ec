"""One pod: its sources, its checkpoint directory, and the report that they give."""

from collections.abc import Iterator
from typing import Final

from msgspec import Struct

from agent.budgets import POD_EVENTS, POD_MEMORY_BYTES, PROBLEM_CHARACTERS
from agent.checkpoint.files import CheckpointFiles
from agent.checkpoint.rules import Outcome, Problem, unusable
from agent.tracking.allowance import Allowance
from agent.tracking.choice import Choice, choose, nothing_to_choose
from agent.tracking.source import Counts, Happening, Read
from agent.tracking.sources import Sources, Surroundings, whose
from shared import places
from shared.errors import InputError
from shared.model import Uid
from shared.places import MetricsPlace
from shared.progress import Category, Checkpoint, CheckpointPhase, PodReport, Progress
from shared.wire import CheckpointRequest, Command, PodPlace

POD_BYTES: Final = 8192
"""For a pod before anything is read: its place, its report, its checkpoint directory."""
FOUND_RATIO: Final = 3.0
"""Where there are files already, further ones are looked for so much more rarely."""
_WAITING: Final = (CheckpointPhase.ASKED, CheckpointPhase.ACKED)


class Look(Struct, frozen=True, kw_only=True):
    """What reading a pod gave.

    Attributes:
        urgent: The report changed in something that must not wait.
    """

    counts: tuple[Counts, ...] = ()
    happenings: tuple[Happening, ...] = ()
    urgent: bool = False


class TrackedPod:
    """See the module. Everything here blocks.

    What cannot be used or read is a problem of this pod, told in its report.

    Args:
        place: The pod, as the extender names it.
        around: What all pods share.

    Attributes:
        report: What is known of it.
        words: For people.
        allowance: What its reading may cost.
        held_bytes: Roughly how much memory it takes.
    """

    def __init__(self, place: PodPlace, around: Surroundings) -> None:
        self.place = place
        self.words = f"pod {place.namespace}/{place.name}"
        self.uid = Uid(place.uid)
        self.report = PodReport(uid=self.uid)
        self.allowance = Allowance()
        self._around = around
        self._metrics, self._problem = _metrics_place(place)
        self._sources = Sources(place, self._metrics, around)
        self._choice: Choice | None = None
        self._checkpoint, self._files = _checkpoint(place, around)
        self.held_bytes = POD_BYTES
        self._find_at = self._read_at = self._look_at = float("-inf")

    @property
    def files(self) -> int:
        """How many files are followed."""
        return len(self._sources.all)

    @property
    def due_at(self) -> float:
        """When it is time to read or to look again, on the monotonic clock."""
        read_at = max(self._read_at, self.allowance.ready_at)
        return read_at if self._files is None else min(read_at, self._look_at)

    def due(self, monotonic: float) -> bool:
        """Say whether it is time to read its metrics; ``monotonic`` in seconds."""
        return monotonic >= max(self._read_at, self.allowance.ready_at)

    def drop_largest(self) -> bool:
        """Read the source that keeps most no more; return whether there was one."""
        dropped = self._sources.drop_largest()
        if dropped:
            self._choice = choose(self._sources.all, self._metrics.metric)
            self._renew()
        self.held_bytes = POD_BYTES + self._sources.held_bytes
        return dropped

    def read(self, now: float, monotonic: float) -> Look:
        """Read its metrics and bring the report up to date.

        Args:
            now: Seconds since the epoch.
            monotonic: Seconds of the clock that never goes back.
        """
        self.allowance.begin(monotonic)
        reads = self._read(now, monotonic)
        self.held_bytes = POD_BYTES + self._sources.held_bytes
        while self.held_bytes > POD_MEMORY_BYTES and self.drop_largest():
            pass
        self.allowance.end()
        happenings = tuple(one for read in reads for one in read.happenings)[:POD_EVENTS]
        before, urgent = self.report, self._renew()
        changes = _category_change(before.progress, self.report.progress, now)
        return Look(
            counts=tuple(read.counts for read in reads),
            happenings=(*happenings, *changes),
            urgent=urgent,
        )

    def look(self, monotonic: float) -> bool:
        """Look at its checkpoint directory if it is time to.

        Returns:
            Whether something changed that must not wait.
        """
        if self._files is None or monotonic < self._look_at:
            return False
        before, self._checkpoint = self._checkpoint, self._files.look(monotonic)
        waiting, around = self._checkpoint.phase in _WAITING, self._around
        seconds = around.asked_seconds if waiting else around.checkpoint_seconds
        self._look_at = _next(monotonic, seconds)
        return self._checkpoint != before and self._renew()

    def carry_out(self, command: Command, now: float) -> Outcome:
        """Do what the extender wants; ``now`` in seconds since the epoch."""
        if self._files is None:
            return Outcome.REFUSED
        self._look_at = float("-inf")
        if isinstance(command, CheckpointRequest):
            return self._files.ask(command, now)
        return self._files.cancel(command)

    def close(self) -> None:
        """Give back what is open."""
        self._sources.close()

    def _read(self, now: float, monotonic: float) -> tuple[Read, ...]:
        self._read_at = _next(monotonic, self._around.interval_seconds)
        if self._problem:
            return ()
        if monotonic >= self._find_at:
            self._sources.find()
            rare = FOUND_RATIO if self._sources.all else 1.0
            self._find_at = monotonic + rare * self._around.find_seconds
        reads = tuple(source.read(now, monotonic, self.allowance) for source in self._sources.all)
        self._choice = choose(self._sources.all, self._metrics.metric)
        if any(read.more for read in reads):  # ticks up to now wait for the values up to now
            self._read_at = monotonic
        else:
            self._advance(now)
        return reads

    def _advance(self, now: float) -> None:
        for source in self._sources.all:
            source.advance(now)
        if self._choice is not None:
            self._choice.track.predict(self._total_steps(self._choice), now)

    def _renew(self) -> bool:
        """Bring the report up to date; return whether what changed must not wait."""
        before, self.report = self.report, self._report()
        return _urgent_part(before) != _urgent_part(self.report)

    def _report(self) -> PodReport:
        choice = self._choice
        sources = self._sources
        problems = [self._problem, sources.problem, sources.dropped_problem, self.allowance.problem]
        problems += [source.problem for source in self._sources.all]
        if choice is None:
            problems.append(nothing_to_choose(self._sources.all, self._metrics.metric))
        report = PodReport(
            uid=self.uid,
            progress=None if choice is None else self._progress(choice),
            checkpoint=self._checkpoint,
            problem="; ".join(dict.fromkeys(filter(None, problems)))[:PROBLEM_CHARACTERS],
        )
        return self.report if report == self.report else report

    def _total_steps(self, choice: Choice) -> int | None:
        return self._metrics.total_steps or choice.source.total_steps

    def _progress(self, choice: Choice) -> Progress:
        source, track = choice.source, choice.track
        return Progress(
            metric=choice.metric,
            source=source.stream.format,
            updated_at=track.last_at,
            goal=track.goal,
            step=None if source.step is None else int(source.step),
            total_steps=self._total_steps(choice),
            value=track.value,
            first_value=track.first_value,
            best_value=track.best_value,
            points=track.points,
            category=track.category,
            growth=track.standing.known_growth,
            converged_at=track.standing.converged_at,
            attempt=choice.attempt,
            diverged=track.diverged,
            curve=track.curve.values(),
            remaining_seconds=track.remaining_seconds,
            remaining_loss=track.remaining_loss,
        )


def _next(monotonic: float, seconds: float) -> float:
    """Return the next of the moments that are ``seconds`` apart, the same for all pods.

    To read all in one go costs less than one now and then: what is needed is at hand.
    """
    return (monotonic // seconds + 1) * seconds


def _metrics_place(place: PodPlace) -> tuple[MetricsPlace, str]:
    try:
        return places.metrics_place(place.metrics, whose(place)), ""
    except InputError as error:
        return MetricsPlace(), str(error)


def _checkpoint(
    place: PodPlace, around: Surroundings
) -> tuple[Checkpoint | None, CheckpointFiles | None]:
    if place.checkpoint is None:
        return None, None
    try:
        path = places.checkpoint_directory(place.checkpoint, whose(place))
    except InputError as error:
        return unusable(Problem.MISCONFIGURED, str(error)), None
    uid, group = Uid(place.uid), around.checkpoint_gid
    return None, CheckpointFiles(around.volume, path, uid, around.node, group)


def _category_change(
    before: Progress | None, after: Progress | None, now: float
) -> Iterator[Happening]:
    if before and after and before.metric == after.metric and before.category != after.category:
        yield Happening("category", now, after.category.value)


def _urgent_part(report: PodReport) -> object:
    """Return what must not wait when it changes: converged or not, how far a checkpoint is.

    A noisy loss goes to and fro between progressing and watching; that can wait.
    """
    progress, said = report.progress, report.checkpoint
    converged = progress is not None and progress.category is Category.CONVERGED
    if said is None:
        return converged
    return converged, said.phase, said.request, said.problem, said.done, said.resumed_step
