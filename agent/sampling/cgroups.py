"""Pods' use from control groups: version 2 (unified), and version 1 (a hierarchy per controller).

In version 1 the kubelet makes a pod's group in all hierarchies, at the same path. A devcluster's
process node makes it for ``cpu`` alone.

Source:
    Documentation/admin-guide/cgroup-v2.rst, cgroup-v1/cpuacct.rst, cgroup-v1/memory.rst and
    Documentation/scheduler/sched-bwc.rst of Linux. Working set as the kubelet counts it (cadvisor
    ``setMemoryStats``): memory in use less ``inactive_file`` (version 1: ``total_inactive_file``).
"""

from abc import abstractmethod
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Final

from typing_extensions import override

from agent.sampling import kernel_files
from agent.sampling.kernel_files import OpenFiles
from agent.sampling.pod_groups import PodGroups
from agent.sampling.readings import PodSource, Reading, Throttling
from shared.model import Uid

_MICRO: Final = 1e-6
CONTROLLERS: Final = ("cpu", "cpuacct", "memory")
_NANO: Final = 1e-9


class _ControlGroups(PodSource):
    """Common part of both versions.

    Args:
        root: Hierarchy in which pods are searched.
        files: Keeps files open.
        drop: Called with a directory that is not read any more.
    """

    def __init__(self, root: Path, files: OpenFiles, drop: Callable[[str], None]) -> None:
        self._files = files
        self._groups = PodGroups(root, drop)

    @override
    def read(self, uids: Collection[Uid], now: float) -> Mapping[Uid, Reading]:
        return self._groups.read(uids, now, self._read_group)

    @override
    def pids(self, uid: Uid) -> tuple[int, ...]:
        return self._groups.pids(uid)

    @override
    def close(self) -> None:
        self._files.close()

    @abstractmethod
    def _read_group(self, place: str, containers: tuple[str, ...]) -> Reading | None:
        """Return the reading of a pod's group and its containers'; None if it is gone."""


class Version2(_ControlGroups):
    """The unified hierarchy of version 2.

    Args:
        root: Where it is mounted.
        files: Keeps files open.
    """

    def __init__(self, root: Path, files: OpenFiles) -> None:
        super().__init__(root, files, files.drop)
        self._root = root

    @property
    @override
    def description(self) -> str:
        return f"cgroup v2 below {self._root}"

    @override
    def _read_group(self, place: str, containers: tuple[str, ...]) -> Reading | None:
        stat = self._files.read(place, "cpu.stat")
        if stat is None:
            return None
        used = kernel_files.value(stat, b"usage_usec")
        stats = {place: stat} | {
            container: self._files.read(container, "cpu.stat") for container in containers
        }
        return Reading(
            counter="cgroup2",
            cpu_seconds=None if used is None else used * _MICRO,
            memory_bytes=self._working_set(place),
            throttling=throttling(stats),
            pressure_ratio=kernel_files.pressure_ratio(self._files.read(place, "cpu.pressure")),
        )

    def _working_set(self, place: str) -> int | None:
        used = kernel_files.number(self._files.read(place, "memory.current"))
        idle = kernel_files.value(self._files.read(place, "memory.stat"), b"inactive_file")
        return None if used is None or idle is None else max(0, used - idle)


def throttling(stats: Mapping[str, bytes | None]) -> Mapping[str, Throttling]:
    """Return the counters of the ``cpu.stat`` files that have them, of either version."""
    counters: dict[str, Throttling] = {}
    for group, stat in stats.items():
        periods = kernel_files.value(stat, b"nr_periods")
        throttled = kernel_files.value(stat, b"nr_throttled")
        if periods is not None and throttled is not None:
            counters[group] = Throttling(periods, throttled)
    return counters


def hierarchies(root: Path) -> Mapping[str, Path]:
    """Return where controllers are mounted: ``cpu``, or ``cpu,cpuacct`` for both."""
    mounted: dict[str, Path] = {}
    for directory in sorted(root.iterdir()) if root.is_dir() else ():
        for controller in directory.name.split(","):
            if controller in CONTROLLERS and (directory / "cgroup.procs").exists():
                mounted.setdefault(controller, directory.resolve())  # ``cpu`` is often a link
    return mounted


class Version1(_ControlGroups):
    """The hierarchies of version 1.

    Args:
        mounted: Mount point by controller; at least one.
        files: Keeps files open.
    """

    def __init__(self, mounted: Mapping[str, Path], files: OpenFiles) -> None:
        self._base = str(
            next(mounted[controller] for controller in CONTROLLERS if controller in mounted)
        )
        self._roots = {controller: str(path) for controller, path in mounted.items()}
        super().__init__(Path(self._base), files, self._drop)

    @property
    @override
    def description(self) -> str:
        return f"cgroup v1 ({', '.join(sorted(self._roots))}) beside {self._base}"

    @override
    def _read_group(self, place: str, containers: tuple[str, ...]) -> Reading | None:
        if not Path(place).is_dir():
            return None
        stats = {group: self._read("cpu", group, "cpu.stat") for group in (place, *containers)}
        used = kernel_files.number(self._read("cpuacct", place, "cpuacct.usage"))
        return Reading(
            counter="cpuacct",
            cpu_seconds=None if used is None else used * _NANO,
            memory_bytes=self._working_set(place),
            throttling=throttling(stats),
        )

    def _working_set(self, place: str) -> int | None:
        used = kernel_files.number(self._read("memory", place, "memory.usage_in_bytes"))
        idle = kernel_files.value(
            self._read("memory", place, "memory.stat"), b"total_inactive_file"
        )
        return None if used is None or idle is None else max(0, used - idle)

    def _read(self, controller: str, place: str, name: str) -> bytes | None:
        if controller not in self._roots:
            return None
        return self._files.read(self._in(controller, place), name)

    def _in(self, controller: str, place: str) -> str:
        return self._roots[controller] + place.removeprefix(self._base)

    def _drop(self, place: str) -> None:
        for controller in self._roots:
            self._files.drop(self._in(controller, place))
