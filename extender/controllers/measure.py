"""The measuring loop: every few seconds what the cluster and our own loops are like, as metrics.

What takes long is made in a thread, of a snapshot that nobody changes.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from extender.core.cluster.snapshot import Snapshot
from extender.core.parameters.placement import NodePriceParameters
from extender.metrics.extender import ExtenderMetrics
from extender.store.source import SnapshotSource
from shared.clock import Clock
from shared.health import Health, Heartbeat

LOOK_SECONDS: Final = 5.0
"""Prometheus asks every 15 or 30 seconds; what it is told is at most so old."""

PAUSES: Final = 50
"""The pause is at least so many times as long as a look: it costs a fiftieth of a core."""

MOST_SECONDS: Final = 20.0
"""Nor is it longer than this, whatever a look takes."""


@dataclass
class MeasureLoop:
    """See the module.

    Attributes:
        health: Whose heartbeats are told.
        barrier: Says how many bind calls wait.
    """

    store: SnapshotSource
    pricing: NodePriceParameters
    clock: Clock
    metrics: ExtenderMetrics
    heartbeat: Heartbeat
    health: Health
    barrier: Callable[[], int]

    async def run(self) -> None:
        """Look every ``LOOK_SECONDS``; returns only by cancellation."""
        while True:
            self.heartbeat.beat()
            cluster = self.metrics.cluster
            cluster.barrier_pods.set(self.barrier())
            cluster.observe_loops(self.health.heartbeats.values())
            begun = self.clock.monotonic()
            await asyncio.to_thread(self.measure, self.store.snapshot(), begun)
            took = self.clock.monotonic() - begun
            await asyncio.sleep(min(max(LOOK_SECONDS, PAUSES * took), MOST_SECONDS))

    def measure(self, snapshot: Snapshot, monotonic: float) -> None:
        """Take over what a snapshot says; ``monotonic`` is the clock's reading."""
        self.metrics.cluster.observe_nodes(snapshot.room, self.pricing)
        self.metrics.cluster.observe_reports(snapshot, monotonic)
