"""Where the replica is that acts: the holder of the Lease is a pod behind our own Service."""

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass, field

from shared.clock import Clock
from shared.kube import endpoints
from shared.kube.client import KubeClient
from shared.kube.errors import ApiError

KEPT_SECONDS = 10.0
"""How long an address is used, or its lack believed, before the API server is asked again."""
FAILED_SECONDS = 2.0
"""How long nobody is looked for after the API server did not answer."""

log = logging.getLogger(__name__)


@dataclass
class Peers:
    """Finds the replica that acts, when somebody asks a replica that does not.

    However many ask, the API server is asked by one of them, and the others hear what he heard.

    Attributes:
        namespace: The Service's, and the replicas' own.
        service: The Service of the read API.
        port_name: Its port's name.
        holder: Who holds the Lease: the pod's name, ``_`` and a part that nobody needs here.
    """

    client: KubeClient
    clock: Clock
    namespace: str
    service: str
    port_name: str
    holder: Callable[[], str]
    _found: tuple[str, int] | None = None
    _found_for: str = ""
    _found_until: float = 0.0
    _looking: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def acting(self) -> tuple[str, int] | None:
        """Return address and port of the read API of who holds the Lease; None if unknown."""
        async with self._looking:
            holder = self.holder().rpartition("_")[0]
            if not holder:
                return None
            if holder != self._found_for or self.clock.monotonic() >= self._found_until:
                await self._look(holder)
            return self._found

    async def _look(self, holder: str) -> None:
        self._found, kept_seconds = None, FAILED_SECONDS
        try:
            slices = await endpoints.slices_of_service(self.client, self.namespace, self.service)
        except ApiError as error:
            log.warning("looking for the replica that acts, %s: %s", holder, error)
        else:
            self._found = endpoints.pod_address(slices, holder, self.port_name)
            kept_seconds = KEPT_SECONDS
        self._found_for, self._found_until = holder, self.clock.monotonic() + kept_seconds
