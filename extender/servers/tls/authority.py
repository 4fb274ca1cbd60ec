"""The authority of mounted certificates is brought to those who must trust it.

Somebody else makes the certificates (cert-manager, a PKI) and mounts them here; agents live in
another namespace, which his issuer is better not allowed to serve. So the replica that acts says
whom to trust in the ConfigMap that agents mount. Of two replicas, whose kubelets bring a renewed
file at different times, one writes.
"""

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Final

from cryptography import x509

from extender.metrics.certificates import AUTHORITY
from extender.metrics.extender import ExtenderMetrics
from extender.servers.tls import reading
from extender.writers.authority_maps import publish
from extender.writers.lasting_problems import LastingProblems
from extender.writers.leader_writer import LeaderWriter
from shared.clock import Clock
from shared.health import Heartbeat

LOOK_SECONDS: Final = 10.0
"""How often; an authority is renewed months before it ends."""

log = logging.getLogger(__name__)

_KEY: Final = b"PRIVATE KEY-----"
_TEXT: Final = "agents are not told whom to trust: %s"


@dataclass
class AuthorityLoop:
    """See the module.

    Attributes:
        file: Certificates of authorities, PEM.
        config_maps: Paths of the ConfigMaps that say whom to trust.
    """

    client: LeaderWriter
    file: Path
    config_maps: Sequence[str]
    clock: Clock
    metrics: ExtenderMetrics
    heartbeat: Heartbeat
    _problems: LastingProblems = field(
        default_factory=lambda: LastingProblems(partial(log.error, _TEXT))
    )

    async def run(self) -> None:
        """Look every ``LOOK_SECONDS``; returns only by cancellation."""
        while True:
            self.heartbeat.beat()
            await self.look()
            await asyncio.sleep(LOOK_SECONDS)

    async def look(self) -> None:
        """Write what is in the file, if we act and it can be trusted; what fails is said once."""
        try:
            trusted = await asyncio.to_thread(self._trusted)
        except (OSError, ValueError) as error:
            problems = [f"{self.file}: {error}"]
        else:
            maps = self.config_maps if self.client.leads() else ()
            tried = [await publish(self.client, path, trusted) for path in maps]
            problems = [problem for problem in tried if problem]
        self.metrics.certificates.failures.inc(len(problems))
        self._problems.update(problems)

    def _trusted(self) -> str:
        """Return the file's text; raises ``OSError`` or ``ValueError`` where it is of no use."""
        text = self.file.read_bytes()
        if _KEY in text:  # one file for key and certificates: it would be read by many
            raise ValueError("it holds a private key, which is nobody else's: name certificates")
        last = max(x509.load_pem_x509_certificates(text), key=reading.ends_at)
        span = (reading.begins_at(last), reading.ends_at(last))
        self.metrics.certificates.observe(AUTHORITY, *span, self.clock.now())
        return text.decode()
