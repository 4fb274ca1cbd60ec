"""Addresses of the extender's replicas: configured URLs, or the addresses of a headless Service.

Every replica gets all reports, so that one that becomes leader knows the node already.
"""

import asyncio
import logging
import socket
from collections.abc import Sequence
from dataclasses import dataclass

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Replica:
    """One replica of the extender.

    Attributes:
        url: Scheme, host and port, e.g. ``https://10.1.2.3:10263``.
        server_name: Name its certificate must have; None: the host of the URL.
    """

    url: str
    server_name: str | None = None


@dataclass
class Addresses:
    """Finds the replicas.

    Attributes:
        urls: The replicas, if configured; then nothing is looked up.
        service: Else the host name that resolves to all of them.
        port: Port of the replicas behind ``service``.
        server_name: Name in their certificates; None: the host's.
        known: The replicas of the last lookup.
    """

    urls: Sequence[str]
    service: str
    port: int
    server_name: str | None
    known: tuple[Replica, ...] = ()
    _trouble: str = ""

    async def find(self) -> tuple[Replica, ...]:
        """Return all replicas in a stable order; the last known ones if the lookup fails."""
        if self.urls:
            self.known = tuple(Replica(url, self.server_name) for url in self.urls)
            return self.known
        loop = asyncio.get_running_loop()
        try:
            answers = await loop.getaddrinfo(self.service, self.port, type=socket.SOCK_STREAM)
        except OSError as error:
            if str(error) != self._trouble:
                log.warning("no address for %s: %s", self.service, error)
            self._trouble = str(error)
            return self.known
        self._trouble = ""
        hosts = sorted({str(socket_address[0]) for *_, socket_address in answers})
        name = self.server_name or self.service
        self.known = tuple(Replica(self._url(host), name) for host in hosts)
        return self.known

    def _url(self, host: str) -> str:
        return f"https://[{host}]:{self.port}" if ":" in host else f"https://{host}:{self.port}"
