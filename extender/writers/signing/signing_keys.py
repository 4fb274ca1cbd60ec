"""The keys that sign our records: read from a Secret, and created there if it has none.

Every replica does this. A new key is written only on the version of the Secret that was read, so of
two replicas that start together one creates the key, and the other reads it. While the Secret
cannot be read the last keys stay in use.
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

READ_SECONDS: Final = 10.0
"""Time between two readings. After a rotation the other replicas read the new key when they first
observe its signature, but at most every ``RETRY_SECONDS``."""
RETRY_SECONDS: Final = 0.5
TRIES: Final = 5
"""Readings in a row of a Secret that another replica writes at the same time."""
CLUSTER: Final = "kube-system"
"""The namespace whose uid identifies the cluster: it is never deleted."""

log = logging.getLogger(__name__)


@dataclass
class SigningKeys:
    """Reads the keys, and creates them.

    Attributes:
        path: Path of the Secret.
        signatures: Uses the keys.
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
        """Wait until the keys can be used, or until ``stop``.

        Raises:
            SettingsError: They could not be read or created within ``wait_seconds``.
        """
        deadline = self.clock.monotonic() + wait_seconds
        while (ring := await self.read()) is None and not stop.is_set():
            if self.clock.monotonic() >= deadline:
                raise SettingsError(f"signing.secret: {'; '.join(self._problems.texts)}")
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(RETRY_SECONDS):
                    await stop.wait()
        if ring is not None:
            self.signatures.use(ring)

    async def read(self) -> KeyRing | None:
        """Return the keys, created if there are none; None if that failed."""
        problem: str | None = None
        ring = None
        try:
            self._cluster = self._cluster or await self._cluster_uid()
            for _ in range(TRIES):
                with contextlib.suppress(ConflictError):
                    keys = signing_secret.signing_keys((await self._kept()).data)
                    ring = KeyRing(self._cluster, tuple(map(Key, keys))) if keys else None
                    break
        except ApiError as error:
            problem = self._refusal(error)
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
        log.info("created a signing key")
        return written

    async def _cluster_uid(self) -> str:
        path = f"{paths.NAMESPACES}/{CLUSTER}"
        return parse.decode_identity(await self.client.get(path)).uid or ""

    def _refusal(self, error: ApiError) -> str:
        match error:
            case ForbiddenError():
                return f"a right is missing (deploy/base/our-keys.yaml): {error}"
            case NotFoundError():
                return f"{self.path} does not exist (deploy/base/our-keys.yaml): {error}"
            case _:
                return f"{self.path}: {error}"


def _aborted(migration: Migration, fault: Fault) -> Migration:
    reason = MigrationReason.NOT_OURS
    message = f"{reason.text}: {fault.value}"
    return replace(migration, phase=MigrationPhase.ABORTED, reason=reason.value, message=message)


@dataclass
class SigningLoop:
    """Reads the keys again and again, and aborts Migrations that do not verify."""

    keys: SigningKeys
    client: LeaderWriter
    recorder: Recorder
    heartbeat: Heartbeat
    _unknown: asyncio.Event = field(default_factory=asyncio.Event)

    async def run(self) -> None:
        """Read the keys every ``READ_SECONDS``; returns only by cancellation."""
        signatures = self.keys.signatures
        signatures.unknown_key = self._unknown.set
        while True:
            self.heartbeat.beat()
            await self._wait()
            ring = await self.keys.read()
            for entity in () if ring is None else signatures.use(ring):
                self.recorder.apply(Upsert(entity))
            if self.client.leads():
                await self._abort_refused()

    async def _wait(self) -> None:
        await asyncio.sleep(RETRY_SECONDS)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(READ_SECONDS - RETRY_SECONDS):
                await self._unknown.wait()
        self._unknown.clear()

    async def _abort_refused(self) -> None:
        """Write the phase Aborted into the status of Migrations that do not verify."""
        for migration, fault in tuple(self.keys.signatures.refused_migrations()):
            if not migration.open:
                continue
            ended = _aborted(migration, fault)
            try:
                await moving.write_status(self.client, ended)
            except ApiError as error:
                log.info("%s: %s", migration.key, error)
            else:
                log.warning("%s: aborted: its spec is not ours: %s", migration.key, fault.value)
