"""How regularly the values of a pod come, measured by when they are read.

The time of a value does not count: a program that keeps values back and writes many at once is
silent between two such writes, although its values are close to each other. What a file had before
it was first read, and the pause of a restart, give no gap.
"""

from array import array
from collections.abc import Sequence
from statistics import median
from typing import Final

from agent.tracking.source import Source
from shared.progress import Pace

MOST_GAPS: Final = 256
"""The longest gap is that of so many: evaluations and checkpoints are rarer than values."""
USUAL_GAPS: Final = 32
"""The usual gap is the median of so many: a run may become slower."""


class PaceMeter:
    """Measures the gaps between the values of one pod.

    Attributes:
        pace: What was measured so far; None before the first value.
    """

    def __init__(self) -> None:
        self.pace: Pace | None = None
        self._gaps = array("d")
        self._longest = 0.0
        self._taken = self._attempts = 0
        self._is_live = False

    def take(self, sources: Sequence[Source], now: float) -> None:
        """Note what the sources of the pod have after a reading.

        Args:
            sources: All of them.
            now: When they were read, seconds since the epoch.
        """
        taken = sum(source.taken for source in sources)
        attempts = sum(source.attempt for source in sources)
        is_new, is_same_run = taken > self._taken, attempts == self._attempts
        self._taken, self._attempts = taken, attempts
        if not is_new:
            return
        if self.pace is None:
            self._set(min(now, max(source.last_at for source in sources)))
            return
        if self._is_live and is_same_run:
            self._add(max(0.0, now - self.pace.moved_at))
        self._is_live = True
        self._set(now)

    def _add(self, gap: float) -> None:
        gaps = self._gaps
        gaps.append(gap)
        dropped = gaps.pop(0) if len(gaps) > MOST_GAPS else None
        self._longest = max(gaps) if dropped == self._longest else max(self._longest, gap)

    def _set(self, moved_at: float) -> None:
        self.pace = Pace(
            moved_at=moved_at,
            gaps=len(self._gaps),
            usual_seconds=median(self._gaps[-USUAL_GAPS:]) if self._gaps else 0.0,
            longest_seconds=self._longest,
        )
