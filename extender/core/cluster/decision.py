"""The protocol of decisions: a session, a state and a trigger go in, an outcome comes out.

A decision is a value: no state of its own, no I/O. A controller keeps the state between passes,
the decision log keeps trigger and outcome, and a replay decides again. A new decision is a package
with a ``Decision``, and one line in ``decisionlog.registry``.
"""

import hashlib
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, TypeVar

import msgspec

from extender.core.cluster.session import Session
from extender.core.cluster.snapshot import Snapshot
from extender.core.cluster.steps import Steps

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
