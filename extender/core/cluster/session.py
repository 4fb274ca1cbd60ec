"""The protocol of decisions: a session, a state and a trigger go in, an outcome comes out.

A decision is a value: no state of its own, no I/O. A controller keeps the state between passes,
the decision log keeps trigger and outcome, and a replay decides again. A new decision is a package
with a ``Decision``, and one line in ``decisionlog.registry``.

A session never changes, so whatever a pass reads from it twice is the same both times. A decision
in steps is a generator that yields where it may pause and returns what it decided; the result
depends on its arguments alone, never on how long a pause was.
"""

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Generator, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Final, Generic, Protocol, TypeVar, cast

import msgspec
from msgspec import Struct

from extender.core.cluster import levels
from extender.core.cluster.snapshot import Snapshot
from extender.core.parameters.combined import CoreParameters
from shared.model import NodeName, Uid
from shared.progress import NodeReport, PodReport

StateT = TypeVar("StateT")
CommandT_co = TypeVar("CommandT_co", covariant=True)


@dataclass(frozen=True, kw_only=True)
class Outcome(Generic[StateT, CommandT_co]):
    """What a pass decided; a decision adds what its readers need, such as an answer or reasons.

    Attributes:
        state: For the next pass.
        commands: API writes to make, in order.
    """

    state: StateT
    commands: tuple[CommandT_co, ...] = ()


TriggerT = TypeVar("TriggerT")
OutcomeT = TypeVar("OutcomeT", bound=Outcome[Any, Any])
T = TypeVar("T")
Steps = Generator[None, None, T]
"""Yields at each pause, returns the decision."""


class Reading(Struct, frozen=True):
    """Two clock readings: ``now`` in seconds since the epoch, ``monotonic`` for durations."""

    now: float
    monotonic: float


StateT_co = TypeVar("StateT_co", covariant=True)


class HasState(Protocol[StateT_co]):
    """A decision, as far as others read its state."""

    @property
    def name(self) -> str:
        """Its kind in the decision log."""
        ...

    def first_state(self) -> StateT_co:
        """Return the state of a decision that was never made."""
        ...


@dataclass(frozen=True)
class States:
    """The latest states of decisions that other decisions read, by name."""

    by_name: Mapping[str, Any] = field(default_factory=dict)

    def of(self, decision: HasState[StateT_co]) -> StateT_co:
        """Return the latest state of a decision; its first state if it was never made."""
        if decision.name not in self.by_name:
            return decision.first_state()
        return cast("StateT_co", self.by_name[decision.name])

    def read_by(self, decision: "Decision[Any, Any, Any]") -> "States":
        """Return the states that a decision reads; later passes do not change them."""
        return States({other.name: self.of(other) for other in decision.reads})


@dataclass(frozen=True)
class Session:
    """The inputs that every pass of a decision shares; made once for each pass.

    Attributes:
        snapshot: The cluster.
        reading: When the pass began.
        parameters: All of them, with the levels of Kueue's Topology objects.
        states: Of the decisions that this one ``reads``.
    """

    snapshot: Snapshot
    reading: Reading
    parameters: CoreParameters
    states: States = field(default_factory=States)

    def __post_init__(self) -> None:
        object.__setattr__(self, "parameters", levels.in_force(self.snapshot, self.parameters))

    @property
    def now(self) -> float:
        """Seconds since the epoch."""
        return self.reading.now

    @property
    def monotonic(self) -> float:
        """Seconds on a clock that is never set."""
        return self.reading.monotonic

    @property
    def stale_seconds(self) -> float:
        """Age above which an agent's report does not count."""
        return self.parameters.agent_reports.stale_seconds

    def report(self, node: NodeName) -> NodeReport | None:
        """Return the report of a node; None unless it is complete and recent enough.

        A new leader thus waits for the first full report of every agent.
        """
        report = self.snapshot.reports.get(node)
        if report is None or not report.complete:
            return None
        return report if self.monotonic - report.received_at <= self.stale_seconds else None

    def pod_report(self, uid: Uid) -> PodReport | None:
        """Return what the agent of the pod's node reports of it; None if nothing recent."""
        node = self.snapshot.bound.get(uid)
        report = None if node is None else self.report(node)
        return None if report is None else report.pods.get(uid)


class Decision(ABC, Generic[StateT, TriggerT, OutcomeT]):
    """One decision of the core.

    Attributes:
        name: Its kind in the decision log.
        state_type: A ``msgspec.Struct``; its default is the first state.
        trigger_type: A ``msgspec.Struct``: what the pass is given beside the session, such as the
            results of the last commands.
        reads: Decisions whose latest state it is given in ``session.states``.
    """

    name: ClassVar[str]
    state_type: type[StateT]
    trigger_type: type[TriggerT]
    reads: "ClassVar[tuple[Decision[Any, Any, Any], ...]]" = ()

    @abstractmethod
    def decide(self, session: Session, state: StateT, trigger: TriggerT) -> OutcomeT:
        """Decide; the same arguments give the same outcome."""

    def steps(self, session: Session, state: StateT, trigger: TriggerT) -> Steps[OutcomeT]:
        """Decide what ``decide`` decides, with pauses in between; by default without one."""
        yield from ()
        return self.decide(session, state, trigger)

    def first_state(self) -> StateT:
        """Return the state before the first pass."""
        return self.state_type()

    @abstractmethod
    def summary(self, snapshot: Snapshot, trigger: TriggerT, outcome: OutcomeT) -> object:
        """Return what the decision log keeps of an outcome, as something msgspec can write.

        Args:
            snapshot: Of the pass.
            trigger: As ``shortened``.
            outcome: What was decided.
        """

    def shortened(self, snapshot: Snapshot, trigger: TriggerT, outcome: OutcomeT) -> TriggerT:
        """Return the trigger as the log keeps it."""
        del snapshot, outcome
        return trigger

    def expanded(self, snapshot: Snapshot, trigger: TriggerT) -> TriggerT:
        """Return a trigger that decides what the one before ``shortened`` did."""
        del snapshot
        return trigger


def digest(value: object) -> str:
    """Return what a summary keeps of a value that is too long to be kept whole."""
    return hashlib.sha256(msgspec.json.encode(value)).hexdigest()


class Paused:
    """The decision is not made yet."""


PAUSED: Final = Paused()


def further(steps: Steps[T]) -> T | Paused:
    """Go on to the next pause, or to the decision."""
    try:
        next(steps)
    except StopIteration as end:
        decision: T = end.value
        return decision
    return PAUSED


def in_full(steps: Steps[T]) -> T:
    """Return the decision, without a pause."""
    while isinstance(decision := further(steps), Paused):
        pass
    return decision


Key = TypeVar("Key")


class Backoff(Struct, frozen=True):
    """A job or a pod that waits: until when (monotonic seconds), and after how many failures."""

    until: float
    strikes: int


def strike(
    backoff: dict[Key, Backoff], key: Key, monotonic: float, *, first: float, most: float
) -> None:
    """Let a job or a pod wait: ``first`` seconds, doubled with each strike, at most ``most``."""
    strikes = backoff[key].strikes + 1 if key in backoff else 1
    seconds = min(most, first * 2.0 ** min(strikes - 1, 30))
    backoff[key] = Backoff(monotonic + seconds, strikes)
