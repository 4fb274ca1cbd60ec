"""The keys that sign what we write for ourselves: read from a Secret, made where there are none.

Every replica does this. What one makes it writes on the version of the Secret that it has read, so
of two that begin at once one makes the key, and the other one takes it. While the Secret cannot be
read the keys that were read last go on.
"""

import asyncio
import contextlib
import logging
from dataclasses import dataclass, field
from functools import partial
from typing import Final

from msgspec.structs import replace

from extender.core.records.migration_reasons import MigrationReason
from extender.core.records.signatures import Fault, Key, KeyRing
from extender.writers.decision_log.recorder import Recorder
from extender.writers.leader_writer import LeaderWriter
from extender.writers.signing.signatures import Signatures
from shared import signing_secret
from shared.clock import Clock
from shared.errors import SettingsError
from shared.health import Heartbeat
from shared.kube import keyed_data, moving, parse, paths
from shared.kube.client import KubeClient
from shared.kube.errors import ApiError, ConflictError, ForbiddenError, NotFoundError
from shared.kube.keyed_data import KeyedData
from shared.logs import LastingProblems
from shared.model import Migration, MigrationPhase, Upsert

LOOK_SECONDS: Final = 10.0
"""How often; after a rotation the other replicas read the new key at once, when they first see it,
and not more often than ``RETRY_SECONDS``."""
RETRY_SECONDS: Final = 0.5
TRIES: Final = 5
"""How often in a row the Secret is read again because another replica has written it."""
CLUSTER: Final = "kube-system"
"""The namespace whose uid names the cluster: it is never deleted."""

log = logging.getLogger(__name__)


@dataclass
class SigningKeys:
    """See the module.

    Attributes:
        path: Of the Secret.
        signatures: Gets the keys.
    """

    client: KubeClient
    path: str
    signatures: Signatures
    clock: Clock
    _cluster: str = ""
    _problems: LastingProblems = field(
        default_factory=lambda: LastingProblems(partial(log.error, "signing keys: %s"))
    )

    async def first(self, wait_seconds: float, stop: asyncio.Event) -> None:
        """Have the keys, or give up when told to ``stop``.

        Raises:
            SettingsError: They cannot be had within ``wait_seconds``; says why.
        """
        deadline = self.clock.monotonic() + wait_seconds
        while (ring := await self.look()) is None and not stop.is_set():
            if self.clock.monotonic() >= deadline:
                raise SettingsError(f"signing.secret: {'; '.join(self._problems.texts)}")
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(RETRY_SECONDS):
                    await stop.wait()
        if ring is not None:
            self.signatures.use(ring)

    async def look(self) -> KeyRing | None:
        """Return the keys, made if there are none; None if they cannot be had."""
        problem: str | None = None
        ring = None
        try:
            self._cluster = self._cluster or await self._cluster_uid()
            for _ in range(TRIES):
                with contextlib.suppress(ConflictError):
                    found = signing_secret.signing_keys((await self._kept()).data)
                    ring = KeyRing(self._cluster, tuple(map(Key, found))) if found else None
                    break
        except ApiError as error:
            problem = self._hindered(error)
        except ValueError as error:  # InputError is one
            problem = f"{self.path}: {error}"
        if ring is None and problem is None:
            problem = f"{self.path} was changed {TRIES} times while it was read"
        self._problems.update(() if problem is None else [problem])
        return ring

    async def _kept(self) -> KeyedData[bytes]:
        kept = await keyed_data.read_secret(self.client, self.path)
        if signing_secret.signing_keys(kept.data):
            return kept
        made = {signing_secret.CURRENT: signing_secret.new_key()}
        written = await keyed_data.write_secret(self.client, self.path, kept.version, made)
        log.info("a signing key was made")
        return written

    async def _cluster_uid(self) -> str:
        path = f"{paths.NAMESPACES}/{CLUSTER}"
        return parse.decode_identity(await self.client.get(path)).uid or ""

    def _hindered(self, error: ApiError) -> str:
        match error:
            case ForbiddenError():
                return f"a right is missing (deploy/base/our-keys.yaml): {error}"
            case NotFoundError():
                return f"{self.path} is not there (deploy/base/our-keys.yaml): {error}"
            case _:
                return f"{self.path}: {error}"


def _aborted(one: Migration, fault: Fault) -> Migration:
    reason = MigrationReason.NOT_OURS
    message = f"{reason.text}: {fault.value}"
    return replace(one, phase=MigrationPhase.ABORTED, reason=reason.value, message=message)


@dataclass
class SigningLoop:
    """Takes other keys over, and says of Migrations that are not ours that they are not."""

    keys: SigningKeys
    client: LeaderWriter
    recorder: Recorder
    heartbeat: Heartbeat
    _unknown: asyncio.Event = field(default_factory=asyncio.Event)

    async def run(self) -> None:
        """Read the keys again and again; returns only by cancellation."""
        signatures = self.keys.signatures
        signatures.unknown_key = self._unknown.set
        while True:
            self.heartbeat.beat()
            await self._wait()
            ring = await self.keys.look()
            for entity in () if ring is None else signatures.use(ring):
                self.recorder.apply(Upsert(entity))
            if self.client.leads():
                await self._abort_refused()

    async def _wait(self) -> None:
        await asyncio.sleep(RETRY_SECONDS)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(LOOK_SECONDS - RETRY_SECONDS):
                await self._unknown.wait()
        self._unknown.clear()

    async def _abort_refused(self) -> None:
        """Say in the status of Migrations that are not ours that nothing comes of them."""
        for one, fault in tuple(self.keys.signatures.refused_migrations()):
            if not one.open:
                continue
            ended = _aborted(one, fault)
            try:
                await moving.write_status(self.client, ended)
            except ApiError as error:
                log.info("%s: %s", one.key, error)
            else:
                log.warning("%s: aborted: its spec is not ours: %s", one.key, fault.value)
