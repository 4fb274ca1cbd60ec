"""Keep our own certificates: in a Secret, issued in time, and written where listeners read them.

Every replica does this. It writes with the version of the Secret that it has read, so of two that
start at once one issues the authority, and the other one uses it.
"""

import asyncio
import contextlib
import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Final

from extender.core import certificates
from extender.core.certificates import Plan, Requirements
from extender.metrics.extender import ExtenderMetrics
from extender.metrics.listeners import AUTHORITY, Made
from extender.servers.tls import directory, issuing, parsing
from extender.servers.tls.parsing import CertifiedKey, CertifiedKeys
from extender.writers.authorities import publish, refusal
from shared.clock import Clock
from shared.errors import SettingsError
from shared.health import Heartbeat
from shared.kube import keyed_data
from shared.kube.client import KubeClient
from shared.kube.errors import ApiError, ConflictError
from shared.kube.keyed_data import KeyedData
from shared.logs import LastingProblems

CHECK_SECONDS: Final = 10.0
"""Time between two passes; certificates are renewed long before they end."""
RETRY_SECONDS: Final = 0.5
"""Time between two tries at the start."""
TRIES: Final = 5
"""How often in a row the Secret is read again because another replica has written it."""
FILES: Final = (
    certificates.AUTHORITY,
    certificates.SERVER,
    certificates.SERVER_KEY,
    certificates.CLIENT,
    certificates.CLIENT_KEY,
)
"""What is written into the directory: all but the authority's key."""

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class CertificatePlaces:
    """Where certificates are.

    Attributes:
        secret: Path of the Secret on the API server.
        config_maps: Paths of the ConfigMaps with the authorities to trust.
        directory: Where the files are written.
    """

    secret: str
    config_maps: Sequence[str]
    directory: Path


@dataclass(kw_only=True)
class CertificateKeeper:
    """Issues certificates when they are due, and publishes them."""

    client: KubeClient
    places: CertificatePlaces
    required: Requirements
    clock: Clock
    metrics: ExtenderMetrics
    heartbeat: Heartbeat
    _problems: LastingProblems = field(
        default_factory=lambda: LastingProblems(partial(log.error, "certificates: %s"))
    )

    async def prepare(self, wait_seconds: float, stop: asyncio.Event) -> None:
        """Wait until the files are in the directory, or until ``stop``.

        Raises:
            SettingsError: They are not there after ``wait_seconds``; the text has the reason.
        """
        deadline = self.clock.monotonic() + wait_seconds
        while not await self.reconcile() and not stop.is_set():
            if self.clock.monotonic() >= deadline:
                problems = "; ".join(self._problems.texts) or "there are none"
                raise SettingsError(f"certificates: {problems}")
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(RETRY_SECONDS):
                    await stop.wait()

    async def run(self) -> None:
        """Reconcile every ``CHECK_SECONDS``; returns only by cancellation."""
        while True:
            await asyncio.sleep(CHECK_SECONDS)
            self.heartbeat.beat()
            await self.reconcile()

    async def reconcile(self) -> bool:
        """Issue what is due and publish everything; return True if the files are there.

        A problem is logged once, and again when it changes.
        """
        problems: list[str] = []
        kept, written = await self._kept(problems), False
        if kept is not None:
            pairs = parsing.parse(kept.data)
            written = await self._write(kept, pairs, problems)
            if isinstance(pairs.authority, CertifiedKey):
                pem = kept.data[certificates.AUTHORITY]
                trusted = pem.decode(errors="replace")  # there may be comments, too
                maps = self.places.config_maps
                results = [await publish(self.client, path, trusted) for path in maps]
                problems.extend(problem for problem in results if problem)
        self.metrics.certificates.failures.inc(len(problems))
        self._problems.update(problems)
        return written

    async def _kept(self, problems: list[str]) -> KeyedData[bytes] | None:
        """Return the Secret, with what had to be issued; None if it cannot be read."""
        kept = None
        try:
            for _ in range(TRIES):
                kept = await keyed_data.read_secret(self.client, self.places.secret)
                try:
                    return await self._renewed(kept)
                except ConflictError:
                    continue
        except ApiError as error:
            verb = "get" if kept is None else "patch"
            problems.append(refusal(verb, self.places.secret, error))
        except ValueError as error:  # also an InputError, and what odd certificates raise
            problems.append(f"{self.places.secret}: {error}")
        return kept

    async def _renewed(self, kept: KeyedData[bytes]) -> KeyedData[bytes]:
        now = self.clock.now()
        pairs = parsing.parse(kept.data)
        plan = certificates.plan(parsing.observed(pairs, now), self.required, now)
        if not plan.nothing:
            issued = issuing.issue(pairs, plan, self.required, now)
            path, version = self.places.secret, kept.version
            kept = await keyed_data.write_secret(self.client, path, version, issued)
            self._count(plan)
        return kept

    def _count(self, plan: Plan) -> None:
        for certificate in _issued(plan):
            self.metrics.certificates.made.labels(certificate=certificate.value).inc()
        log.info("certificates were issued", extra={"reasons": plan.reasons})

    async def _write(
        self, kept: KeyedData[bytes], pairs: CertifiedKeys, problems: list[str]
    ) -> bool:
        """Write the files if listeners can use them; return True if they are there."""
        now = self.clock.now()
        if isinstance(pairs.authority, CertifiedKey):
            authority = pairs.authority.certificate
            span = (parsing.begins_at(authority), parsing.ends_at(authority))
            self.metrics.certificates.observe(AUTHORITY, *span, now)
        if not _usable(pairs, now):
            return False
        files = {name: kept.data[name] for name in FILES if name in kept.data}
        try:
            await asyncio.to_thread(directory.write, self.places.directory, files)
        except OSError as error:
            problems.append(f"{self.places.directory} cannot be written: {error}")
            return False
        return True


def _issued(plan: Plan) -> Iterator[Made]:
    planned: Mapping[Made, bool] = {
        Made.AUTHORITY: plan.authority,
        Made.SERVER: plan.server,
        Made.CLIENT: plan.client,
    }
    return (certificate for certificate, due in planned.items() if due)


def _usable(pairs: CertifiedKeys, now: float) -> bool:
    server = pairs.server
    return isinstance(server, CertifiedKey) and parsing.ends_at(server.certificate) > now
