"""Keeps one node registered and alive in the eyes of the node lifecycle controller.

The admission plugin taints a new Node ``not-ready``; the controller takes the taint away when it
sees the Ready condition, and puts it back when neither Lease nor status is renewed.
"""

import asyncio
import logging
import random
from collections.abc import Mapping
from typing import Final

from devcluster.process_node import node_object
from devcluster.process_node.api import NodeApi
from devcluster.process_node.options import NodeOptions
from shared.clock import Clock
from shared.kube.errors import ApiError
from shared.kube.retry import Backoff

LEASE_RENEWAL_SECONDS: Final = 10.0
STATUS_RENEWAL_SECONDS: Final = 60.0
FAREWELL_SECONDS: Final = 2.0

logger = logging.getLogger(__name__)


class Registration:
    """One node's presence.

    Args:
        options: The node.
        host_ip: Its address.
        notes: How it works, for people: shown in the Ready condition.
        api: The API server.
        clock: Stamps.
        rng: Jitter of retries.

    Attributes:
        registered: Set when the node is there and ready.
    """

    def __init__(
        self,
        options: NodeOptions,
        host_ip: str,
        notes: Mapping[str, str],
        api: NodeApi,
        clock: Clock,
        rng: random.Random,
    ) -> None:
        self.registered = asyncio.Event()
        self._options = options
        self._host_ip = host_ip
        self._notes = notes
        self._api = api
        self._clock = clock
        self._backoff = Backoff(rng=rng, most_seconds=LEASE_RENEWAL_SECONDS)
        self._uid = ""
        self._ready_since = clock.now()
        self._status_due_at = clock.monotonic()

    async def run(self) -> None:
        """Register, then renew; no answer of the server ends it."""
        while True:
            try:
                await self._renew()
            except ApiError as error:
                logger.warning("node %s not renewed: %s", self._options.name, error)
                await asyncio.sleep(self._backoff.next_seconds())
            else:
                self._backoff.reset()
                await asyncio.sleep(LEASE_RENEWAL_SECONDS)

    async def _renew(self) -> None:
        if not self._uid:
            self._uid = await self._api.register(node_object.manifest(self._options))
        now = self._clock.now()
        await self._api.renew_lease(node_object.lease(self._options.name, self._uid, now))
        if self._clock.monotonic() >= self._status_due_at:
            status = node_object.status(
                self._options, self._host_ip, now, self._ready_since, self._notes
            )
            await self._api.report_node(self._options.name, status)
            self._status_due_at = self._clock.monotonic() + STATUS_RENEWAL_SECONDS
            self.registered.set()

    async def farewell(self) -> None:
        """Say that the node ends, if the server listens."""
        stopped = node_object.stopped_status(self._clock.now())
        try:
            async with asyncio.timeout(FAREWELL_SECONDS):
                await self._api.report_node(self._options.name, stopped)
        except (ApiError, TimeoutError) as error:
            logger.info("node %s: no farewell: %s", self._options.name, error)
