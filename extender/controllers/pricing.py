"""The controller of admission by price: a pass over jobs with a utility after a change.

It only writes slot plans on owners: the queue starts a job that has one, and the elastic decision
sets each slot's number of workers. A pass may take long, so it runs in a thread.
"""

import asyncio
import contextlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from msgspec.structs import replace as changed_state
from typing_extensions import override

from extender.controllers.base import Controller
from extender.core.cluster.session import Reading, Session
from extender.core.cluster.snapshot import Cache, Snapshot
from extender.core.explain import NOT_BY_PRICE, hypothetical_nodes
from extender.core.pricing.decision import PRICING, PricingDecision, PricingTrigger
from extender.core.pricing.history import History
from extender.core.pricing.outcome import JobStatus, PriceLedger, PricingOutcome, PricingState
from extender.core.pricing.stable_schedule import GRACE
from extender.core.queue.state import Priced
from extender.core.records.slot_plan import plans_by_job
from extender.writers.history import HistoryKeeper
from extender.writers.owners import OwnerWriter
from shared.model import JobKey

SETTLE_SECONDS: Final = 0.2
"""Pause after a change: a job's pods come one by one."""
LONGEST_PAUSE_SECONDS: Final = 10.0
"""Without any change a pass is due after this, for what agents measured."""
REST_RATIO: Final = 3.0
"""Pause after a pass, as a multiple of its duration: deciding takes a quarter of a core at most.

The pause ends when a slot begins, and before a new job would lose its slot.
"""
NOTHING_YET: Final = "no job with a utility was priced so far, so there are no prices"
NOT_ACTING: Final = "this replica is not the leader; only the leader knows the slots"


@dataclass(kw_only=True)
class PricingController(Controller[PricingState, PricingTrigger, PricingOutcome]):
    """See the module.

    Attributes:
        changed: Set when something changed; cleared here.
        notify: Wakes the other controllers when a slot begins.
        price: Passes to the queue why jobs have no plan.
        last: What the last pass decided; None before the first.
    """

    decision: PricingDecision = PRICING
    writer: OwnerWriter
    keeper: HistoryKeeper
    changed: asyncio.Event
    notify: Callable[[], None]
    price: Callable[[Mapping[JobKey, Priced]], None] = lambda _: None
    last: PricingOutcome | None = None
    _loaded: bool = field(init=False, default=False)
    _took_seconds: float = field(init=False, default=0.0)

    @override
    async def reconcile(self) -> None:
        if not self.context.parameters.slot_time.enabled:
            return
        if not self.context.leads():
            self.stand_by()
            return
        await self.admit()

    async def admit(self) -> None:
        """Make one pass, write the plans, and keep what was learned."""
        if not self._loaded:
            self._remember(await self.keeper.load())
            self._loaded = True
        began = self.context.clock.monotonic()
        outcome = await self._decided(Reading(self.context.clock.now(), began))
        self._took_seconds = self.context.clock.monotonic() - began
        self.price(outcome.unplanned)
        if self.context.leads():
            await self.carry_out(outcome)
        history = self.state.history
        kept = await self.keeper.save(history)
        if kept != history:
            self._remember(kept)

    def standings(self) -> Mapping[JobKey, JobStatus]:
        """Return the status of jobs with a utility after the last pass."""
        return {} if self.last is None else self.last.statuses

    def book(self) -> PriceLedger | str:
        """Return what is promised over the slots, or a text why that is not known."""
        if not self.context.parameters.slot_time.enabled:
            return NOT_BY_PRICE
        if self.last is None:
            return NOT_ACTING
        return self.last.price_ledger or NOTHING_YET

    def history(self) -> History:
        """Return what past jobs taught."""
        return self.state.history

    @override
    def trigger(self, session: Session) -> PricingTrigger:
        return PricingTrigger()

    async def _decided(self, reading: Reading) -> PricingOutcome:
        """Decide in a thread, on a snapshot that shares nothing that changes meanwhile."""
        snapshot, recorder, state = self._snapshot(), self.context.recorder, self.state
        own = replace(
            snapshot, node_table=hypothetical_nodes.isolated(snapshot.node_table), cache=Cache()
        )
        session, trigger = self.context.session(PRICING, reading, own), PricingTrigger()
        recorder.begins(PRICING, session, state, trigger)
        try:
            outcome = await asyncio.to_thread(self.decision.decide, session, state, trigger)
        except BaseException:
            recorder.fails(PRICING)
            raise
        recorder.ends(PRICING, session, trigger, outcome)
        self.context.metrics.admission.observe(outcome, state, plans_by_job(snapshot))
        self.take_over(session, outcome)
        self.last = outcome
        return outcome

    @override
    async def carry_out(self, outcome: PricingOutcome) -> None:
        await self.writer.carry_out(outcome.commands)

    def _snapshot(self) -> Snapshot:
        return self.context.recorder.store.snapshot()

    def _remember(self, history: History) -> None:
        """Take over a history that another replica, or an earlier life, has written."""
        self.context.keep(PRICING, changed_state(self.state, history=history))
        self.context.recorder.start_anew()

    @override
    def stand_by(self) -> None:
        if not self._loaded and self.last is None:
            return
        self.last, self._loaded = None, False
        self.forget()
        self.context.metrics.admission.stand_by()

    @override
    async def wait(self) -> None:
        """Return after a change, or when a slot begins; then the other controllers wake too."""
        clock = self.context.clock
        wake_at = self.last.wake_at if self.last is not None else float("inf")
        slot_seconds = self.context.parameters.slot_time.slot_seconds
        await asyncio.sleep(pause(self._took_seconds, wake_at - clock.now(), slot_seconds))
        left = min(LONGEST_PAUSE_SECONDS, max(0.0, wake_at - clock.now()))
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(left):
                await self.changed.wait()
                await asyncio.sleep(SETTLE_SECONDS)
        if clock.now() >= wake_at:
            self.notify()
        self.changed.clear()


def pause(took_seconds: float, left_seconds: float, slot_seconds: float) -> float:
    """Return the pause after a pass, in seconds; for a slot that began during it there is none.

    Args:
        took_seconds: Duration of the pass.
        left_seconds: Until the next slot; below 0 it has begun.
        slot_seconds: Length of a slot; after a pass that took longer there is a pause all the same.
    """
    in_time = GRACE * slot_seconds / 2
    rest = min(LONGEST_PAUSE_SECONDS, in_time, REST_RATIO * took_seconds)
    return rest if left_seconds < -slot_seconds else min(rest, max(0.0, left_seconds))
