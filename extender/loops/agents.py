"""What goes on beside the agents' listener: its certificate is renewed, its agents are counted."""

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from extender.engine import reporting
from extender.engine.reporting import Freshness
from extender.metrics import ExtenderMetrics
from extender.state.store import ClusterStore
from shared.clock import Clock
from shared.errors import SettingsError
from shared.health import Heartbeat

LOOK_SECONDS: Final = 10.0
"""How often; a certificate is renewed days before it ends."""

log = logging.getLogger(__name__)


@dataclass
class AgentsLoop:
    """See the module.

    Attributes:
        renew: Takes a changed certificate into use and says whether it did; blocks, and raises
            ``SettingsError`` where the files cannot be used.
        stale_seconds: From when on a silent agent is counted as stale.
    """

    store: ClusterStore
    clock: Clock
    metrics: ExtenderMetrics
    heartbeat: Heartbeat
    renew: Callable[[], bool]
    stale_seconds: float

    async def run(self) -> None:
        """Look every ``LOOK_SECONDS``; returns only by cancellation."""
        while True:
            self.heartbeat.beat()
            self.count()
            await self.look()
            await asyncio.sleep(LOOK_SECONDS)

    def count(self) -> None:
        """Count the nodes by what their agents say."""
        freshness = Freshness(self.clock.monotonic(), self.stale_seconds)
        nodes = reporting.nodes_by_reporting(self.store.snapshot(), freshness)
        self.metrics.observe_reports(nodes)

    async def look(self) -> None:
        """Renew the certificate if its files changed; what cannot be used is said every time."""
        try:
            if await asyncio.to_thread(self.renew):
                log.info("the agents' listener has a new certificate")
        except SettingsError as error:
            log.error("the agents' listener keeps its old certificate: %s", error)  # noqa: TRY400 - the cause is in the text
