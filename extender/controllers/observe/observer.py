"""Reflectors feed the store: one for each kind that decisions read.

Some kinds may be missing, not installed or not ours to read: then there are none of them, and
everything else goes on. Without migrations (deploy/base/crd.yaml) nothing is moved; without devices
of drivers (before Kubernetes 1.34) every resource is one that nodes offer; without the owners and
groups of other projects a gang size must be stated on the pods.
"""

import asyncio
import gc
import logging
import random
from collections.abc import Callable
from dataclasses import dataclass, field

from extender.controllers.observe.optional_kind import Catalog, OptionalKind
from extender.metrics.extender import ExtenderMetrics
from extender.store.source import StoreReads
from extender.writers.decision_log.recorder import Recorder
from shared.clock import Clock
from shared.health import Heartbeat
from shared.kube import resources
from shared.kube.client import KubeClient
from shared.kube.errors import ApiError
from shared.kube.reflector import Reflector
from shared.kube.resources import ResourceKind
from shared.model import Delta, NodeName, Pod, Replace, Upsert

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
    resources.DISRUPTION_BUDGETS,
    resources.AUTOSCALERS,
)
BEAT_SECONDS = 1.0

CONFIRMED_SECONDS = 0.3
"""Debounce for updates that do not move a pod: mostly echoes of our own writes."""

YOUNG_OBJECTS = 20_000
"""New objects until a garbage collection; with Python's 700 there is one at each pod."""

PATIENCE_SECONDS = 15.0
"""Decisions begin without a job kind that the server fails to list for so long."""

log = logging.getLogger(__name__)


@dataclass
class Observer:
    """Runs the reflectors; ``synced`` once every kind was listed or is known to be missing.

    ``kinds`` are those of other projects that are read where they are installed.
    """

    client: KubeClient
    recorder: Recorder
    clock: Clock
    metrics: ExtenderMetrics
    heartbeat: Heartbeat
    changed: asyncio.Event
    rng: random.Random
    kinds: tuple[ResourceKind, ...] = resources.OPTIONAL
    reflectors: list[Reflector] = field(init=False)
    catalog: Catalog = field(init=False)
    optional: tuple[OptionalKind, ...] = field(init=False)
    _migrations: OptionalKind = field(init=False)
    _later: asyncio.TimerHandle | None = None

    def __post_init__(self) -> None:
        self.reflectors = [self._reflector(kind, self._take) for kind in KINDS]
        self.catalog = Catalog(self.client)
        moving = self._optional(resources.MIGRATIONS, "nothing is moved", None)
        by_nodes = "what pods request is what nodes offer"
        devices = (self._optional(kind, by_nodes, PATIENCE_SECONDS) for kind in resources.DEVICES)
        by_slices = "the taints of devices are those that their drivers write"
        rules = self._optional(resources.DEVICE_TAINT_RULES, by_slices, PATIENCE_SECONDS)
        by_cordons = "jobs leave for other announcements alone"
        evictions = self._optional(resources.EVICTIONS, by_cordons, PATIENCE_SECONDS)
        without = "gang sizes of its pods must be stated"
        jobs = (self._optional(kind, without, PATIENCE_SECONDS) for kind in self.kinds)
        by_settings = "levels of the topology are those of the settings"
        levels = self._optional(resources.TOPOLOGIES, by_settings, PATIENCE_SECONDS)
        beside = (moving, levels, *devices, rules, evictions, *jobs)
        self._migrations, self.optional = moving, beside

    @property
    def synced(self) -> bool:
        """Every kind was listed at least once, or is known to be missing where that may be."""
        listed = all(
            reflector.synced.is_set() for reflector in (*self.reflectors, *self._present())
        )
        return listed and all(kind.known for kind in self.optional)

    @property
    def has_migrations(self) -> bool:
        """The resource Migration is installed and readable."""
        return self._migrations.present

    def distrust(self) -> None:
        """List all again, and be unsynced until then: what we hold may be old."""
        for reflector in (*self.reflectors, *self._present()):
            reflector.distrust()

    async def run(self) -> None:
        """Follow the API server; returns only by cancellation."""
        async with asyncio.TaskGroup() as group:
            loops: list[Reflector | OptionalKind] = [*self.reflectors, *self.optional]
            for loop in loops:
                group.create_task(loop.run(), name=f"reflector {loop.kind.source}")
            group.create_task(self.catalog.run(), name="catalog")
            group.create_task(self._freeze(), name="freeze")
            while True:
                self.heartbeat.beat()
                self._measure()
                await asyncio.sleep(BEAT_SECONDS)

    def _measure(self) -> None:
        every = [*self.reflectors, *self._present()]
        self.metrics.watches.observe(every, self.clock.monotonic())

    def _present(self) -> list[Reflector]:
        return [kind.reflector for kind in self.optional if kind.present]

    async def _freeze(self) -> None:
        """Exempt what was listed from garbage collection: it stays for long."""
        for reflector in self.reflectors:
            await reflector.synced.wait()
        gc.collect()
        gc.freeze()
        gc.set_threshold(YOUNG_OBJECTS, *gc.get_threshold()[1:])

    def _optional(
        self, kind: ResourceKind, without: str, patience_seconds: float | None
    ) -> OptionalKind:
        return OptionalKind(
            kind=kind,
            without=without,
            sink=self._take,
            connect=self._reflector,
            catalog=self.catalog,
            clock=self.clock,
            patience_seconds=patience_seconds,
        )

    def _reflector(
        self,
        kind: ResourceKind,
        sink: Callable[[Delta], None],
        ends_on: tuple[type[ApiError], ...] = (),
    ) -> Reflector:
        return Reflector(
            self.client,
            kind,
            sink,
            clock=self.clock,
            rng=self.rng,
            report=self._report,
            ends_on=ends_on,
        )

    def _take(self, delta: Delta) -> None:
        """Wake the loops if the delta changes the store; heartbeats of nodes do not.

        A burst of Bindings comes back as as many events that move no pod: they wake them together.
        """
        store = self.recorder.store
        before, node = store.generation, _node_of(store, delta)
        self.recorder.apply(delta)
        if store.generation == before and not isinstance(delta, Replace):
            return
        if node is not None and node == _node_of(store, delta):
            self._wake_later()
        else:
            self.changed.set()

    def _wake_later(self) -> None:
        if self._later is None:
            self._later = asyncio.get_running_loop().call_later(CONFIRMED_SECONDS, self._wake)

    def _wake(self) -> None:
        self._later = None
        self.changed.set()

    def _report(self, key: str, error: Exception) -> None:
        log.warning("skipped %s: %s", key, error)
        self.metrics.watches.skipped_objects.inc()


def _node_of(store: StoreReads, delta: Delta) -> NodeName | None:
    """Return the node of the pod of a delta; None if it has none, or leaves."""
    if not isinstance(delta, Upsert) or not isinstance(delta.entity, Pod) or delta.entity.deleting:
        return None
    return store.takes(delta.entity.uid)
