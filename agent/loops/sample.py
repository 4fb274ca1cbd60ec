"""Samples the use of pods and node, in its own thread, and puts it on the board."""

import asyncio
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from agent.reporting.board import Board
from agent.sampling.finding import Samplers
from agent.worker import Worker
from shared.clock import Clock
from shared.health import Heartbeat
from shared.model import Uid
from shared.progress import Use


@dataclass
class Sampling:
    """See the module."""

    samplers: Samplers
    worker: Worker
    interval_seconds: float
    board: Board
    clock: Clock
    heartbeat: Heartbeat

    async def run(self) -> None:
        """Sample until cancelled."""
        while True:
            self.heartbeat.beat()
            uids = tuple(self.board.places or ())
            self.board.set_use(*await self.worker.submit(self._sample, uids))
            await asyncio.sleep(self.interval_seconds)

    def _sample(self, uids: Collection[Uid]) -> tuple[Mapping[Uid, Use], Use, float]:
        now = self.clock.monotonic()
        uses = self.samplers.pods.sample(uids, now)
        node, cpu_cores = self.samplers.node.sample(now, uses.values())
        return uses, node, cpu_cores
