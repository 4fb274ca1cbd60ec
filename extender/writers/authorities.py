"""Publishing the authorities that agents trust, in ConfigMaps that agents mount.

Where certificates are mounted instead of made by us (cert-manager, a PKI), their issuer should not
need rights in the agents' namespace. So the leader copies the authorities from the mounted file
into the ConfigMap. Only the leader writes: kubelets bring a renewed file to the replicas at
different times.
"""

import asyncio
import logging
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Final

from cryptography import x509

from extender.core import certificates
from extender.metrics.extender import ExtenderMetrics
from extender.metrics.listeners import AUTHORITY
from extender.writers.leader_writer import LeaderWriter
from shared.clock import Clock
from shared.health import Heartbeat
from shared.kube import keyed_data, paths
from shared.kube.client import KubeClient
from shared.kube.errors import ApiError, ConflictError, ForbiddenError, NotFoundError
from shared.logs import LastingProblems

CHECK_SECONDS: Final = 10.0
"""Time between two checks; an authority is renewed months before it ends."""

_PRIVATE_KEY: Final = b"PRIVATE KEY-----"
_TEXT: Final = "the authorities that agents trust are not published: %s"

log = logging.getLogger(__name__)


def config_maps(namespaces: Iterable[str], name: str) -> tuple[str, ...]:
    """Return the paths of the ConfigMaps of a name in those namespaces."""
    return tuple(paths.namespaced(paths.CONFIG_MAPS, namespace, name) for namespace in namespaces)


async def publish(client: KubeClient, path: str, trusted: str) -> str | None:
    """Write the authorities into a ConfigMap if it has others; return the problem, None if none.

    Args:
        client: The API server.
        path: Path of the ConfigMap.
        trusted: Certificates of authorities, PEM.
    """
    verb = "get"
    try:
        kept = await keyed_data.read_config_map(client, path)
        if kept.data.get(certificates.AUTHORITY) != trusted:
            verb = "patch"
            changes = {certificates.AUTHORITY: trusted}
            await keyed_data.write_config_map(client, path, kept.version, changes)
    except ConflictError:
        return None  # the other replica wrote it, or the next check does
    except ApiError as error:
        return refusal(verb, path, error)
    return None


def refusal(verb: str, path: str, error: ApiError) -> str:
    """Return why the API server refused, and what an administrator must install."""
    match error:
        case ForbiddenError():
            return f"the right to {verb} {path} is missing (deploy/base/certificates.yaml): {error}"
        case NotFoundError():
            return f"{path} does not exist, and is not made by us (deploy/base): {error}"
        case _:
            return f"{verb} {path}: {error}"


@dataclass
class AuthorityLoop:
    """Copies mounted authorities into the ConfigMaps while this replica leads.

    Attributes:
        file: Certificates of authorities, PEM.
        config_maps: Paths of the ConfigMaps.
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
        """Check every ``CHECK_SECONDS``; returns only by cancellation."""
        while True:
            self.heartbeat.beat()
            await self.check()
            await asyncio.sleep(CHECK_SECONDS)

    async def check(self) -> None:
        """Read the file, and publish it if this replica leads; log a failure once."""
        try:
            trusted = await asyncio.to_thread(self._trusted)
        except (OSError, ValueError) as error:
            problems = [f"{self.file}: {error}"]
        else:
            maps = self.config_maps if self.client.leads() else ()
            results = [await publish(self.client, path, trusted) for path in maps]
            problems = [problem for problem in results if problem]
        self.metrics.certificates.failures.inc(len(problems))
        self._problems.update(problems)

    def _trusted(self) -> str:
        """Return the file's text.

        Raises:
            OSError: It cannot be read.
            ValueError: It holds a private key, or no certificates.
        """
        text = self.file.read_bytes()
        if _PRIVATE_KEY in text:  # a ConfigMap is read by many
            raise ValueError("it holds a private key, expected certificates only")
        last = max(
            x509.load_pem_x509_certificates(text),
            key=lambda authority: authority.not_valid_after_utc,
        )
        span = (last.not_valid_before_utc.timestamp(), last.not_valid_after_utc.timestamp())
        self.metrics.certificates.observe(AUTHORITY, *span, self.clock.now())
        return text.decode()
