"""The scheduling loop: when something changed, one cycle on one snapshot, then its commands.

A cycle that takes longer than ``SLICE_SECONDS`` pauses after each such slice, so that probes,
heartbeats and kube-scheduler are answered meanwhile. It goes on with the snapshot of its beginning,
so it decides what it would have decided without a pause. Filter plans no gang until it has ended.
"""

import asyncio
import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from extender.controllers.change_notifier import rung
from extender.core.cluster.commands import Command
from extender.core.cluster.session import Reading
from extender.core.cluster.steps import Paused, Steps, further
from extender.core.decisionlog.replay import CycleInput
from extender.core.parameters.combined import CoreParameters
from extender.core.queue import decision, namespace_shares, overtaken
from extender.core.queue.decision import Cycle
from extender.core.queue.state import Priced, QueueState, price, refuse, turn_away
from extender.core.scheduler import direct_gangs
from extender.metrics.extender import ExtenderMetrics
from extender.writers.decision_log.recorder import Recorder
from extender.writers.execute import Executor
from shared.clock import Clock
from shared.health import Heartbeat
from shared.model import JobKey, NodeName, Uid

ASSUMPTION_SECONDS = 30.0
"""A write of ours that the watch has not shown after this time did not happen."""

IDLE_PAUSES = 20
"""Where nothing changes, the pause between two cycles is at least so many times as long as one."""

MOST_PAUSE_SECONDS = 10.0
"""Nor is it longer than this."""

BUSY_PAUSES = 4
"""After a change the pause is at least so many times as long as the last cycle, which then takes
a fifth of the extender's time at most."""

MOST_SETTLE_SECONDS = 2.0
"""Nor is it longer than this, unless a cycle takes longer: then it takes half of the time."""

SLICE_SECONDS = 0.05
"""A cycle holds the event loop for so long, and for one job more; then others have a turn."""

REST_SECONDS = 0.01
"""So long others have, at least: an answer to a request takes several turns of the event loop."""

log = logging.getLogger(__name__)


def pause_seconds(interval_seconds: float, cycle_seconds: float) -> float:
    """Return how long nothing may happen until the next cycle, after one that took so long."""
    return max(interval_seconds, min(IDLE_PAUSES * cycle_seconds, MOST_PAUSE_SECONDS))


def settling_seconds(settle_seconds: float, cycle_seconds: float) -> float:
    """Return how long a cycle waits after a change, when the last one took so long."""
    own_share = min(BUSY_PAUSES * cycle_seconds, max(MOST_SETTLE_SECONDS, cycle_seconds))
    return max(settle_seconds, own_share)


@dataclass
class ScheduleLoop:
    """See the module.

    Attributes:
        settle_seconds: Pause after a change, so that a burst of pods is judged together; longer
            where a cycle would take more than its share (``BUSY_PAUSES``).
        interval_seconds: A cycle runs at least this often, unless it would take more than its share
            (``IDLE_PAUSES``).
        last: The last cycle, for the read API; None before the first.
    """

    executor: Executor
    recorder: Recorder
    parameters: CoreParameters
    clock: Clock
    acting: Callable[[], bool]
    metrics: ExtenderMetrics
    heartbeat: Heartbeat
    changed: asyncio.Event
    settle_seconds: float
    interval_seconds: float
    last: Cycle | None = None
    memory: QueueState = field(default_factory=QueueState)
    refusals: list[tuple[Uid, NodeName]] = field(default_factory=list)
    turned_away: set[JobKey] = field(default_factory=set)
    priced: Mapping[JobKey, Priced] | None = None
    _cycle_seconds: float = 0.0
    _deciding: bool = False
    _judged: Cycle | None = None
    _free: bool = False

    async def run(self) -> None:
        """Run cycles; returns only by cancellation."""
        while True:
            await self._wait()
            self.heartbeat.beat()
            if not self.acting():
                self._stand_by()
                continue
            commands = await self.decide()
            await self.executor.carry_out(commands)

    async def decide(self) -> tuple[Command, ...]:
        """Run one cycle on what is known now; return what of it can be carried out."""
        reading = Reading(self.clock.now(), self.clock.monotonic())
        self.recorder.expire(reading.monotonic - ASSUMPTION_SECONDS)
        refusals, self.refusals = tuple(self.refusals), []
        turned_away, self.turned_away = tuple(sorted(self.turned_away)), set()
        memory = turn_away(refuse(self.memory, refusals), turned_away)
        priced, self.priced = self.priced, None
        memory = price(memory, priced)
        self._close_seats(reading.monotonic)
        snapshot = self.recorder.store.snapshot()
        given = CycleInput(reading, refusals, self.memory, turned_away, priced)
        steps = decision.steps(snapshot, memory, reading, self.parameters)
        cycle = await self._in_slices(steps, given)
        self.metrics.queue.cycle_seconds.observe(self._cycle_seconds)
        self.memory, self.last = cycle.memory, cycle
        self.metrics.queue.observe(cycle, reading.now)
        now = self.recorder.store.snapshot()
        if now is snapshot:
            return cycle.commands
        return overtaken.without_overtaken(cycle.commands, snapshot, now)

    async def _in_slices(self, steps: Steps[Cycle], given: CycleInput) -> Cycle:
        """Take the steps of a cycle, and pause between slices; keep in the log what came of it."""
        self._cycle_seconds, began = 0.0, self.clock.monotonic()
        try:
            while isinstance(cycle := further(steps), Paused):
                if self.clock.monotonic() - began < SLICE_SECONDS:
                    continue
                if not self._deciding:
                    self._deciding = True
                    self.recorder.cycle_begins(given)
                self._cycle_seconds += self.clock.monotonic() - began
                self.heartbeat.beat()
                await asyncio.sleep(REST_SECONDS)
                began = self.clock.monotonic()
            self._cycle_seconds += self.clock.monotonic() - began
            self.recorder.cycle(given, cycle, begun=self._deciding)
        finally:
            self._deciding = False
        return cycle

    def refuse(self, uid: Uid, node: NodeName) -> None:
        """Tell the next cycle that kube-scheduler did not offer a pod's planned node."""
        self.refusals.append((uid, node))
        self.changed.set()

    def turn_away(self, job: JobKey) -> None:
        """Tell the next cycle that filter had no seats for a direct gang: it joins the queue."""
        self.turned_away.add(job)
        self.changed.set()

    def price(self, priced: Mapping[JobKey, Priced]) -> None:
        """Tell the next cycle how jobs with a utility stand that have no plan."""
        if priced != (self.memory.priced if self.priced is None else self.priced):
            self.priced = priced
            self.changed.set()

    def is_in_line(self, job: JobKey) -> bool:
        """Say whether the cycle, not filter, gives this direct gang its seats."""
        return job in self.turned_away or job in self.memory.turned_away

    def may_plan(self, job: JobKey) -> bool:
        """Say whether filter may plan a direct gang: nobody is overtaken by it."""
        if self._deciding or self.is_in_line(job) or self.turned_away:
            return False
        if not self._nobody_lacks_room():
            return False
        snapshot = self.recorder.store.snapshot()
        if namespace_shares.has_limit(snapshot, job.partition("/")[0], self.parameters):
            return False  # what its namespace holds is counted in cycles
        return not direct_gangs.unjudged(snapshot, self.memory.known)

    def _nobody_lacks_room(self) -> bool:
        """As the last cycle saw it; it is asked for every gang, so it is looked at once a cycle."""
        if self._judged is not self.last:
            self._judged = self.last
            entries = self.last.entries if self.last else ()
            self._free = self.last is not None and direct_gangs.nobody_lacks_room(entries)
        return self._free

    def _close_seats(self, monotonic: float) -> None:
        snapshot = self.recorder.store.snapshot()
        for job in direct_gangs.overdue(snapshot, monotonic, self.parameters):
            log.info("%s: not all members of the gang came", job)
            self.recorder.close_seats(job)

    def _stand_by(self) -> None:
        """Forget: whoever acts meanwhile changes what was remembered here."""
        self.memory, self.last = QueueState(), None
        self.metrics.queue.forget()
        self.turned_away.clear()
        self.priced = None
        self.recorder.forget_promises()
        self.recorder.start_anew()

    async def _wait(self) -> None:
        ahead = self.last.wake_after_seconds if self.last else None
        pause = pause_seconds(self.interval_seconds, self._cycle_seconds)
        patience = pause if ahead is None else min(pause, ahead)
        settle = settling_seconds(self.settle_seconds, self._cycle_seconds)
        await rung(self.changed, within_seconds=patience, settle_seconds=settle)
