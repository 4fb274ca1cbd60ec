"""CPU time that reading one pod may still use.

A pod has an allowance that refills with time. Each reading uses some of it, and reads no further
part of a file when its turn is used up. If a single part takes too long because its lines are slow,
the reading ends: the rest of that part is skipped and counted. While the allowance is used up, the
pod is not read; other pods are.
"""

import time
from collections.abc import Callable
from typing import Final

from agent import budgets

ORDINARY_SECONDS: Final = 0.002
"""CPU time of an ordinary reading; that of a pod which logs a line a second takes 0.1 ms. 250 such
pods use half of what the tracker may use in an interval."""
CHECK_LINES: Final = 8
"""Lines between two looks at the clock, unless they are slow."""
SLOW_LINE_SECONDS: Final = 0.002
"""CPU time of a line above which the clock is read after each: the slowest that we know takes
10 ms, an ordinary one 10 µs."""
_MIB: Final = 2**20


class Allowance:
    """The allowance of one pod, in CPU seconds of this thread: a busy machine does not count.

    Args:
        cpu_seconds: Returns the CPU time of this thread so far.

    Attributes:
        skipped_lines: Lines that were skipped since reading began to be too slow.
        skipped_bytes: Bytes of files that were skipped unread.
        lines_at_once: Lines between two looks at the clock in this reading.
    """

    def __init__(self, cpu_seconds: Callable[[], float] = time.thread_time) -> None:
        self.skipped_lines = self.skipped_bytes = 0
        self._cpu_seconds = cpu_seconds
        self._left = budgets.POD_BURST_SECONDS
        self._refilled_at: float | None = None
        self._began = self._seen_at = cpu_seconds()
        self._unseen_lines, self.lines_at_once = 0, CHECK_LINES
        self._skipped_at = float("-inf")
        self._costs: tuple[float, ...] = ()

    @property
    def is_ordinary(self) -> bool:
        """True if its readings are cheap; a single expensive one does not count."""
        return min(self._costs, default=0.0) < ORDINARY_SECONDS

    @property
    def last_seconds(self) -> float:
        """CPU time of the last reading."""
        return self._costs[0] if self._costs else 0.0

    @property
    def ready_at(self) -> float:
        """When the pod may be read again, on the monotonic clock."""
        if self._left > 0 or self._refilled_at is None:
            return float("-inf")
        return self._refilled_at - self._left / budgets.POD_CPU_RATIO

    def begin(self, monotonic: float) -> None:
        """Begin a reading; ``monotonic`` in seconds."""
        self._left = self._refilled(monotonic)
        self._refilled_at = monotonic
        self._began = self._seen_at = self._cpu_seconds()
        self._unseen_lines, self.lines_at_once = 0, CHECK_LINES
        if monotonic - self._skipped_at > budgets.SHOWN_SECONDS:
            self.skipped_lines = self.skipped_bytes = 0

    def _refilled(self, monotonic: float) -> float:
        passed = 0.0 if self._refilled_at is None else max(0.0, monotonic - self._refilled_at)
        return min(budgets.POD_BURST_SECONDS, self._left + passed * budgets.POD_CPU_RATIO)

    def is_used(self) -> bool:
        """Return True if this reading has used its turn: it must not read a further part."""
        return self._cpu_seconds() - self._began > budgets.POD_TURN_SECONDS

    def is_over(self) -> bool:
        """Return True if this reading must end at once, in the middle of a part."""
        return self._is_over_at(self._cpu_seconds())

    def is_over_before(self, lines: int) -> bool:
        """Return ``is_over`` before so many lines, which are at most ``lines_at_once``.

        Reading the clock takes as long as reading a short line, so this reads it only when as many
        lines were read without it: never for a pod that logs a line a second.
        """
        self._unseen_lines += lines
        if self._unseen_lines <= self.lines_at_once:
            return False
        read, self._unseen_lines = self._unseen_lines - lines, lines
        seen_at, self._seen_at = self._seen_at, self._cpu_seconds()
        if self._seen_at - seen_at > read * SLOW_LINE_SECONDS:
            self.lines_at_once = 1
        return self._is_over_at(self._seen_at)

    def _is_over_at(self, cpu_seconds: float) -> bool:
        return cpu_seconds - self._began > budgets.POD_SLICE_SECONDS

    def end(self) -> None:
        """End the reading, and charge its CPU time."""
        used = self._cpu_seconds() - self._began
        self._left -= used
        self._costs = (used, *self._costs[:1])

    def skip(self, *, lines: int = 0, size: int = 0) -> None:
        """Count skipped lines or bytes."""
        if (lines or size) and self._refilled_at is not None:
            self.skipped_lines += lines
            self.skipped_bytes += size
            self._skipped_at = self._refilled_at

    @property
    def problem(self) -> str:
        """Message for the pod's user; empty if nothing was skipped."""
        parts = []
        if self.skipped_lines:
            parts.append(f"{self.skipped_lines} lines")
        if self.skipped_bytes:
            parts.append(f"{self.skipped_bytes / _MIB:.1f} MiB")
        if not parts:
            return ""
        return f"log too fast: {' and '.join(parts)} skipped (log fewer lines, or shorter ones)"
