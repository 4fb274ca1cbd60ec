"""The loop of CPU weights: training is watched all the time, requests are set now and then.

Where weights are switched off it restores what an earlier run changed, and has nothing else to do.
"""

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from extender.core.cluster.session import Reading
from extender.core.cpu_shares import decision, portions
from extender.core.cpu_shares.commands import ResizeOutcome
from extender.core.cpu_shares.decision import ResizeLook, ResizeOccasion
from extender.core.cpu_shares.state import INFEASIBLE, ResizeMemory
from extender.core.parameters.combined import CoreParameters
from extender.metrics.extender import ExtenderMetrics, Resizing
from extender.writers.cpu_requests import RequestWriter
from extender.writers.decision_log.recorder import Recorder
from shared.clock import Clock
from shared.health import Heartbeat

LOOK_SECONDS: Final = 5.0
"""How often training is looked at; agents report as often."""
FAREWELL_PAUSE_SECONDS: Final = 0.1
"""From one look to the next at the end: the watch has to show what was written."""

log = logging.getLogger(__name__)


@dataclass
class ResizeLoop:
    """See the module.

    Attributes:
        interval_seconds: Requests are set this often.
        restore_seconds: Restoring at the end may take so long.
    """

    writer: RequestWriter
    recorder: Recorder
    parameters: CoreParameters
    clock: Clock
    acting: Callable[[], bool]
    metrics: ExtenderMetrics
    heartbeat: Heartbeat
    interval_seconds: float
    restore_seconds: float
    memory: ResizeMemory = field(default_factory=ResizeMemory)
    _outcomes: tuple[ResizeOutcome, ...] = ()
    _due_at: float = 0.0
    _leaving: bool = False
    _one_at_a_time: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def run(self) -> None:
        """Look at requests; returns only by cancellation."""
        while True:
            self.heartbeat.beat()
            await self._look()
            await asyncio.sleep(min(LOOK_SECONDS, self.interval_seconds))

    async def farewell(self) -> None:
        """Give everybody back what they were given; returns after ``restore_seconds`` at last.

        Only who acts does so. What is left then, another replica or the next start restores.
        """
        self._leaving = True
        try:
            async with asyncio.timeout(self.restore_seconds):
                async with self._one_at_a_time:
                    self._forget()  # whoever rests after a refusal is tried once more
                while self.acting() and self._restorable_pods():
                    await self._look()
                    await asyncio.sleep(FAREWELL_PAUSE_SECONDS)
        except TimeoutError:
            log.warning("%d pods keep a changed CPU request", self.changed_pods())

    def changed_pods(self) -> int:
        """Return how many pods carry our note."""
        jobs = self.recorder.store.snapshot().jobs
        return sum(portions.is_noted(pod) for pods in jobs.values() for pod in pods)

    def _restorable_pods(self) -> int:
        """Return how many of them can be given back what the note says; nobody waits for others."""
        snapshot = self.recorder.store.snapshot()
        found = (pod for pods in snapshot.jobs.values() for pod in pods)
        return sum(portions.is_restorable(pod, snapshot) for pod in found)

    def decide(self) -> ResizeLook | None:
        """Look once; None if weights are off and nothing is left to restore."""
        changed = self.changed_pods()
        self.metrics.resized_pods.set(changed)
        enabled = self.parameters.cpu_weights.enabled and not self._leaving
        if not enabled and not changed and not self._outcomes:
            return None
        reading = Reading(self.clock.now(), self.clock.monotonic())
        due = reading.monotonic >= self._due_at
        if due:
            self._due_at = reading.monotonic + self.interval_seconds
        occasion = ResizeOccasion(reading, due, self._leaving, self._outcomes)
        snapshot = self.recorder.store.snapshot()
        look = decision.look(snapshot, self.memory, occasion, self.parameters)
        self.recorder.resized(occasion, self.memory, look)
        self.memory, self._outcomes = look.memory, ()
        for reason in look.found_pending:
            kind = Resizing.INFEASIBLE if reason == INFEASIBLE else Resizing.DEFERRED
            self.metrics.resizes.labels(outcome=kind.value).inc()
        return look

    async def _look(self) -> None:
        async with self._one_at_a_time:
            if not self.acting():
                self._stand_by()
            elif (look := self.decide()) is not None:
                self._outcomes = await self.writer.carry_out(look.commands)

    def _stand_by(self) -> None:
        """Whoever acts meanwhile changes what was remembered here."""
        self._forget()
        self.metrics.resized_pods.set(0)

    def _forget(self) -> None:
        self.memory, self._outcomes, self._due_at = ResizeMemory(), (), 0.0
        self.recorder.start_anew()
