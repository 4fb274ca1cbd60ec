"""The loop around one decision: wait, decide, record, carry out."""

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Generic

from typing_extensions import override

from extender.core.cluster.session import (
    Decision,
    HasState,
    OutcomeT,
    Reading,
    Session,
    States,
    StateT,
    StateT_co,
    TriggerT,
)
from extender.core.cluster.snapshot import Snapshot
from extender.core.parameters.combined import CoreParameters
from extender.metrics.extender import ExtenderMetrics
from extender.writers.decision_log.recorder import Recorder
from shared.clock import Clock
from shared.health import Heartbeat


class ChangeNotifier(asyncio.Event):
    """One event that several loops wait for, each on a follower, which it clears itself."""

    def __init__(self) -> None:
        super().__init__()
        self._followers: list[asyncio.Event] = []

    def follower(self) -> asyncio.Event:
        """Return an event that is set whenever this one is."""
        follower = asyncio.Event()
        self._followers.append(follower)
        return follower

    @override
    def set(self) -> None:
        """Wake all."""
        super().set()
        for follower in self._followers:
            follower.set()


async def changed(event: asyncio.Event, *, within_seconds: float, settle_seconds: float) -> None:
    """Return when an event was set, or after ``within_seconds`` without.

    What was set is cleared ``settle_seconds`` later, so that a burst of changes is seen at once.
    """
    try:
        async with asyncio.timeout(within_seconds):
            await event.wait()
    except TimeoutError:
        return
    await asyncio.sleep(settle_seconds)
    event.clear()


@dataclass(frozen=True, kw_only=True)
class DecisionContext:
    """What all controllers share, and the latest state of each decision.

    Attributes:
        leads: Returns True while this replica is the leader.
    """

    recorder: Recorder
    parameters: CoreParameters
    clock: Clock
    leads: Callable[[], bool]
    metrics: ExtenderMetrics
    _states: dict[str, Any] = field(init=False, default_factory=dict)

    def reading(self) -> Reading:
        """Read the clocks."""
        return Reading(self.clock.now(), self.clock.monotonic())

    def state_of(self, decision: HasState[StateT_co]) -> StateT_co:
        """Return the latest state of a decision; its first state if it was never made."""
        return States(self._states).of(decision)

    def states(self) -> States:
        """Return the latest states of all decisions; later passes do not change them."""
        return States(dict(self._states))

    def keep(self, decision: HasState[Any], state: object) -> None:
        """Keep the state that a pass left."""
        self._states[decision.name] = state

    def session(
        self,
        decision: Decision[Any, Any, Any],
        reading: Reading,
        snapshot: Snapshot | None = None,
    ) -> Session:
        """Return the session of a pass that begins now, by default on the newest snapshot."""
        if snapshot is None:
            snapshot = self.recorder.store.snapshot()
        states = States(self._states).read_by(decision)
        return Session(snapshot, reading, self.parameters, states)


@dataclass(kw_only=True)
class Controller(ABC, Generic[StateT, TriggerT, OutcomeT]):
    """Makes one decision again and again while this replica is the leader.

    Attributes:
        decision: Which.
        context: What all controllers share.
        heartbeat: Beats in every round.
    """

    decision: Decision[StateT, TriggerT, OutcomeT]
    context: DecisionContext
    heartbeat: Heartbeat

    @property
    def state(self) -> StateT:
        """What the last pass left."""
        return self.context.state_of(self.decision)

    async def run(self) -> None:
        """Wait for a reason to decide, decide, carry out; returns only by cancellation."""
        while True:
            await self.wait()
            self.heartbeat.beat()
            await self.reconcile()

    async def reconcile(self) -> None:
        """Make one pass, or forget what another leader may change meanwhile."""
        if not self.context.leads():
            self.stand_by()
        elif (outcome := self.decide()) is not None:
            await self.carry_out(outcome)

    def decide(self) -> OutcomeT | None:
        """Decide on the newest snapshot and record it; None if there is nothing to decide."""
        session = self.context.session(self.decision, self.context.reading())
        trigger = self.trigger(session)
        if trigger is None:
            return None
        state = self.state
        outcome = self.decision.decide(session, state, trigger)
        self.context.recorder.decided(self.decision, session, state, trigger, outcome)
        self.take_over(session, outcome)
        return outcome

    def take_over(self, session: Session, outcome: OutcomeT) -> None:
        """Keep the state of a pass, and count what it decided."""
        del session
        self.context.keep(self.decision, outcome.state)

    def forget(self) -> None:
        """Begin again from the first state."""
        self.context.keep(self.decision, self.decision.first_state())
        self.context.recorder.start_anew()

    @abstractmethod
    async def wait(self) -> None:
        """Return when a pass is due."""

    @abstractmethod
    def trigger(self, session: Session) -> TriggerT | None:
        """Return what the pass is given; None if there is nothing to decide."""

    @abstractmethod
    async def carry_out(self, outcome: OutcomeT) -> None:
        """Make the writes that were decided."""

    @abstractmethod
    def stand_by(self) -> None:
        """Forget what another leader may change meanwhile."""
