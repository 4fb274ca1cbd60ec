"""The CPU budget without cgroups: process groups stopped and continued by what they have used.

Every pod earns CPU time at its share of the budget and pays what its processes really used, read
from their CPU clocks each tick. Who has nothing left is stopped (SIGSTOP) until it has earned
something again. A program sees that only as standing still.

Less exact than cgroups: a process that leaves its group (``setsid``) is not found, and children
that live shorter than ``SCAN_SECONDS`` are not counted.
"""

import asyncio
import signal
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

from typing_extensions import override

from devcluster.process_node import process
from devcluster.process_node.cpu_budget import USUAL_WEIGHT, CpuBudget, share_cores
from shared.clock import Clock

# Long against the event loop's own delays (about 1 ms), short against a training step's patience.
TICK_SECONDS: Final = 0.01
MOST_SAVED_SECONDS: Final = 0.02
"""Unused CPU time that a pod may save up, as a cgroup's period would allow."""
SCAN_SECONDS: Final = 0.5
_CPU_CLOCK_OF_PROCESS: Final = 2  # CPUCLOCK_SCHED of <linux/posix-timers.h>


@dataclass(slots=True)
class _Pod:
    """One pod's account."""

    groups: set[int] = field(default_factory=set)
    used_seconds: dict[int, float] = field(default_factory=dict)
    credit_seconds: float = 0.0
    stopped: bool = False

    def pay(self) -> float:
        """Return the CPU seconds used since the last call."""
        total = 0.0
        for pid, before in list(self.used_seconds.items()):
            now = _cpu_seconds(pid)
            if now is None:
                del self.used_seconds[pid]
            else:
                total += now - before
                self.used_seconds[pid] = now
        return total

    def find(self, pids: Iterable[int]) -> None:
        """Count these processes too; their earlier CPU time counts for the pod."""
        for pid in pids:
            self.used_seconds.setdefault(pid, 0.0)

    def switch(self, *, stop: bool) -> None:
        """Stop or continue all groups; a new process of a stopped pod is stopped too."""
        if stop or self.stopped:
            for group in self.groups:
                process.signal_group(group, signal.SIGSTOP if stop else signal.SIGCONT)
        self.stopped = stop


class SliceBudget(CpuBudget):
    """One node's budget.

    Args:
        budget_cores: What all pods of the node may use together.
        clock: Measures what pods earn.
    """

    mechanism = "slices"

    def __init__(self, budget_cores: float, clock: Clock) -> None:
        self._budget_cores = budget_cores
        self._clock = clock
        self._pods: dict[str, _Pod] = {}
        self._weights: dict[str, float] = {}

    @override
    def join(self, pod: str) -> list[str]:
        self._pods.setdefault(pod, _Pod())
        return []

    @override
    def weigh(self, pod: str, weight: float) -> None:
        self._weights[pod] = weight

    @override
    def started(self, pod: str, group: int) -> None:
        self._pods[pod].groups.add(group)
        self._pods[pod].find((group,))

    @override
    def ended(self, pod: str, group: int) -> None:
        if pod in self._pods:
            self._pods[pod].groups.discard(group)

    @override
    def leave(self, pod: str) -> None:
        self._pods.pop(pod, None)
        self._weights.pop(pod, None)

    @override
    async def run(self) -> None:
        """Keep the accounts, tick after tick."""
        before = scanned_at = self._clock.monotonic()
        while True:
            await asyncio.sleep(TICK_SECONDS)
            now = self._clock.monotonic()
            if now - scanned_at >= SCAN_SECONDS:
                self._scan()
                scanned_at = now
            self.tick(now - before)
            before = now

    def tick(self, passed_seconds: float) -> None:
        """Credit and debit every pod, and stop or continue it."""
        weights = {name: self._weights.get(name, USUAL_WEIGHT) for name in self._pods}
        shares = share_cores(self._budget_cores, weights)
        for name, pod in self._pods.items():
            earned = shares[name] * passed_seconds
            saved = min(pod.credit_seconds + earned, MOST_SAVED_SECONDS)
            pod.credit_seconds = saved - pod.pay()
            pod.switch(stop=pod.credit_seconds <= 0.0)

    def _scan(self) -> None:
        """Find the children that the pods' processes have started meanwhile."""
        if self._pods:
            members = process.groups()
            for pod in self._pods.values():
                for group in pod.groups:
                    pod.find(members.get(group, ()))

    @override
    def close(self) -> None:
        for pod in self._pods.values():
            pod.switch(stop=False)


def _cpu_seconds(pid: int) -> float | None:
    """Return the CPU time of a process with all its threads; None if it is gone."""
    try:
        return time.clock_gettime(~pid << 3 | _CPU_CLOCK_OF_PROCESS)
    except OSError:
        return None
