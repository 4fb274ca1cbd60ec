"""CPU and memory of a pod by its processes, where no control group counts them."""

from collections.abc import Collection
from typing import Final

import psutil
from msgspec.structs import replace

from agent.sampling.reading import Reading

MOST_PROCESSES: Final = 1024
"""Looked at for one pod."""


def completed(reading: Reading, processes: Reading | None) -> Reading:
    """Return a reading with what it lacks taken from the pod's processes."""
    if processes is None:
        return reading
    if reading.cpu_seconds is None:
        reading = replace(reading, counter=processes.counter, cpu_seconds=processes.cpu_seconds)
    if reading.memory_bytes is None:
        reading = replace(reading, memory_bytes=processes.memory_bytes)
    return reading


class Processes:
    """The processes of one pod, added up over those that come and go."""

    def __init__(self) -> None:
        self._by_pid: dict[int, tuple[psutil.Process, float]] = {}
        self._cpu_seconds = 0.0

    def read(self, pids: Collection[int]) -> Reading | None:
        """Return what they use together; None if none of them is left.

        The CPU counter never goes back, but what a process uses between the last reading and its
        end is not seen. Memory is the private parts of all and the largest shared part, as
        processes that were forked share theirs.
        """
        kept: dict[int, tuple[psutil.Process, float]] = {}
        private, shared = 0, 0
        for pid in sorted(pids)[:MOST_PROCESSES]:
            process, before = self._by_pid.get(pid, (None, 0.0))
            try:
                process = process or psutil.Process(pid)
                with process.oneshot():
                    times, memory = process.cpu_times(), process.memory_info()
            except psutil.Error:
                continue
            used = times.user + times.system
            self._cpu_seconds += used - before if used >= before else used
            kept[pid] = (process, used)
            private += memory.rss - memory.shared
            shared = max(shared, memory.shared)
        self._by_pid = kept
        if not kept:
            return None
        return Reading(
            counter="processes", cpu_seconds=self._cpu_seconds, memory_bytes=private + shared
        )
