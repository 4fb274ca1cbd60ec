"""Pods' use from control groups of version 2.

Source:
    Documentation/admin-guide/cgroup-v2.rst of Linux. Working set as the kubelet counts it (cadvisor
    ``setMemoryStats``): memory in use less ``inactive_file``.
"""

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Final

from typing_extensions import override

from agent.sampling import flat_files
from agent.sampling.open_files import OpenFiles
from agent.sampling.pod_groups import PodGroups
from agent.sampling.reading import PodSource, Reading, Throttling
from shared.model import Uid

_MICRO: Final = 1e-6


class Version2(PodSource):
    """The unified hierarchy.

    Args:
        root: Where it is mounted.
        files: Keeps files open.
    """

    def __init__(self, root: Path, files: OpenFiles) -> None:
        self._root = root
        self._files = files
        self._groups = PodGroups(root, files.drop)

    @property
    @override
    def words(self) -> str:
        return f"cgroup v2 below {self._root}"

    @override
    def read(self, uids: Collection[Uid], now: float) -> Mapping[Uid, Reading]:
        return self._groups.read(uids, now, self._read_group)

    @override
    def pids(self, uid: Uid) -> tuple[int, ...]:
        return self._groups.pids(uid)

    @override
    def close(self) -> None:
        self._files.close()

    def _read_group(self, place: str, containers: tuple[str, ...]) -> Reading | None:
        stat = self._files.read(place, "cpu.stat")
        if stat is None:
            return None
        used = flat_files.value(stat, b"usage_usec")
        stats = {place: stat} | {one: self._files.read(one, "cpu.stat") for one in containers}
        return Reading(
            counter="cgroup2",
            cpu_seconds=None if used is None else used * _MICRO,
            memory_bytes=self._working_set(place),
            throttling=throttling(stats),
            pressure_ratio=flat_files.pressure_ratio(self._files.read(place, "cpu.pressure")),
        )

    def _working_set(self, place: str) -> int | None:
        used = flat_files.number(self._files.read(place, "memory.current"))
        idle = flat_files.value(self._files.read(place, "memory.stat"), b"inactive_file")
        return None if used is None or idle is None else max(0, used - idle)


def throttling(stats: Mapping[str, bytes | None]) -> Mapping[str, Throttling]:
    """Return the counters of those ``cpu.stat`` files that have them; both versions do alike."""
    found: dict[str, Throttling] = {}
    for group, stat in stats.items():
        periods = flat_files.value(stat, b"nr_periods")
        throttled = flat_files.value(stat, b"nr_throttled")
        if periods is not None and throttled is not None:
            found[group] = Throttling(periods, throttled)
    return found
