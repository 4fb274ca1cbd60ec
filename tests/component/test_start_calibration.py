"""The loop that judges start estimates counts each start once, by where it was."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field

from extender.controllers.starts import StartsLoop
from extender.core.queue.decision import QueueOutcome
from extender.core.queue.forecast import Estimate
from extender.core.queue.state import QueueState
from extender.metrics.extender import ExtenderMetrics
from shared.clock import Clock
from shared.health import Health
from shared.model import JobKey
from shared.system_clock import SystemClock

EARLY, LATE = JobKey("default/job/early"), JobKey("default/job/late")


@dataclass
class Queue:
    """What the loop asks for, set by the test."""

    clock: Clock
    estimates: Mapping[JobKey, Estimate]
    running: Mapping[JobKey, float] = field(default_factory=dict)
    acts: bool = True

    def last(self) -> QueueOutcome | None:
        if not self.acts:
            return None
        state = QueueState(running=dict(self.running))
        return QueueOutcome(commands=(), state=state, entries=(), wake_after_seconds=None)

    async def of(self, cycle: QueueOutcome | None) -> Mapping[JobKey, Estimate]:
        assert cycle is not None
        return self.estimates


async def counted(metrics: ExtenderMetrics) -> dict[str, float]:
    """Each count above zero, by its labels."""
    name = "shuntyard_start_estimates_total"
    text = (await asyncio.to_thread(metrics.render)).decode()
    lines = (line for line in text.splitlines() if line.startswith(name))
    pairs = (line.removeprefix(name).rsplit(" ", 1) for line in lines)
    return {labels: float(count) for labels, count in pairs if float(count)}


def judging() -> tuple[Queue, StartsLoop, ExtenderMetrics]:
    clock, metrics = SystemClock(), ExtenderMetrics()
    now = clock.now()
    in_an_hour = Estimate(now + 1800.0, "", now + 900.0, now + 2700.0)
    queue = Queue(clock, {EARLY: in_an_hour, LATE: in_an_hour})
    beat = Health(clock.monotonic).heartbeat("starts", 60.0)
    return queue, StartsLoop(queue.last, queue.of, clock, metrics.starts, beat), metrics


async def test_each_start_is_counted_once_by_where_it_was() -> None:
    queue, loop, metrics = judging()
    await loop.judge()
    assert await counted(metrics) == {}
    now = queue.clock.now()
    queue.running = {EARLY: now + 100.0, LATE: now + 2000.0}
    for _ in range(2):
        await loop.judge()
    assert await counted(metrics) == {
        '{ahead="1h",where="before"}': 1.0,
        '{ahead="1h",where="inside"}': 1.0,
    }


async def test_a_replica_that_no_longer_leads_forgets_its_estimates() -> None:
    queue, loop, metrics = judging()
    await loop.judge()
    queue.acts = False
    await loop.judge()
    queue.acts, queue.running = True, {EARLY: queue.clock.now()}
    await loop.judge()
    assert await counted(metrics) == {}
