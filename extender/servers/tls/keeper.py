"""Certificates of our own are kept in a Secret, made in time, and put where they are read.

Every replica does this. What it makes it writes on the version of the Secret that it has read, so
of two that begin at once one makes the authority, and the other one takes it.
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
from extender.core.certificates import Plan, Wanted
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

LOOK_SECONDS: Final = 10.0
"""How often; certificates are made anew long before they end."""
RETRY_SECONDS: Final = 0.5
"""From one try to the next at the start."""
TRIES: Final = 5
"""How often in a row the Secret is read again because somebody else has written it."""
FILES: Final = (
    certificates.AUTHORITY,
    certificates.SERVER,
    certificates.SERVER_KEY,
    certificates.CLIENT,
    certificates.CLIENT_KEY,
)
"""What is put into the directory: all but the authority's key."""

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class CertificatePlaces:
    """Where certificates are.

    Attributes:
        secret: Path of the Secret on the API server.
        config_maps: Paths of the ConfigMaps that say whom to trust.
        directory: Where the files are put.
    """

    secret: str
    config_maps: Sequence[str]
    directory: Path


@dataclass
class CertificateKeeper:
    """See the module."""

    client: KubeClient
    places: CertificatePlaces
    wanted: Wanted
    clock: Clock
    metrics: ExtenderMetrics
    heartbeat: Heartbeat
    _problems: LastingProblems = field(
        default_factory=lambda: LastingProblems(partial(log.error, "certificates: %s"))
    )

    async def first(self, wait_seconds: float, stop: asyncio.Event) -> None:
        """Have the files in the directory, or give up when told to ``stop``.

        Raises:
            SettingsError: They are not there after ``wait_seconds``; says why.
        """
        deadline = self.clock.monotonic() + wait_seconds
        while not await self.look() and not stop.is_set():
            if self.clock.monotonic() >= deadline:
                problems = "; ".join(self._problems.texts) or "there are none"
                raise SettingsError(f"certificates: {problems}")
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(RETRY_SECONDS):
                    await stop.wait()

    async def run(self) -> None:
        """Look every ``LOOK_SECONDS``; returns only by cancellation."""
        while True:
            await asyncio.sleep(LOOK_SECONDS)
            self.heartbeat.beat()
            await self.look()

    async def look(self) -> bool:
        """Make what must be made, and put all of it in its places; say whether files are there.

        What cannot be done is said once, and again when something else cannot.
        """
        problems: list[str] = []
        kept, written = await self._kept(problems), False
        if kept is not None:
            held = parsing.parse(kept.data)
            written = await self._put(kept, held, problems)
            if isinstance(held.authority, CertifiedKey):
                trusted = kept.data[certificates.AUTHORITY].decode(
                    errors="replace"
                )  # PEM, and remarks
                maps = self.places.config_maps
                tried = [await publish(self.client, path, trusted) for path in maps]
                problems.extend(problem for problem in tried if problem)
        self.metrics.certificates.failures.inc(len(problems))
        self._problems.update(problems)
        return written

    async def _kept(self, problems: list[str]) -> KeyedData[bytes] | None:
        """Return what the Secret holds, with what had to be made; None if it cannot be read."""
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
        except ValueError as error:  # InputError is one; so is what odd certificates raise
            problems.append(f"{self.places.secret}: {error}")
        return kept

    async def _renewed(self, kept: KeyedData[bytes]) -> KeyedData[bytes]:
        now = self.clock.now()
        held = parsing.parse(kept.data)
        plan = certificates.plan(parsing.observed(held, now), self.wanted, now)
        if not plan.nothing:
            made = issuing.issue(held, plan, self.wanted, now)
            path, version = self.places.secret, kept.version
            kept = await keyed_data.write_secret(self.client, path, version, made)
            self._count(plan)
        return kept

    def _count(self, plan: Plan) -> None:
        for what in _made(plan):
            self.metrics.certificates.made.labels(certificate=what.value).inc()
        log.info("certificates were made", extra={"reasons": plan.reasons})

    async def _put(self, kept: KeyedData[bytes], held: CertifiedKeys, problems: list[str]) -> bool:
        """Write the files if listeners can use them; say whether they are there."""
        now = self.clock.now()
        if isinstance(held.authority, CertifiedKey):
            signs = held.authority.certificate
            span = (parsing.begins_at(signs), parsing.ends_at(signs))
            self.metrics.certificates.observe(AUTHORITY, *span, now)
        if not _usable(held, now):
            return False
        files = {name: kept.data[name] for name in FILES if name in kept.data}
        try:
            await asyncio.to_thread(directory.write, self.places.directory, files)
        except OSError as error:
            problems.append(f"{self.places.directory} cannot be written: {error}")
            return False
        return True


def _made(plan: Plan) -> Iterator[Made]:
    wanted: Mapping[Made, bool] = {
        Made.AUTHORITY: plan.authority,
        Made.SERVER: plan.server,
        Made.CLIENT: plan.client,
    }
    return (what for what, so in wanted.items() if so)


def _usable(held: CertifiedKeys, now: float) -> bool:
    server = held.server
    return isinstance(server, CertifiedKey) and parsing.ends_at(server.certificate) > now
