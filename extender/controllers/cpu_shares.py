"""The controller of CPU weights: a pass every few seconds, requests are set less often.

Where weights are switched off it only restores what an earlier run changed.
"""

import asyncio
import logging
from dataclasses import dataclass, field
from typing import Final

from typing_extensions import override

from extender.controllers.base import Controller
from extender.core.cluster.session import Session
from extender.core.cpu_shares import portions
from extender.core.cpu_shares.commands import ResizeResult
from extender.core.cpu_shares.decision import (
    CPU_SHARES,
    CpuSharesDecision,
    CpuSharesOutcome,
    CpuSharesTrigger,
)
from extender.core.cpu_shares.state import INFEASIBLE, CpuSharesState
from extender.metrics.extender import Resizing
from extender.writers.cpu_requests import RequestWriter

PASS_SECONDS: Final = 5.0
"""A pass is due this often; agents report as often."""
FAREWELL_PAUSE_SECONDS: Final = 0.1
"""Between two passes at the end: the watch has to show what was written."""

log = logging.getLogger(__name__)


@dataclass(kw_only=True)
class CpuSharesController(Controller[CpuSharesState, CpuSharesTrigger, CpuSharesOutcome]):
    """See the module.

    Attributes:
        interval_seconds: Requests are set this often.
        restore_seconds: Restoring at the end may take so long.
    """

    decision: CpuSharesDecision = CPU_SHARES
    writer: RequestWriter
    interval_seconds: float
    restore_seconds: float
    _results: tuple[ResizeResult, ...] = field(init=False, default=())
    _due_at: float = field(init=False, default=0.0)
    _leaving: bool = field(init=False, default=False)
    _begun: bool = field(init=False, default=False)
    _one_at_a_time: asyncio.Lock = field(init=False, default_factory=asyncio.Lock)

    @override
    async def wait(self) -> None:
        """Return at once the first time, then when agents have reported again."""
        if self._begun:
            await asyncio.sleep(min(PASS_SECONDS, self.interval_seconds))
        self._begun = True

    async def farewell(self) -> None:
        """Restore all requests; returns after ``restore_seconds`` at the latest.

        Only the leader does so. What is left then, another replica or the next start restores.
        """
        self._leaving = True
        try:
            async with asyncio.timeout(self.restore_seconds):
                async with self._one_at_a_time:
                    self._reset()  # pods that rest after a refusal are tried once more
                while self.context.leads() and self._restorable_pods():
                    await self.reconcile()
                    await asyncio.sleep(FAREWELL_PAUSE_SECONDS)
        except TimeoutError:
            log.warning("%d pods keep a changed CPU request", self.changed_pods())

    def changed_pods(self) -> int:
        """Return how many pods carry our note."""
        jobs = self.context.recorder.store.snapshot().jobs
        return sum(portions.is_noted(pod) for pods in jobs.values() for pod in pods)

    def _restorable_pods(self) -> int:
        """Return how many of them can be restored now, each by itself."""
        snapshot = self.context.recorder.store.snapshot()
        all_pods = (pod for pods in snapshot.jobs.values() for pod in pods)
        return sum(portions.is_restorable(pod, snapshot) for pod in all_pods)

    @override
    async def reconcile(self) -> None:
        async with self._one_at_a_time:
            await super().reconcile()

    @override
    def trigger(self, session: Session) -> CpuSharesTrigger | None:
        """Return the trigger; None if weights are off and nothing is left to restore."""
        changed = self.changed_pods()
        self.context.metrics.resized_pods.set(changed)
        enabled = self.context.parameters.cpu_weights.enabled and not self._leaving
        if not enabled and not changed and not self._results:
            return None
        due = session.monotonic >= self._due_at
        if due:
            self._due_at = session.monotonic + self.interval_seconds
        results, self._results = self._results, ()
        return CpuSharesTrigger(due, self._leaving, results)

    @override
    def take_over(self, session: Session, outcome: CpuSharesOutcome) -> None:
        super().take_over(session, outcome)
        for reason in outcome.found_pending:
            kind = Resizing.INFEASIBLE if reason == INFEASIBLE else Resizing.DEFERRED
            self.context.metrics.resizes.labels(outcome=kind.value).inc()

    @override
    async def carry_out(self, outcome: CpuSharesOutcome) -> None:
        self._results = tuple(await self.writer.carry_out(outcome.commands))

    @override
    def stand_by(self) -> None:
        self._reset()
        self.context.metrics.resized_pods.set(0)

    def _reset(self) -> None:
        self._results, self._due_at = (), 0.0
        self.forget()
