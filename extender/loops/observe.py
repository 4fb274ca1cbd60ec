"""Reflectors feed the store: one for each kind that decisions read."""

import asyncio
import gc
import logging
import random
from dataclasses import dataclass, field

from extender.loops.record import Recorder
from extender.metrics import ExtenderMetrics
from shared.clock import Clock
from shared.health import Heartbeat
from shared.kube import resources
from shared.kube.client import KubeClient
from shared.kube.reflector import Reflector
from shared.model import Delta

KINDS = (
    resources.NODES,
    resources.PODS,
    resources.JOBS,
    resources.STATEFULSETS,
    resources.NAMESPACES,
    resources.RESOURCE_QUOTAS,
    resources.PRIORITY_CLASSES,
)
BEAT_SECONDS = 1.0

log = logging.getLogger(__name__)


@dataclass
class Observer:
    """Runs the reflectors; ``synced`` once every kind was listed."""

    client: KubeClient
    recorder: Recorder
    clock: Clock
    metrics: ExtenderMetrics
    heartbeat: Heartbeat
    changed: asyncio.Event
    rng: random.Random
    reflectors: list[Reflector] = field(init=False)

    def __post_init__(self) -> None:
        self.reflectors = [
            Reflector(
                self.client, kind, self._take, clock=self.clock, rng=self.rng, report=self._report
            )
            for kind in KINDS
        ]

    @property
    def synced(self) -> bool:
        """Every kind was listed at least once."""
        return all(reflector.synced.is_set() for reflector in self.reflectors)

    async def run(self) -> None:
        """Follow the API server; returns only by cancellation."""
        async with asyncio.TaskGroup() as group:
            for reflector in self.reflectors:
                group.create_task(reflector.run(), name=f"reflector {reflector.kind.source}")
            group.create_task(self._freeze(), name="freeze")
            while True:
                self.heartbeat.beat()
                self.metrics.observe_reflectors(self.reflectors, self.clock.monotonic())
                await asyncio.sleep(BEAT_SECONDS)

    async def _freeze(self) -> None:
        """Take what was listed out of the garbage collector's sight: it stays for long."""
        for reflector in self.reflectors:
            await reflector.synced.wait()
        gc.collect()
        gc.freeze()

    def _take(self, delta: Delta) -> None:
        self.recorder.apply(delta)
        self.changed.set()

    def _report(self, key: str, error: Exception) -> None:
        log.warning("skipped %s: %s", key, error)
        self.metrics.skipped_objects.inc()
