"""The holder of a Lease, by our own clock and never by time stamps of other machines.

Source:
    client-go ``tools/leaderelection``: a Lease is alive while its renewTime keeps changing.
"""

import asyncio
import contextlib
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

import msgspec

from shared.clock import Clock
from shared.kube import wire
from shared.kube.client import KubeClient
from shared.kube.errors import ApiError, NotFoundError

POLL_SECONDS: Final = 1.0
LEAST_SECONDS: Final = 0.1
"""Least time between two readings, also with many requests for one."""
AT_ONCE_SECONDS: Final = 1.0
"""Longest wait for an immediate reading."""
READ_SECONDS: Final = 5.0
"""A slower response is requested again: its connection may be dead."""
DEFAULT_DURATION_SECONDS: Final = 15.0

_LEASE: Final = msgspec.json.Decoder(wire.Lease)


@dataclass
class LeaseObserver:
    """Observed state of a Lease (no I/O).

    Attributes:
        holder: ``holderIdentity``; empty if it is not held.
        renewed_at: Monotonic time after which the Lease was renewed for certain: the request time
            of the reading before the one with the newest ``renewTime``; None: never.
        duration_seconds: ``leaseDurationSeconds``.
        read_at: Monotonic request time of the last successful reading.
    """

    holder: str = ""
    renewed_at: float | None = None
    duration_seconds: float = DEFAULT_DURATION_SECONDS
    read_at: float | None = None
    _renew_time: str | None = None

    def observe(
        self, holder: str, renew_time: str, monotonic: float, *, duration_seconds: float
    ) -> None:
        """Process a reading that was requested at ``monotonic``.

        The first one proves nothing: that renewal may be of any age. A later one proves only that
        the renewal came after the request of the previous reading: a replica that waits for the
        Lease to expire may have seen it immediately, and must not start before we have ended.
        """
        if self._renew_time is not None and renew_time != self._renew_time:
            self.renewed_at = self.read_at
        self._renew_time, self.read_at = renew_time, monotonic
        self.holder = holder
        self.duration_seconds = duration_seconds

    def vanish(self, monotonic: float) -> None:
        """Process a reading without a Lease."""
        self.holder, self.renewed_at, self._renew_time = "", None, None
        self.read_at = monotonic

    def acting(self, identity: str, monotonic: float) -> bool:
        """Return True if ``identity`` holds the Lease and keeps renewing it.

        Args:
            identity: Compared with the holder's part before its last ``_`` (kube-scheduler appends
                ``_<uuid>`` to the host name).
            monotonic: Now.
        """
        if self.renewed_at is None or not self.holder:
            return False
        if self.holder.rpartition("_")[0] != identity:
            return False
        return monotonic - self.renewed_at < self.duration_seconds


@dataclass
class LeaseReader:
    """Feeds an observer: once a second, and immediately on request.

    Readings never overlap. A response that came after a newer one would make an old renewal look
    new.

    Attributes:
        path: Path of the Lease.
        report: Called for every failed reading; the Lease ages meanwhile.
    """

    client: KubeClient
    path: str
    observer: LeaseObserver
    clock: Clock
    report: Callable[[str, Exception], None]
    _wanted: asyncio.Event = field(default_factory=asyncio.Event)
    _next_done: asyncio.Event = field(default_factory=asyncio.Event)

    async def run(self) -> None:
        """Read until cancelled."""
        while True:
            self._wanted.clear()  # later requests need the next reading: this one may be too early
            done, self._next_done = self._next_done, asyncio.Event()
            await self._read()
            done.set()
            await self._pause()

    async def read_now(self) -> None:
        """Return after a reading that was requested after this call, successful or not.

        After ``AT_ONCE_SECONDS`` it returns without one.
        """
        self._wanted.set()
        done = self._next_done
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(AT_ONCE_SECONDS):
                await done.wait()

    async def _read(self) -> None:
        asked_at = self.clock.monotonic()  # not the response's time: a reading is never younger
        try:
            async with asyncio.timeout(READ_SECONDS):
                body = await self.client.get(self.path)
            _observe(self.observer, body, asked_at)
        except NotFoundError:
            self.observer.vanish(asked_at)
        except (ApiError, TimeoutError, ValueError) as error:  # ValueError: JSON, or UTF-8
            self.report(self.path, error)

    async def _pause(self) -> None:
        await asyncio.sleep(min(LEAST_SECONDS, POLL_SECONDS))
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(POLL_SECONDS - LEAST_SECONDS):
                await self._wanted.wait()


def _observe(observer: LeaseObserver, body: bytes, monotonic: float) -> None:
    spec = _LEASE.decode(body).spec or wire.LeaseSpec()
    observer.observe(
        spec.holder_identity or "",
        spec.renew_time or "",
        monotonic,
        duration_seconds=spec.lease_duration_seconds or DEFAULT_DURATION_SECONDS,
    )
