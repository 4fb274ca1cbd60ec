"""The scheduling loop: when something changed, one cycle on one snapshot, then its commands."""

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass, field

from extender.engine import queueing
from extender.engine.memory import Memory, Reading, refuse
from extender.engine.parameters import EngineParameters
from extender.engine.queueing import Cycle
from extender.loops.execute import Executor
from extender.loops.record import Recorder
from extender.metrics import ExtenderMetrics
from shared.clock import Clock
from shared.health import Heartbeat
from shared.model import NodeName, Uid

ASSUMPTION_SECONDS = 30.0
"""A write of ours that the watch has not shown after this time did not happen."""

log = logging.getLogger(__name__)


@dataclass
class ScheduleLoop:
    """See the module.

    Attributes:
        settle_seconds: Pause after a change, so that a burst of pods is judged together.
        interval_seconds: A cycle runs at least this often.
        last: The last cycle, for the read API; None before the first.
    """

    executor: Executor
    recorder: Recorder
    parameters: EngineParameters
    clock: Clock
    acting: Callable[[], bool]
    metrics: ExtenderMetrics
    heartbeat: Heartbeat
    changed: asyncio.Event
    settle_seconds: float
    interval_seconds: float
    last: Cycle | None = None
    memory: Memory = field(default_factory=Memory)
    refusals: list[tuple[Uid, NodeName]] = field(default_factory=list)

    async def run(self) -> None:
        """Run cycles; returns only by cancellation."""
        while True:
            await self._wait()
            self.heartbeat.beat()
            if not self.acting():
                self._stand_by()
                continue
            cycle = self.decide()
            await self.executor.carry_out(cycle.commands)

    def decide(self) -> Cycle:
        """Run one cycle on what is known now, without carrying it out."""
        reading = Reading(self.clock.now(), self.clock.monotonic())
        self.recorder.expire(reading.monotonic - ASSUMPTION_SECONDS)
        refusals, self.refusals = tuple(self.refusals), []
        memory = refuse(self.memory, refusals)
        snapshot = self.recorder.store.snapshot()
        with self.metrics.cycle_seconds.time():
            cycle = queueing.cycle(snapshot, memory, reading, self.parameters)
        self.recorder.cycle(reading, refusals, self.memory, cycle)
        self.memory, self.last = cycle.memory, cycle
        self.metrics.observe_queue(cycle)
        return cycle

    def refuse(self, uid: Uid, node: NodeName) -> None:
        """Tell the next cycle that kube-scheduler did not offer a pod's planned node."""
        self.refusals.append((uid, node))
        self.changed.set()

    def _stand_by(self) -> None:
        """Forget: whoever acts meanwhile changes what was remembered here."""
        self.memory, self.last = Memory(), None
        self.recorder.start_anew()

    async def _wait(self) -> None:
        ahead = self.last.wake_after_seconds if self.last else None
        patience = min(self.interval_seconds, ahead if ahead is not None else self.interval_seconds)
        try:
            async with asyncio.timeout(patience):
                await self.changed.wait()
        except TimeoutError:
            return
        await asyncio.sleep(self.settle_seconds)
        self.changed.clear()
