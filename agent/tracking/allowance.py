"""How much processor time the reading of one pod may still use.

A pod has an allowance that refills with time. Each reading is paid from it, and takes no further
part of a file when it has used its turn. One whose lines are so slow that a single part takes too
long is ended: what is left of that part is skipped and counted. While the allowance is used up, the
pod is not read: others are.
"""

import time
from collections.abc import Callable
from typing import Final

from agent import budgets

ORDINARY_SECONDS: Final = 0.002
"""Of processor time for one reading; that of a pod which logs a line a second takes 0.1 ms. 250
such pods use half of what the tracker may use in an interval."""
_MIB: Final = 2**20


class Allowance:
    """Of one pod. Seconds are processor time of this thread: a busy machine costs nothing.

    Args:
        cpu_seconds: Processor time of this thread so far.

    Attributes:
        skipped_lines: Lines that were passed over since it began to be too slow.
        skipped_bytes: Parts of files that were passed over unread.
    """

    def __init__(self, cpu_seconds: Callable[[], float] = time.thread_time) -> None:
        self.skipped_lines = self.skipped_bytes = 0
        self._cpu_seconds = cpu_seconds
        self._left = budgets.POD_BURST_SECONDS
        self._refilled_at: float | None = None
        self._began = cpu_seconds()
        self._skipped_at = float("-inf")
        self._costs: tuple[float, ...] = ()

    @property
    def is_ordinary(self) -> bool:
        """Whether its readings cost little; a later one that cost much by chance does not count."""
        return min(self._costs, default=0.0) < ORDINARY_SECONDS

    @property
    def ready_at(self) -> float:
        """When the pod may be read again, on the monotonic clock."""
        if self._left > 0 or self._refilled_at is None:
            return float("-inf")
        return self._refilled_at - self._left / budgets.POD_CPU_RATIO

    def begin(self, monotonic: float) -> None:
        """A reading begins; ``monotonic`` in seconds."""
        self._left = self._refilled(monotonic)
        self._refilled_at = monotonic
        self._began = self._cpu_seconds()
        if monotonic - self._skipped_at > budgets.SHOWN_SECONDS:
            self.skipped_lines = self.skipped_bytes = 0

    def _refilled(self, monotonic: float) -> float:
        passed = 0.0 if self._refilled_at is None else max(0.0, monotonic - self._refilled_at)
        return min(budgets.POD_BURST_SECONDS, self._left + passed * budgets.POD_CPU_RATIO)

    def is_used(self) -> bool:
        """Say whether this reading has had its turn: no further part of a file is taken."""
        return self._cpu_seconds() - self._began > budgets.POD_TURN_SECONDS

    def is_over(self) -> bool:
        """Say whether this reading must end, in the middle of what it has taken."""
        return self._cpu_seconds() - self._began > budgets.POD_SLICE_SECONDS

    def end(self) -> None:
        """The reading has ended: pay for it."""
        used = self._cpu_seconds() - self._began
        self._left -= used
        self._costs = (used, *self._costs[:1])

    def skip(self, *, lines: int = 0, size: int = 0) -> None:
        """Count lines, or bytes, that are not read."""
        if (lines or size) and self._refilled_at is not None:
            self.skipped_lines += lines
            self.skipped_bytes += size
            self._skipped_at = self._refilled_at

    @property
    def problem(self) -> str:
        """What the pod's user should know, in words; empty if all is read."""
        parts = []
        if self.skipped_lines:
            parts.append(f"{self.skipped_lines} lines")
        if self.skipped_bytes:
            parts.append(f"{self.skipped_bytes / _MIB:.1f} MiB")
        if not parts:
            return ""
        return f"log too fast: {' and '.join(parts)} skipped (log fewer lines, or shorter ones)"
