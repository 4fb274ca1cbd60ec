"""The loop of admission by price: jobs with a utility are looked at when something changed.

It only writes plans on owners: the queue lets a job pass that has one, and each slot's number of
workers is the business of rescales. A look may take long, so it is worked out beside the loop.
"""

import asyncio
import contextlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from extender.core.cluster.cache import Cache
from extender.core.cluster.session import Reading
from extender.core.explain import NOT_BY_PRICE, node_changes
from extender.core.parameters.combined import CoreParameters
from extender.core.pricing import decision, history_text
from extender.core.pricing.history import History
from extender.core.pricing.outcome import AdmissionLook, AdmissionMemory, Book, Standing
from extender.core.pricing.searching import GRACE
from extender.core.queue.state import Priced
from extender.core.records.plans import planned
from extender.metrics.extender import ExtenderMetrics
from extender.writers.decision_log.recorder import Recorder
from extender.writers.history import HistoryKeeper
from extender.writers.owners import OwnerWriter
from shared.clock import Clock
from shared.health import Heartbeat
from shared.model import JobKey

SETTLE_SECONDS: Final = 0.2
"""Pause after a change: a job's pods come one by one."""
LONGEST_PAUSE_SECONDS: Final = 10.0
"""Without any change a look is due after this, for what agents measured."""
REST_RATIO: Final = 3.0
"""Pause after a look, in times of how long it took: deciding takes a quarter of a core at most, but
a slot that begins is not waited for, nor a job that comes kept waiting until its slot is lost."""
NOTHING_YET: Final = "no job with a utility was offered so far: nobody knows what anything is worth"
NOT_ACTING: Final = "this replica does not act: the one that does knows the slots"


@dataclass
class AdmissionLoop:
    """See the module.

    Attributes:
        changed: Set when something changed; cleared here.
        stir: Tells the other loops that a slot has begun.
        price: Tells the queue why jobs have no plan.
    """

    writer: OwnerWriter
    keeper: HistoryKeeper
    recorder: Recorder
    parameters: CoreParameters
    clock: Clock
    acting: Callable[[], bool]
    metrics: ExtenderMetrics
    heartbeat: Heartbeat
    changed: asyncio.Event
    stir: Callable[[], None]
    price: Callable[[Mapping[JobKey, Priced]], None] = lambda _: None
    memory: AdmissionMemory = field(default_factory=AdmissionMemory)
    last: AdmissionLook | None = None
    _history: History | None = None
    _took_seconds: float = 0.0

    async def run(self) -> None:
        """Look at jobs with a utility; returns only by cancellation."""
        while True:
            await self._wait()
            self.heartbeat.beat()
            if not self.parameters.slot_time.enabled:
                continue
            if not self.acting():
                self._stand_by()
                continue
            await self.look()

    async def look(self) -> None:
        """Look once, write the plans, and remember what was learned."""
        history = self._history
        if history is None:
            history = self._history = await self.keeper.load()
            self.recorder.start_anew()
        began = self.clock.monotonic()
        look = await self._decide(history, Reading(self.clock.now(), began))
        self._took_seconds = self.clock.monotonic() - began
        self.price(look.unplanned)
        if self.acting():
            await self.writer.carry_out(look.commands)
        known = history_text.grown(history, look)
        self._history = await self.keeper.save(known)
        if self._history != known:
            self.recorder.start_anew()

    def standings(self) -> Mapping[JobKey, Standing]:
        """Return how jobs with a utility stood when they were looked at last."""
        return {} if self.last is None else self.last.standings

    def book(self) -> Book | str:
        """Return what is promised over the slots, or in words why that is not known."""
        if not self.parameters.slot_time.enabled:
            return NOT_BY_PRICE
        if self.last is None:
            return NOT_ACTING
        return self.last.book or NOTHING_YET

    def history(self) -> History:
        """Return what past jobs taught."""
        return self._history or History()

    async def _decide(self, history: History, reading: Reading) -> AdmissionLook:
        """Decide on a snapshot that shares nothing that changes meanwhile."""
        snapshot, memory = self.recorder.store.snapshot(), self.memory
        own = replace(snapshot, room=node_changes.of_its_own(snapshot.room), cache=Cache())
        self.recorder.admission_begins(reading, memory, history)
        try:
            look = await asyncio.to_thread(
                decision.look, own, reading, self.parameters, history, memory
            )
        except BaseException:
            self.recorder.admission_fails()
            raise
        self.recorder.admission_ends(look)
        self.metrics.admission.observe(look, memory, planned(snapshot))
        self.memory, self.last = look.memory, look
        return look

    def _stand_by(self) -> None:
        """Whoever acts meanwhile plans, and writes what was learned."""
        if self._history is None and self.last is None:
            return
        self.memory, self.last, self._history = AdmissionMemory(), None, None
        self.recorder.start_anew()
        self.metrics.admission.stand_by()

    async def _wait(self) -> None:
        """Return after a change, or when a slot begins, which the others are told, too."""
        wake_at = self.last.wake_at if self.last is not None else float("inf")
        slot_seconds = self.parameters.slot_time.slot_seconds
        await asyncio.sleep(pause(self._took_seconds, wake_at - self.clock.now(), slot_seconds))
        left = min(LONGEST_PAUSE_SECONDS, max(0.0, wake_at - self.clock.now()))
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(left):
                await self.changed.wait()
                await asyncio.sleep(SETTLE_SECONDS)
        if self.clock.now() >= wake_at:
            self.stir()
        self.changed.clear()


def pause(took_seconds: float, left_seconds: float, slot_seconds: float) -> float:
    """Return the pause after a look, in seconds; a slot that began during it is looked at at once.

    Args:
        took_seconds: How long the look took.
        left_seconds: Until the next slot; below 0 it has begun.
        slot_seconds: Length of a slot; looks that take longer than one rest all the same.
    """
    in_time = GRACE * slot_seconds / 2
    rest = min(LONGEST_PAUSE_SECONDS, in_time, REST_RATIO * took_seconds)
    return rest if left_seconds < -slot_seconds else min(rest, max(0.0, left_seconds))
