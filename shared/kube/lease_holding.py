"""Acquires and renews a Lease, by the rules of client-go's leader election.

A holder that has not renewed for ``duration_seconds``, on the clock of the observer, has lost it.
The holder itself stops earlier: ``renew_deadline_seconds`` after it began its last successful
write. So a new leader never starts before the old one has stopped, whatever the clocks of the two
machines show.

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
"""``leaseDurationSeconds`` of a released Lease."""


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


class LeaseObject(Struct, frozen=True):
    """A Lease as it was read."""

    metadata: _Meta = _Meta()
    spec: Spec | None = None


_LEASE: Final = msgspec.json.Decoder(LeaseObject)


@dataclass
class LeaseCandidate:
    """State of a candidate for the Lease (no I/O).

    Attributes:
        identity: Unique, also among earlier runs on this host.
        terms: The times of the election.
        holder: ``holderIdentity`` as last read or written.
        read_at: Monotonic time of the last reading; None: never.
        held_from: Monotonic time at which our last successful write was begun; None: we do not hold
            the Lease.
        resigned: We do not want the Lease any more.
    """

    identity: str
    terms: LeaseTerms
    holder: str = ""
    read_at: float | None = None
    held_from: float | None = None
    resigned: bool = False
    _observed: Spec | None = None
    _observed_at: float = field(default=0.0)

    def acting(self, _identity: str, monotonic: float) -> bool:
        """Return True if we hold the Lease for certain."""
        if self.held_from is None or self.resigned:
            return False
        return monotonic - self.held_from < self.terms.renew_deadline_seconds

    def next_spec(self, spec: Spec | None, monotonic: float, now: float) -> Spec | None:
        """Return the spec to write; None if another candidate has the Lease, or may have it.

        Args:
            spec: The spec that was read; None: there is no Lease.
            monotonic: When the response was received.
            now: Seconds since the epoch.
        """
        self.read_at = monotonic
        spec = spec or Spec()
        if spec != self._observed:
            self._observed, self._observed_at = spec, monotonic
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

    def note_written(self, begun_at: float) -> None:
        """Record a successful write that was begun at a monotonic time."""
        self.holder, self.held_from = self.identity, begun_at

    def _is_alive(self, spec: Spec, monotonic: float) -> bool:
        """Return True if the Lease may be alive; an unknown one may have been renewed just now."""
        if not spec.holder_identity:
            return False
        lasts_seconds = spec.lease_duration_seconds or self.terms.duration_seconds
        return monotonic - self._observed_at < lasts_seconds


async def hold(
    client: KubeClient,
    path: str,
    candidate: LeaseCandidate,
    *,
    clock: Clock,
    report: Callable[[str, Exception], None],
) -> None:
    """Acquire the Lease when it is free and renew it, until cancelled; retries failures."""
    while True:
        try:
            async with asyncio.timeout(candidate.terms.renew_deadline_seconds):
                await _try(client, path, candidate, clock)
        except ConflictError:
            pass  # another candidate was faster; the next reading has the holder
        except (ApiError, TimeoutError) as error:
            report(path, error)
        await asyncio.sleep(candidate.terms.retry_seconds)


async def release(client: KubeClient, path: str, candidate: LeaseCandidate, clock: Clock) -> None:
    """Release the Lease, if it is ours, so that the next leader need not wait.

    Nothing may act as leader any more.

    Raises:
        ApiError: It could not be released, and will expire.
    """
    candidate.resigned = True
    lease = await _read(client, path)
    if lease is None or lease.spec is None or lease.spec.holder_identity != candidate.identity:
        return
    spec = {
        "holderIdentity": "",
        "leaseDurationSeconds": RELEASED_SECONDS,
        "renewTime": _stamp(clock.now()),
    }
    await client.patch(path, _changed(lease, spec))


async def _try(client: KubeClient, path: str, candidate: LeaseCandidate, clock: Clock) -> None:
    lease = await _read(client, path)
    spec = candidate.next_spec(
        None if lease is None else lease.spec, clock.monotonic(), clock.now()
    )
    if spec is None:
        return
    begun_at = clock.monotonic()
    fields = msgspec.to_builtins(spec)
    if lease is None:
        collection, _, name = path.rpartition("/")
        body = {"apiVersion": _API, "kind": "Lease", "metadata": {"name": name}, "spec": fields}
        await client.post(collection, body)
    else:
        await client.patch(path, _changed(lease, fields))
    candidate.note_written(begun_at)


_API: Final = paths.group_version(paths.LEASES)


async def _read(client: KubeClient, path: str) -> LeaseObject | None:
    try:
        return _LEASE.decode(await client.get(path))
    except NotFoundError:
        return None
    except ValueError as error:  # no such JSON, or no UTF-8
        raise BrokenAnswerError(f"{path}: {error}") from error


def _changed(lease: LeaseObject, spec: Mapping[str, object]) -> Mapping[str, object]:
    return {"metadata": {"resourceVersion": lease.metadata.resource_version}, "spec": spec}


def _stamp(now: float) -> str:
    moment = dt.datetime.fromtimestamp(now, dt.UTC)
    return f"{moment:%Y-%m-%dT%H:%M:%S.%f}Z"
