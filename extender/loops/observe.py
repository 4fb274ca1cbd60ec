"""Reflectors feed the store: one for each kind that decisions read.

Migrations may be missing: without their resource (deploy/base/crd.yaml), or the right to read it,
there are none, nothing is moved, and everything else goes on.
"""

import asyncio
import gc
import logging
import random
from collections.abc import Callable
from dataclasses import dataclass, field

from extender.loops.record import Recorder
from extender.metrics import ExtenderMetrics
from shared.clock import Clock
from shared.health import Heartbeat
from shared.kube import resources
from shared.kube.client import KubeClient
from shared.kube.errors import ForbiddenError, NotFoundError
from shared.kube.reflector import Reflector
from shared.kube.resources import ResourceKind
from shared.kube.watching import Report
from shared.model import Delta, Replace

KINDS = (
    resources.NODES,
    resources.PODS,
    resources.JOBS,
    resources.STATEFULSETS,
    resources.NAMESPACES,
    resources.RESOURCE_QUOTAS,
    resources.PRIORITY_CLASSES,
    resources.VOLUME_CLAIMS,
    resources.VOLUMES,
)
BEAT_SECONDS = 1.0

log = logging.getLogger(__name__)


@dataclass
class Observer:
    """Runs the reflectors; ``synced`` once every kind was listed."""

    client: KubeClient
    recorder: Recorder
    clock: Clock
    metrics: ExtenderMetrics
    heartbeat: Heartbeat
    changed: asyncio.Event
    rng: random.Random
    reflectors: list[Reflector] = field(init=False)
    _migrations: Reflector = field(init=False)
    _lacks_migrations: bool | None = None

    def __post_init__(self) -> None:
        self.reflectors = [self._reflector(kind, self._take, self._report) for kind in KINDS]
        self._migrations = self._reflector(
            resources.MIGRATIONS, self._take_migrations, self._report_migrations
        )

    @property
    def synced(self) -> bool:
        """Every kind was listed at least once, or is known to be missing where that may be."""
        known = self._lacks_migrations is not None
        return known and all(reflector.synced.is_set() for reflector in self.reflectors)

    @property
    def has_migrations(self) -> bool:
        """The resource Migration is installed and readable."""
        return self._lacks_migrations is False

    async def run(self) -> None:
        """Follow the API server; returns only by cancellation."""
        async with asyncio.TaskGroup() as group:
            reflectors = [*self.reflectors, self._migrations]
            for reflector in reflectors:
                group.create_task(reflector.run(), name=f"reflector {reflector.kind.source}")
            group.create_task(self._freeze(), name="freeze")
            while True:
                self.heartbeat.beat()
                self.metrics.observe_reflectors(reflectors, self.clock.monotonic())
                await asyncio.sleep(BEAT_SECONDS)

    async def _freeze(self) -> None:
        """Take what was listed out of the garbage collector's sight: it stays for long."""
        for reflector in self.reflectors:
            await reflector.synced.wait()
        gc.collect()
        gc.freeze()

    def _reflector(
        self, kind: ResourceKind, sink: Callable[[Delta], None], report: Report
    ) -> Reflector:
        return Reflector(self.client, kind, sink, clock=self.clock, rng=self.rng, report=report)

    def _take_migrations(self, delta: Delta) -> None:
        if self._lacks_migrations is not False:
            log.info("migrations can be read")
        self._lacks_migrations = False
        self._take(delta)

    def _report_migrations(self, key: str, error: Exception) -> None:
        if not isinstance(error, NotFoundError | ForbiddenError):
            self._report(key, error)
            return
        if self._lacks_migrations is not True:
            log.warning("nothing is moved: migrations cannot be read: %s", error)
            self._lacks_migrations = True
            kind = resources.MIGRATIONS
            self._take(Replace(kind.kind, kind.source, ()))

    def _take(self, delta: Delta) -> None:
        self.recorder.apply(delta)
        self.changed.set()

    def _report(self, key: str, error: Exception) -> None:
        log.warning("skipped %s: %s", key, error)
        self.metrics.skipped_objects.inc()
