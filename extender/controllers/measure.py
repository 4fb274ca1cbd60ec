"""Metrics that are measured every few seconds: of the cluster, of our loops, of agents' reports.

What takes long is measured in a thread, on a snapshot that does not change.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from extender.core.agents import reports
from extender.core.agents.reports import Freshness
from extender.core.cluster.snapshot import Snapshot
from extender.core.parameters.placement import NodePriceParameters
from extender.metrics.extender import ExtenderMetrics
from extender.store.source import SnapshotSource
from shared.clock import Clock
from shared.health import Health, Heartbeat

INTERVAL_SECONDS: Final = 5.0
"""Prometheus scrapes every 15 or 30 seconds; its samples are at most this old."""

PAUSES: Final = 50
"""The pause is at least so many times as long as measuring: that costs a fiftieth of a core."""

MOST_SECONDS: Final = 20.0
"""Nor is it longer than this, however long measuring takes."""

REPORTS_SECONDS: Final = 10.0
"""How often nodes are counted by the reports of their agents."""


@dataclass
class MeasureLoop:
    """Measures the cluster and our loops.

    Attributes:
        health: The heartbeats of our loops.
        barrier: Returns how many bind calls wait.
    """

    store: SnapshotSource
    pricing: NodePriceParameters
    clock: Clock
    metrics: ExtenderMetrics
    heartbeat: Heartbeat
    health: Health
    barrier: Callable[[], int]

    async def run(self) -> None:
        """Measure every ``INTERVAL_SECONDS``; returns only by cancellation."""
        while True:
            self.heartbeat.beat()
            cluster = self.metrics.cluster
            cluster.barrier_pods.set(self.barrier())
            cluster.observe_loops(self.health.heartbeats.values())
            begun = self.clock.monotonic()
            await asyncio.to_thread(self.measure, self.store.snapshot(), begun)
            took = self.clock.monotonic() - begun
            await asyncio.sleep(min(max(INTERVAL_SECONDS, PAUSES * took), MOST_SECONDS))

    def measure(self, snapshot: Snapshot, monotonic: float) -> None:
        """Set the metrics of a snapshot; ``monotonic`` is the clock's reading."""
        self.metrics.cluster.observe_nodes(snapshot.node_table, self.pricing)
        self.metrics.cluster.observe_reports(snapshot, monotonic)
        self.metrics.teams.observe_gpus(snapshot, monotonic)


@dataclass
class ReportsLoop:
    """Counts nodes by the reports of their agents, where there is a listener for these.

    Attributes:
        stale_seconds: Age at which the last report of an agent is counted as stale.
    """

    store: SnapshotSource
    clock: Clock
    metrics: ExtenderMetrics
    heartbeat: Heartbeat
    stale_seconds: float

    async def run(self) -> None:
        """Count every ``REPORTS_SECONDS``; returns only by cancellation."""
        while True:
            self.heartbeat.beat()
            self.count()
            await asyncio.sleep(REPORTS_SECONDS)

    def count(self) -> None:
        """Count the nodes by the freshness of their reports."""
        freshness = Freshness(self.clock.monotonic(), self.stale_seconds)
        nodes = reports.nodes_by_reporting(self.store.snapshot(), freshness)
        self.metrics.observe_reports(nodes)
