"""The controller of the queue: after a change, one pass on one snapshot, then its commands.

A pass that takes longer than ``SLICE_SECONDS`` pauses after each such slice, so that probes,
heartbeats and kube-scheduler are answered meanwhile. It goes on with the snapshot of its beginning,
so it decides what it would have decided without a pause. Filter plans no gang until it has ended.
"""

import asyncio
import logging
from collections.abc import Mapping
from dataclasses import dataclass, field

from typing_extensions import override

from extender.controllers.base import Controller, changed
from extender.controllers.hold import HoldPermit
from extender.core.cluster.commands import Command
from extender.core.cluster.session import Paused, Session, further
from extender.core.queue import namespace_shares, overtaken
from extender.core.queue.decision import QUEUE, QueueDecision, QueueOutcome
from extender.core.queue.state import Priced, QueueState, QueueTrigger
from extender.core.scheduler import direct_gangs
from extender.core.scheduler.direct_gangs import QueueView
from extender.writers.execute import Executor
from extender.writers.owners import OwnerWriter
from shared.model import JobKey, NodeName, Uid

ASSUMPTION_SECONDS = 30.0
"""A write of ours that the watch has not shown after this time did not happen."""

IDLE_PAUSES = 20
"""Without changes the pause between two passes is at least so many times as long as a pass."""

MOST_PAUSE_SECONDS = 10.0
"""Nor is it longer than this."""

BUSY_PAUSES = 4
"""After a change the pause is at least so many times as long as the last pass, which then takes a
fifth of the extender's time at most."""

MOST_SETTLE_SECONDS = 2.0
"""Nor is it longer than this, unless a pass takes longer: then it takes half of the time."""

SLICE_SECONDS = 0.05
"""A pass holds the event loop for so long, and for one job more; then other tasks run."""

REST_SECONDS = 0.01
"""Other tasks run for at least so long: a request takes several turns of the event loop."""

log = logging.getLogger(__name__)


def pause_seconds(interval_seconds: float, pass_seconds: float) -> float:
    """Return the pause without changes, after a pass that took so long."""
    return max(interval_seconds, min(IDLE_PAUSES * pass_seconds, MOST_PAUSE_SECONDS))


def settling_seconds(settle_seconds: float, pass_seconds: float) -> float:
    """Return the pause after a change, when the last pass took so long."""
    own_share = min(BUSY_PAUSES * pass_seconds, max(MOST_SETTLE_SECONDS, pass_seconds))
    return max(settle_seconds, own_share)


@dataclass(kw_only=True)
class QueueController(Controller[QueueState, QueueTrigger, QueueOutcome]):
    """See the module.

    Attributes:
        settle_seconds: Pause after a change, so that a burst of pods is viewed together; longer
            where a pass would take more than its share (``BUSY_PAUSES``).
        interval_seconds: A pass runs at least this often, unless it would take more than its share
            (``IDLE_PAUSES``).
        owners: Keeps places for parked jobs.
        permit: Whether answers may be held, and gangs be released for that.
        last: The last pass, for the read API; None before the first.
    """

    decision: QueueDecision = QUEUE
    executor: Executor
    owners: OwnerWriter
    changed: asyncio.Event
    settle_seconds: float
    interval_seconds: float
    permit: HoldPermit
    last: QueueOutcome | None = None
    refusals: list[tuple[Uid, NodeName]] = field(default_factory=list)
    turned_away: set[JobKey] = field(default_factory=set)
    priced: Mapping[JobKey, Priced] | None = None
    _pass_seconds: float = field(init=False, default=0.0)
    _deciding: bool = field(init=False, default=False)
    _checked: QueueOutcome | None = field(init=False, default=None)
    _has_room: bool = field(init=False, default=False)

    @override
    async def reconcile(self) -> None:
        if not self.context.leads():
            self.stand_by()
            return
        commands = await self.pass_()
        if self.last is not None:
            await self.owners.carry_out(self.last.resumes)
        await self.executor.carry_out(commands)

    @override
    def trigger(self, session: Session) -> QueueTrigger:
        """Return what happened since the last pass."""
        refusals, self.refusals = tuple(self.refusals), []
        turned_away, self.turned_away = tuple(sorted(self.turned_away)), set()
        priced, self.priced = self.priced, None
        return QueueTrigger(
            refusals, turned_away, priced, bursts=self.permit.gated and self.permit.valid()
        )

    async def pass_(self) -> tuple[Command, ...]:
        """Run one pass on the newest snapshot; return the commands that can be carried out."""
        reading, recorder = self.context.reading(), self.context.recorder
        recorder.expire(reading.monotonic - ASSUMPTION_SECONDS)
        self._close_reservations(reading.monotonic)
        session = self.context.session(QUEUE, reading)
        outcome = await self._in_slices(session, self.trigger(session))
        queue = self.context.metrics.queue
        queue.cycle_seconds.observe(self._pass_seconds)
        self.take_over(session, outcome)
        self.last = outcome
        queue.observe(outcome, reading.now)
        self.context.metrics.teams.observe_queue(outcome.entries)
        now = recorder.store.snapshot()
        if now is session.snapshot:
            return outcome.commands
        return overtaken.without_overtaken(outcome.commands, session.snapshot, now)

    @override
    async def carry_out(self, outcome: QueueOutcome) -> None:
        await self.owners.carry_out(outcome.resumes)
        await self.executor.carry_out(outcome.commands)

    async def _in_slices(self, session: Session, trigger: QueueTrigger) -> QueueOutcome:
        """Take the steps of a pass, with pauses between slices; record what came of it."""
        clock, recorder, state = self.context.clock, self.context.recorder, self.state
        steps = self.decision.steps(session, state, trigger)
        self._pass_seconds, began = 0.0, clock.monotonic()
        try:
            while isinstance(outcome := further(steps), Paused):
                if clock.monotonic() - began < SLICE_SECONDS:
                    continue
                if not self._deciding:
                    self._deciding = True
                    recorder.begins(QUEUE, session, state, trigger)
                self._pass_seconds += clock.monotonic() - began
                self.heartbeat.beat()
                await asyncio.sleep(REST_SECONDS)
                began = clock.monotonic()
            self._pass_seconds += clock.monotonic() - began
            if self._deciding:
                recorder.ends(QUEUE, session, trigger, outcome)
            else:
                recorder.decided(QUEUE, session, state, trigger, outcome)
        finally:
            self._deciding = False
        return outcome

    def refuse(self, uid: Uid, node: NodeName) -> None:
        """Pass on to the next pass that kube-scheduler did not offer a pod's planned node."""
        self.refusals.append((uid, node))
        self.changed.set()

    def turn_away(self, job: JobKey) -> None:
        """Queue a direct gang in the next pass: filter could reserve no nodes for it."""
        self.turned_away.add(job)
        self.changed.set()

    def price(self, priced: Mapping[JobKey, Priced]) -> None:
        """Pass on to the next pass why jobs with a utility have no slot plan."""
        if priced != (self.state.priced if self.priced is None else self.priced):
            self.priced = priced
            self.changed.set()

    def has_direct_gang(self, job: JobKey) -> bool:
        """Return True if a pass, not filter, gives this direct gang its reservations."""
        return job in self.turned_away or job in self.state.turned_away

    def direct_gangs(self) -> tuple[JobKey, ...]:
        """Return the direct gangs to which a pass gives their reservations."""
        return tuple(sorted(self.turned_away.union(self.state.turned_away)))

    def view(self, job: JobKey) -> QueueView:
        """Return what filter and bursts need of the queue for a pod of the job."""
        return QueueView(self.may_plan(job), self.context.clock.monotonic())

    def may_plan(self, job: JobKey) -> bool:
        """Return True if filter may plan a direct gang: it overtakes no job."""
        if self._deciding or self.has_direct_gang(job) or self.turned_away:
            return False
        if not self.has_room_for_all():
            return False
        snapshot = self.context.recorder.store.snapshot()
        if namespace_shares.has_limit(snapshot, job.partition("/")[0], self.context.parameters):
            return False  # what its namespace holds is counted in passes
        return not direct_gangs.has_unviewed(snapshot, self.state.known)

    def has_room_for_all(self) -> bool:
        """Return True if there was a pass and no job of it lacks room; computed once a pass."""
        if self._checked is not self.last:
            self._checked = self.last
            entries = self.last.entries if self.last else ()
            self._has_room = self.last is not None and direct_gangs.no_job_lacks_room(entries)
        return self._has_room

    def _close_reservations(self, monotonic: float) -> None:
        snapshot = self.context.recorder.store.snapshot()
        for job in direct_gangs.overdue(snapshot, monotonic, self.context.parameters):
            log.info("%s: not all members of the gang came", job)
            self.context.recorder.drop_placeholders(job)

    @override
    def stand_by(self) -> None:
        self.last = None
        self.context.metrics.queue.forget()
        self.context.metrics.teams.observe_queue(())
        self.turned_away.clear()
        self.priced = None
        self.context.recorder.forget_promises()
        self.forget()

    @override
    async def wait(self) -> None:
        ahead = self.last.wake_after_seconds if self.last else None
        pause = pause_seconds(self.interval_seconds, self._pass_seconds)
        patience = pause if ahead is None else min(pause, ahead)
        settle = settling_seconds(self.settle_seconds, self._pass_seconds)
        await changed(self.changed, within_seconds=patience, settle_seconds=settle)
        if not self.permit.gated:  # kube-scheduler takes up no released pod while it waits
            await self.permit.answered()
