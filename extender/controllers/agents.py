"""Beside the agents' listener: nodes are counted by what their agents say."""

import asyncio
from dataclasses import dataclass
from typing import Final

from extender.core.agents import report_view
from extender.core.agents.report_view import Freshness
from extender.metrics.extender import ExtenderMetrics
from extender.store.source import SnapshotSource
from shared.clock import Clock
from shared.health import Heartbeat

LOOK_SECONDS: Final = 10.0
"""How often."""


@dataclass
class AgentsLoop:
    """See the module.

    Attributes:
        stale_seconds: From when on a silent agent is counted as stale.
    """

    store: SnapshotSource
    clock: Clock
    metrics: ExtenderMetrics
    heartbeat: Heartbeat
    stale_seconds: float

    async def run(self) -> None:
        """Count every ``LOOK_SECONDS``; returns only by cancellation."""
        while True:
            self.heartbeat.beat()
            self.count()
            await asyncio.sleep(LOOK_SECONDS)

    def count(self) -> None:
        """Count the nodes by what their agents say."""
        freshness = Freshness(self.clock.monotonic(), self.stale_seconds)
        nodes = report_view.nodes_by_reporting(self.store.snapshot(), freshness)
        self.metrics.observe_reports(nodes)
