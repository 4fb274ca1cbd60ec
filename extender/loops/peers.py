"""Where the replica is that acts: the holder of the Lease is a pod behind our own Service."""

import logging
from collections.abc import Callable
from dataclasses import dataclass

from shared.clock import Clock
from shared.kube import endpoints
from shared.kube.client import KubeClient
from shared.kube.errors import ApiError

KEPT_SECONDS = 10.0
"""How long an address is used, or its lack believed, before the API server is asked again."""

log = logging.getLogger(__name__)


@dataclass
class Peers:
    """Finds the replica that acts, when somebody asks a replica that does not.

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
    _found_at: float = 0.0

    async def acting(self) -> tuple[str, int] | None:
        """Return address and port of the read API of who holds the Lease; None if unknown."""
        holder, now = self.holder().rpartition("_")[0], self.clock.monotonic()
        if not holder:
            return None
        if holder == self._found_for and now - self._found_at < KEPT_SECONDS:
            return self._found
        try:
            slices = await endpoints.of_service(self.client, self.namespace, self.service)
        except ApiError as error:
            log.warning("looking for the replica that acts, %s: %s", holder, error)
            return None
        self._found = endpoints.of_pod(slices, holder, self.port_name)
        self._found_for, self._found_at = holder, now
        return self._found
