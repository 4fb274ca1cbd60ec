"""Leadership: this replica leads while the kube-scheduler in its pod holds its Lease.

kube-scheduler's identity in the Lease is its host name and a uuid; the extender in the same pod has
the same host name. A renewal counts only if we observed it, by our own clock. For a kube-scheduler
that runs elsewhere the extender holds a Lease of its own.
"""

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass, field

from extender.metrics.extender import ExtenderMetrics
from shared.clock import Clock
from shared.kube import lease_holding, paths
from shared.kube.client import KubeClient
from shared.kube.errors import ApiError
from shared.kube.lease import LeaseObserver, LeaseReader
from shared.kube.lease_holding import LeaseCandidate

TOUCH_SECONDS = 15.0
"""If the Lease was not read for so long the store is not trusted: the API server was unreachable or
we were frozen, and a watch that looks alive may be dead."""

LAG_SECONDS = 0.1
"""Time between two checks of the event loop's lag and of our leadership."""

log = logging.getLogger(__name__)


@dataclass
class Leadership:
    """Follows the Lease, or holds it.

    Attributes:
        lease_name: Namespace and name.
        changed: Set when this replica begins or ceases to lead.
        out_of_touch: Called once in each time without a reading (``TOUCH_SECONDS``).
    """

    client: KubeClient
    lease_name: tuple[str, str]
    identity: str
    clock: Clock
    metrics: ExtenderMetrics
    changed: asyncio.Event
    out_of_touch: Callable[[], None] = lambda: None
    observer: LeaseObserver | LeaseCandidate = field(default_factory=LeaseObserver)
    _reader: LeaseReader | None = field(init=False, default=None)
    _acted: bool = False
    _lost: bool = False

    def __post_init__(self) -> None:
        if isinstance(self.observer, LeaseObserver):
            path = paths.lease(*self.lease_name)
            self._reader = LeaseReader(self.client, path, self.observer, self.clock, _report)

    def acting(self) -> bool:
        """Return True if this replica leads now."""
        return self.observer.acting(self.identity, self.clock.monotonic())

    async def run(self) -> None:
        """Follow the Lease; returns only by cancellation."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._follow())
            while True:
                slept_at = self.clock.monotonic()
                await asyncio.sleep(LAG_SECONDS)
                lag_seconds = self.clock.monotonic() - slept_at - LAG_SECONDS
                self.metrics.loop_lag_seconds.observe(max(0.0, lag_seconds))
                self._update()
                self._check_reading()

    async def read_now(self) -> None:
        """Read the Lease at once if we do not lead: the calling kube-scheduler may hold it by now.

        The kube-scheduler in our pod writes our host name into the Lease before it calls. A Lease
        of our own needs no reading.
        """
        if self._reader is not None and not self.acting():
            await self._reader.read_now()
            self._update()

    async def release(self) -> None:
        """Give up a Lease of our own; nothing else may run any more."""
        if isinstance(self.observer, LeaseCandidate):
            path = paths.lease(*self.lease_name)
            try:
                await lease_holding.release(self.client, path, self.observer, self.clock)
            except ApiError as error:
                log.warning("the Lease was not released, and will expire: %s", error)

    async def _follow(self) -> None:
        if self._reader is not None:
            await self._reader.run()
        elif isinstance(self.observer, LeaseCandidate):
            path = paths.lease(*self.lease_name)
            await lease_holding.hold(
                self.client, path, self.observer, clock=self.clock, report=_report
            )

    def _check_reading(self) -> None:
        read_at = self.observer.read_at
        lost = read_at is not None and self.clock.monotonic() - read_at >= TOUCH_SECONDS
        if lost and not self._lost:
            log.warning(
                "the Lease was not read for %.0f s: listing everything again", TOUCH_SECONDS
            )
            self.out_of_touch()
        self._lost = lost

    def _update(self) -> None:
        acting = self.acting()
        if acting != self._acted:
            holder = self.observer.holder
            log.info("acting" if acting else "standing by", extra={"holder": holder})
            self.changed.set()
        self._acted = acting
        self.metrics.acting.set(acting)


def _report(path: str, error: Exception) -> None:
    log.warning("reading %s: %s", path, str(error) or "no answer in time")
