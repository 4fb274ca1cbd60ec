"""The CPU budget without cgroups: process groups stopped and continued in turn.

In each period every running pod has one slice of ``period * budget / pods`` in which its processes
run; for the rest of the period they are stopped. A program sees that only as standing still; one
with several busy threads uses several cores in its slice, so nodes tell libraries to use one. A
process that leaves its group (``setsid``) is not found here; cgroups find it.
"""

import asyncio
import signal
from typing import Final

from typing_extensions import override

from devcluster.process_node import process
from devcluster.process_node.cpu_budget import CpuBudget, share_cores
from shared.clock import Clock

# Long against the event loop's own delays (about 1 ms), short against a training step's patience.
PERIOD_SECONDS: Final = 0.2


class SliceBudget(CpuBudget):
    """One node's budget.

    Args:
        budget_cores: What all pods of the node may use together, at most 1.
        clock: Measures the slices.
    """

    mechanism = "slices"

    def __init__(self, budget_cores: float, clock: Clock) -> None:
        self._budget_cores = min(budget_cores, 1.0)
        self._clock = clock
        self._groups: dict[str, set[int]] = {}
        self._turn: str | None = None

    @override
    def join(self, pod: str) -> list[str]:
        self._groups.setdefault(pod, set())
        return []

    @override
    def started(self, pod: str, group: int) -> None:
        self._groups[pod].add(group)
        if pod != self._turn:
            process.signal_group(group, signal.SIGSTOP)

    @override
    def ended(self, pod: str, group: int) -> None:
        self._groups.get(pod, set()).discard(group)

    @override
    def leave(self, pod: str) -> None:
        self._groups.pop(pod, None)

    @override
    async def run(self) -> None:
        """Give each pod its slice, period after period.

        A period's length is kept on average: what the loop was late is taken from the pause.
        """
        due = self._clock.monotonic()
        while True:
            for pod in list(self._groups):
                cores = share_cores(self._budget_cores, len(self._groups))
                await self._slice(pod, PERIOD_SECONDS * cores)
            due = max(due + PERIOD_SECONDS, self._clock.monotonic())
            await asyncio.sleep(due - self._clock.monotonic())

    async def _slice(self, pod: str, seconds: float) -> None:
        self._turn = pod
        self._signal(pod, signal.SIGCONT)
        try:
            await asyncio.sleep(seconds)
        finally:
            self._turn = None
            self._signal(pod, signal.SIGSTOP)

    def _signal(self, pod: str, number: signal.Signals) -> None:
        for group in self._groups.get(pod, ()):
            process.signal_group(group, number)

    @override
    def close(self) -> None:
        for pod in self._groups:
            self._signal(pod, signal.SIGCONT)
