"""Taking a Lease and keeping it, by the rules of client-go's leader election.

Whoever has not renewed for ``duration_seconds``, on the clock of who looks, has lost it. He himself
stops earlier: ``renew_deadline_seconds`` after he began the last write that went through. So nobody
begins before the other has ended, whatever the clocks of the two machines say.

Source:
    client-go ``tools/leaderelection/leaderelection.go``, ``tryAcquireOrRenew`` and ``release``.
"""

import asyncio
import datetime as dt
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final

import msgspec
from msgspec import Struct

from shared.clock import Clock
from shared.kube import paths
from shared.kube.client import KubeClient
from shared.kube.errors import ApiError, BrokenAnswerError, ConflictError, NotFoundError

RELEASED_SECONDS: Final = 1
"""``leaseDurationSeconds`` of a Lease that was given back."""


@dataclass(frozen=True)
class LeaseTerms:
    """Times in seconds, each longer than the one before."""

    retry_seconds: float = 2.0
    renew_deadline_seconds: float = 10.0
    duration_seconds: float = 15.0


class Spec(Struct, frozen=True, rename="camel", omit_defaults=True):
    """``spec`` of a Lease."""

    holder_identity: str | None = None
    lease_duration_seconds: int | None = None
    acquire_time: str | None = None
    renew_time: str | None = None
    lease_transitions: int | None = None


class _Meta(Struct, frozen=True, rename="camel"):
    resource_version: str = ""


class Found(Struct, frozen=True):
    """A Lease as it was read."""

    metadata: _Meta = _Meta()
    spec: Spec | None = None


_LEASE: Final = msgspec.json.Decoder(Found)


@dataclass
class LeaseCandidate:
    """What one who wants the Lease knows of it (no I/O).

    Attributes:
        identity: Nobody else's, not even that of this host before a restart.
        terms: How long what takes.
        holder: ``holderIdentity`` as it was read or written last.
        read_at: Monotonic second of the last reading; None: never.
        held_from: Monotonic second at which the last write of ours was begun that went through;
            None: we do not hold it.
        resigned: We want it no more.
    """

    identity: str
    terms: LeaseTerms
    holder: str = ""
    read_at: float | None = None
    held_from: float | None = None
    resigned: bool = False
    _seen: Spec | None = None
    _seen_at: float = field(default=0.0)

    def acting(self, _identity: str, monotonic: float) -> bool:
        """Say whether we hold it for certain."""
        if self.held_from is None or self.resigned:
            return False
        return monotonic - self.held_from < self.terms.renew_deadline_seconds

    def wanted(self, spec: Spec | None, monotonic: float, now: float) -> Spec | None:
        """Return what to write; None if somebody else has it, or may have it.

        Args:
            spec: What was read; None: there is no Lease.
            monotonic: When the answer was there.
            now: Seconds since the epoch.
        """
        self.read_at = monotonic
        spec = spec or Spec()
        if spec != self._seen:
            self._seen, self._seen_at = spec, monotonic
        self.holder = spec.holder_identity or ""
        ours = self.holder == self.identity
        if not ours:
            self.held_from = None
        if self.resigned or (not ours and self._is_alive(spec, monotonic)):
            return None
        stamp = _stamp(now)
        return Spec(
            holder_identity=self.identity,
            lease_duration_seconds=math.ceil(self.terms.duration_seconds),  # others wait so long
            acquire_time=spec.acquire_time if ours and spec.acquire_time else stamp,
            renew_time=stamp,
            lease_transitions=(spec.lease_transitions or 0) + (not ours),
        )

    def wrote(self, begun_at: float) -> None:
        """Take note that a write went through that was begun at a monotonic second."""
        self.holder, self.held_from = self.identity, begun_at

    def _is_alive(self, spec: Spec, monotonic: float) -> bool:
        """A Lease that we see for the first time may have been renewed just now."""
        if not spec.holder_identity:
            return False
        lasts_seconds = spec.lease_duration_seconds or self.terms.duration_seconds
        return monotonic - self._seen_at < lasts_seconds


async def hold(
    client: KubeClient,
    path: str,
    candidate: LeaseCandidate,
    *,
    clock: Clock,
    report: Callable[[str, Exception], None],
) -> None:
    """Take the Lease when it is free and renew it, until cancelled; what fails is tried again."""
    while True:
        try:
            async with asyncio.timeout(candidate.terms.renew_deadline_seconds):
                await _try(client, path, candidate, clock)
        except ConflictError:
            pass  # somebody was quicker; the next reading says who
        except (ApiError, TimeoutError) as error:
            report(path, error)
        await asyncio.sleep(candidate.terms.retry_seconds)


async def release(client: KubeClient, path: str, candidate: LeaseCandidate, clock: Clock) -> None:
    """Give the Lease back, if it is ours: the next one need not wait. Nothing may act any more.

    Raises:
        ApiError: It could not be given back, and runs out.
    """
    candidate.resigned = True
    found = await _read(client, path)
    if found is None or found.spec is None or found.spec.holder_identity != candidate.identity:
        return
    spec = {
        "holderIdentity": "",
        "leaseDurationSeconds": RELEASED_SECONDS,
        "renewTime": _stamp(clock.now()),
    }
    await client.patch(path, _changed(found, spec))


async def _try(client: KubeClient, path: str, candidate: LeaseCandidate, clock: Clock) -> None:
    found = await _read(client, path)
    spec = candidate.wanted(None if found is None else found.spec, clock.monotonic(), clock.now())
    if spec is None:
        return
    begun_at = clock.monotonic()
    fields = msgspec.to_builtins(spec)
    if found is None:
        collection, _, name = path.rpartition("/")
        body = {"apiVersion": _API, "kind": "Lease", "metadata": {"name": name}, "spec": fields}
        await client.post(collection, body)
    else:
        await client.patch(path, _changed(found, fields))
    candidate.wrote(begun_at)


_API: Final = paths.group_version(paths.LEASES)


async def _read(client: KubeClient, path: str) -> Found | None:
    try:
        return _LEASE.decode(await client.get(path))
    except NotFoundError:
        return None
    except ValueError as error:  # no such JSON, or no UTF-8
        raise BrokenAnswerError(f"{path}: {error}") from error


def _changed(found: Found, spec: Mapping[str, object]) -> Mapping[str, object]:
    return {"metadata": {"resourceVersion": found.metadata.resource_version}, "spec": spec}


def _stamp(now: float) -> str:
    moment = dt.datetime.fromtimestamp(now, dt.UTC)
    return f"{moment:%Y-%m-%dT%H:%M:%S.%f}Z"
