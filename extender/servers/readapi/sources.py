"""What the read API's answers are made of, beside snapshots: pricing, caches, start estimates."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Protocol

from extender.core import explain as core_explain
from extender.core.cluster.job_views import VIEWS
from extender.core.cluster.session import Reading, Session
from extender.core.cluster.snapshot import Cache, Snapshot
from extender.core.parameters.combined import CoreParameters
from extender.core.pricing.history import History
from extender.core.pricing.outcome import JobStatus, PriceLedger
from extender.core.queue import forecast
from extender.core.queue.decision import QueueOutcome
from extender.core.queue.forecast import Estimate
from extender.servers.threads import Threads
from extender.store.source import SnapshotSource
from shared.clock import Clock
from shared.model import JobKey

LEAST_PAUSE_SECONDS: Final = 3.0
PAUSE_RATIO: Final = 9.0
"""Pause after an estimate, as a multiple of how long it took: estimates take a tenth of a core at
most."""


class PricingState(Protocol):
    """State of admission by price."""

    def standings(self) -> Mapping[JobKey, JobStatus]:
        """Return how jobs with a utility stand."""
        ...

    def book(self) -> PriceLedger | str:
        """Return what is promised over the slots, or in words why that is not known."""
        ...

    def history(self) -> History:
        """Return the figures of past jobs."""
        ...


class NoPricing:
    """No job is admitted by price."""

    def standings(self) -> Mapping[JobKey, JobStatus]:
        """Return nothing."""
        return {}

    def book(self) -> PriceLedger | str:
        """Return why there is none."""
        return core_explain.NOT_BY_PRICE

    def history(self) -> History:
        """Return nothing."""
        return History()


class ListCache:
    """Cache of the lists' thread over the snapshots' own: what it finds out about jobs."""

    def __init__(self) -> None:
        self._cache = Cache()
        self._below: Cache | None = None

    def of(self, snapshot: Snapshot) -> Cache:
        """Return it for a snapshot; jobs that are gone are dropped once they are many."""
        if self._below is not snapshot.cache:
            self._below, self._cache = snapshot.cache, snapshot.cache.beside()
        self._cache.of(VIEWS).trim(snapshot.jobs.keys())
        return self._cache


@dataclass
class StartEstimates:
    """Start estimates, computed beside the loop with pauses; until the next one the last is used.

    A request that comes while an estimate is computed waits for it.
    """

    store: SnapshotSource
    parameters: CoreParameters
    clock: Clock
    threads: Threads = field(default_factory=lambda: Threads("estimates", most_waiting=1))
    _last: Mapping[JobKey, Estimate] = field(default_factory=dict)
    _next_at: float = 0.0
    _lock: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def of(self, cycle: QueueOutcome | None) -> Mapping[JobKey, Estimate]:
        """Return the estimates for the queue of a cycle, or of one shortly before."""
        if cycle is None:
            return {}
        async with self._lock:
            began = self.clock.monotonic()
            if began >= self._next_at:
                try:
                    self._last = await self._computed(cycle, began)
                finally:  # also if the caller has gone away
                    ended = self.clock.monotonic()
                    pause_seconds = max(LEAST_PAUSE_SECONDS, PAUSE_RATIO * (ended - began))
                    self._next_at = ended + pause_seconds
        return self._last

    async def _computed(self, cycle: QueueOutcome, began: float) -> Mapping[JobKey, Estimate]:
        reading = Reading(now=self.clock.now(), monotonic=began)
        session = Session(self.store.snapshot(), reading, self.parameters)
        return await self.threads.run(lambda: forecast.estimates(session, cycle))
