"""Asks any replica for our pods on this node, every few seconds.

While none answers, the last answer is used: the pods keep running, and are still read.
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


@dataclass(kw_only=True)
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
    _last_replica: Replica | None = None
    _etag: str = ""
    _trouble: str = ""

    def known(self) -> bool:
        """Return True if any replica has sent the pods."""
        return self.board.places is not None

    async def run(self) -> None:
        """Ask until cancelled."""
        while True:
            await self._ask()
            spread = self.rng.uniform(1 - JITTER_RATIO, 1 + JITTER_RATIO)
            await asyncio.sleep(self.interval_seconds * spread)

    async def _ask(self) -> None:
        """Ask one replica after the other until one answers; first the one that did last time."""
        replicas = self.addresses.known or await self.addresses.find()
        for replica in sorted(replicas, key=lambda replica: replica != self._last_replica):
            self.heartbeat.beat()
            # The ETag is only valid for the replica that sent it.
            etag = self._etag if replica == self._last_replica else ""
            try:
                answer = await self.client.pods(replica, self.node, etag)
            except ReplicaError as error:
                self._failed(replica, error)
            else:
                self._answered(replica, answer)
                return
        self.heartbeat.beat()

    def _answered(self, replica: Replica, answer: tuple[NodePods, str] | None) -> None:
        self.metrics.discoveries.labels(outcome=Answer.OK.value).inc()
        if self._trouble:
            log.info("%s sends the pods again", replica.url)
        self._last_replica, self._trouble = replica, ""
        if answer is None:
            return
        pods, self._etag = answer
        places = sorted(pods.pods, key=lambda place: place.created_at)
        if len(places) > MOST_PODS:
            log.error("%d pods, of which only the oldest %d are read", len(places), MOST_PODS)
        self.board.set_pods({Uid(place.uid): place for place in places[:MOST_PODS]})
        self.changed()

    def _failed(self, replica: Replica, error: ReplicaError) -> None:
        refused = isinstance(error, RefusedError)
        outcome = Answer.REFUSED if refused else Answer.UNREACHABLE
        self.metrics.discoveries.labels(outcome=outcome.value).inc()
        trouble = f"{replica.url}: {error}"
        if trouble != self._trouble:
            log.log(error.level, "the pods cannot be updated: %s", trouble)
        self._trouble = trouble
