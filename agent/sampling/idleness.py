"""How long the processes of a pod have idled after they had worked.

A pod idles while it uses at most a tenth of its usual CPU time, its GPUs at most a twentieth of
their time, and still holds its memory: without that its processes have ended. What is usual is the
median of the last minutes in which it worked. A pod that never worked never idles, so that a
launcher, which only waits, is no evidence of anything.
"""

from collections import deque
from statistics import median
from typing import Final

from shared.progress import Use

IDLE_RATIO: Final = 0.1
"""Of the usual CPU time; threads that wait for others still use some."""
IDLE_CORES: Final = 0.02
"""This little is idle, whatever is usual."""
LEAST_CORES: Final = 0.1
"""Below this usual use nothing follows from less."""
IDLE_GPU_RATIO: Final = 0.05
HELD_RATIO: Final = 0.1
"""Of its usual memory that a living process still holds."""
LEAST_SAMPLES: Final = 12
"""Two minutes at the default interval: what a program does as it starts is not usual."""
MOST_SAMPLES: Final = 60


class Idleness:
    """Follows the samples of one pod."""

    def __init__(self) -> None:
        self._cores: deque[float] = deque(maxlen=MOST_SAMPLES)
        self._memory: deque[int] = deque(maxlen=MOST_SAMPLES)
        self._idle_at: float | None = None

    def take(self, use: Use, now: float) -> float | None:
        """Add a sample and return ``Use.idle_seconds``; ``now`` in monotonic seconds."""
        if use.cpu_cores is None:
            return None if self._idle_at is None else now - self._idle_at
        if self._idles(use):
            self._idle_at = now if self._idle_at is None else self._idle_at
            return now - self._idle_at
        self._idle_at = None
        self._cores.append(use.cpu_cores)
        if use.memory_bytes is not None:
            self._memory.append(use.memory_bytes)
        return 0.0

    def _idles(self, use: Use) -> bool:
        cores, gpu_ratio, memory_bytes = use.cpu_cores, use.gpu_ratio, use.memory_bytes
        usual = median(self._cores) if len(self._cores) >= LEAST_SAMPLES else 0.0
        if cores is None or usual < LEAST_CORES or cores > max(IDLE_CORES, IDLE_RATIO * usual):
            return False
        held = median(self._memory) if self._memory else 0.0
        if memory_bytes is not None and memory_bytes < HELD_RATIO * held:
            return False
        return gpu_ratio is None or gpu_ratio <= IDLE_GPU_RATIO
