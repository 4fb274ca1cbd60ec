"""Which pods of ours are on this node: any replica is asked, every few seconds.

While none answers, the last answer stands: the pods go on, and so does reading them.
"""

import asyncio
import logging
import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from agent.errors import RefusedError, ReplicaError
from agent.metrics import AgentMetrics, Answer
from agent.replicas.addresses import Addresses, Replica
from agent.replicas.client import ExtenderClient
from agent.reporting.board import Board
from shared.health import Heartbeat
from shared.model import Uid
from shared.wire import MOST_PODS, NodePods

JITTER_RATIO: Final = 0.2

log = logging.getLogger(__name__)


@dataclass
class Discovery:
    """See the module.

    Attributes:
        changed: Called when the pods have changed.
    """

    client: ExtenderClient
    addresses: Addresses
    node: str
    interval_seconds: float
    board: Board
    changed: Callable[[], None]
    metrics: AgentMetrics
    heartbeat: Heartbeat
    rng: random.Random
    _asked: Replica | None = None
    _etag: str = ""
    _trouble: str = ""

    def known(self) -> bool:
        """Say whether any replica has named the pods."""
        return self.board.places is not None

    async def run(self) -> None:
        """Ask until cancelled."""
        while True:
            await self._ask()
            spread = self.rng.uniform(1 - JITTER_RATIO, 1 + JITTER_RATIO)
            await asyncio.sleep(self.interval_seconds * spread)

    async def _ask(self) -> None:
        """Ask one replica after the other until one answers; the one that did last time first."""
        replicas = self.addresses.known or await self.addresses.find()
        for replica in sorted(replicas, key=lambda one: one != self._asked):
            self.heartbeat.beat()
            # Another replica's ETag might mean something else.
            etag = self._etag if replica == self._asked else ""
            try:
                found = await self.client.pods(replica, self.node, etag)
            except ReplicaError as error:
                self._failed(replica, error)
            else:
                self._answered(replica, found)
                return
        self.heartbeat.beat()

    def _answered(self, replica: Replica, found: tuple[NodePods, str] | None) -> None:
        self.metrics.discoveries.labels(outcome=Answer.OK.value).inc()
        if self._trouble:
            log.info("%s names the pods", replica.url)
        self._asked, self._trouble = replica, ""
        if found is None:
            return
        pods, self._etag = found
        places = sorted(pods.pods, key=lambda place: place.created_at)
        if len(places) > MOST_PODS:
            log.error("%d pods, of which only the oldest %d are read", len(places), MOST_PODS)
        self.board.hold({Uid(place.uid): place for place in places[:MOST_PODS]})
        self.changed()

    def _failed(self, replica: Replica, error: ReplicaError) -> None:
        refused = isinstance(error, RefusedError)
        outcome = Answer.REFUSED if refused else Answer.UNREACHABLE
        self.metrics.discoveries.labels(outcome=outcome.value).inc()
        trouble = f"{replica.url}: {error}"
        if trouble != self._trouble:
            log.log(error.level, "the pods are not known anew: %s", trouble)
        self._trouble = trouble
