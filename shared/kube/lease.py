"""Who holds a Lease, judged by our own clock and never by the stamps of another machine.

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
"""From one reading to the next, however many want one at once."""
AT_ONCE_SECONDS: Final = 1.0
"""How long somebody waits at most who wants a reading at once."""
READ_SECONDS: Final = 5.0
"""An answer that takes longer is asked for again: its connection may lead nowhere."""
DEFAULT_DURATION_SECONDS: Final = 15.0

_LEASE: Final = msgspec.json.Decoder(wire.Lease)


@dataclass
class LeaseObserver:
    """What we have seen of a Lease (no I/O).

    Attributes:
        holder: ``holderIdentity``; empty if nobody holds it.
        renewed_at: Monotonic second after which the Lease was renewed for certain: when the
            reading before the one with the newest ``renewTime`` was asked for; None: never.
        duration_seconds: ``leaseDurationSeconds``.
        read_at: Monotonic second at which the last reading that was answered was asked for.
    """

    holder: str = ""
    renewed_at: float | None = None
    duration_seconds: float = DEFAULT_DURATION_SECONDS
    read_at: float | None = None
    _renew_time: str | None = None

    def observe(
        self, holder: str, renew_time: str, monotonic: float, *, duration_seconds: float
    ) -> None:
        """Take a reading that was asked for at ``monotonic``.

        The first one proves nothing: that renewal may be of any age. A later one proves that the
        renewal came after the reading before was asked for, and no more: whoever waits for the
        Lease to run out may have seen it at once, and must not begin before we have ended.
        """
        if self._renew_time is not None and renew_time != self._renew_time:
            self.renewed_at = self.read_at
        self._renew_time, self.read_at = renew_time, monotonic
        self.holder = holder
        self.duration_seconds = duration_seconds

    def vanish(self, monotonic: float) -> None:
        """Take a reading that there is no Lease."""
        self.holder, self.renewed_at, self._renew_time = "", None, None
        self.read_at = monotonic

    def acting(self, identity: str, monotonic: float) -> bool:
        """Say whether ``identity`` holds the Lease and keeps renewing it.

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
    """Feeds an observer: once a second, and at once when somebody wants to know.

    There is never more than one reading on its way. An answer that came after a newer one would
    make an old renewal look like a new one.

    Attributes:
        path: The Lease's.
        report: Told of every reading that failed; the Lease ages meanwhile.
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
            self._wanted.clear()  # who asks from now on wants the next one: this may be too early
            done, self._next_done = self._next_done, asyncio.Event()
            await self._read()
            done.set()
            await self._pause()

    async def at_once(self) -> None:
        """Return after a reading that was asked for after this call, answered or not.

        After ``AT_ONCE_SECONDS`` it returns without one.
        """
        self._wanted.set()
        done = self._next_done
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(AT_ONCE_SECONDS):
                await done.wait()

    async def _read(self) -> None:
        asked_at = self.clock.monotonic()  # not the answer's time: a reading is never younger
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
