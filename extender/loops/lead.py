"""Whether this replica acts: it does while the kube-scheduler beside it holds its Lease.

kube-scheduler's identity in the Lease is its host name and a uuid; the extender in the same pod has
the same host name. A renewal counts only when it was seen to happen, on our own clock.
"""

import asyncio
import logging
from dataclasses import dataclass, field

from extender.metrics import ExtenderMetrics
from shared.clock import Clock
from shared.kube import lease, paths
from shared.kube.client import KubeClient
from shared.kube.lease import LeaseObserver

LAG_SECONDS = 0.1
"""How often the event loop's lag and our leadership are looked at."""

log = logging.getLogger(__name__)


@dataclass
class Leadership:
    """See the module; ``lease_name`` is namespace and name."""

    client: KubeClient
    lease_name: tuple[str, str]
    identity: str
    clock: Clock
    metrics: ExtenderMetrics
    changed: asyncio.Event
    observer: LeaseObserver = field(default_factory=LeaseObserver)
    _acted: bool = False

    def acting(self) -> bool:
        """Say whether this replica decides now."""
        return self.observer.acting(self.identity, self.clock.monotonic())

    async def run(self) -> None:
        """Follow the Lease; returns only by cancellation."""
        path = paths.lease(*self.lease_name)
        async with asyncio.TaskGroup() as group:
            group.create_task(
                lease.follow(self.client, path, self.observer, clock=self.clock, report=_report)
            )
            while True:
                asked_at = self.clock.monotonic()
                await asyncio.sleep(LAG_SECONDS)
                lag_seconds = self.clock.monotonic() - asked_at - LAG_SECONDS
                self.metrics.loop_lag_seconds.observe(max(0.0, lag_seconds))
                self._notice()

    def _notice(self) -> None:
        acting = self.acting()
        if acting != self._acted:
            holder = self.observer.holder
            log.info("acting" if acting else "standing by", extra={"holder": holder})
            self.changed.set()
        self._acted = acting
        self.metrics.acting.set(acting)


def _report(path: str, error: Exception) -> None:
    log.warning("reading %s: %s", path, error)
