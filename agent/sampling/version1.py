"""Pods' use from control groups of version 1: one hierarchy for each controller.

The kubelet makes a pod's group in all of them, at the same path. A devcluster's process node makes
it for ``cpu`` alone.

Source:
    Documentation/admin-guide/cgroup-v1/cpuacct.rst, memory.rst and Documentation/scheduler/
    sched-bwc.rst of Linux. Working set as the kubelet counts it (cadvisor ``setMemoryStats``):
    memory in use less ``total_inactive_file``.
"""

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Final

from typing_extensions import override

from agent.sampling import flat_files
from agent.sampling.open_files import OpenFiles
from agent.sampling.pod_groups import PodGroups
from agent.sampling.reading import PodSource, Reading
from agent.sampling.version2 import throttling
from shared.model import Uid

CONTROLLERS: Final = ("cpu", "cpuacct", "memory")
_NANO: Final = 1e-9


def hierarchies(root: Path) -> Mapping[str, Path]:
    """Return where controllers are mounted: ``cpu``, or ``cpu,cpuacct`` for both."""
    found: dict[str, Path] = {}
    for directory in sorted(root.iterdir()) if root.is_dir() else ():
        for controller in directory.name.split(","):
            if controller in CONTROLLERS and (directory / "cgroup.procs").exists():
                found.setdefault(controller, directory.resolve())  # ``cpu`` is often a link
    return found


class Version1(PodSource):
    """The hierarchies of the controllers we read.

    Args:
        mounted: Where each is; at least one.
        files: Keeps files open.
    """

    def __init__(self, mounted: Mapping[str, Path], files: OpenFiles) -> None:
        self._base = str(next(mounted[one] for one in CONTROLLERS if one in mounted))
        self._roots = {controller: str(path) for controller, path in mounted.items()}
        self._files = files
        self._groups = PodGroups(Path(self._base), self._drop)

    @property
    @override
    def words(self) -> str:
        return f"cgroup v1 ({', '.join(sorted(self._roots))}) beside {self._base}"

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
        if not Path(place).is_dir():
            return None
        stats = {one: self._read("cpu", one, "cpu.stat") for one in (place, *containers)}
        used = flat_files.number(self._read("cpuacct", place, "cpuacct.usage"))
        return Reading(
            counter="cpuacct",
            cpu_seconds=None if used is None else used * _NANO,
            memory_bytes=self._working_set(place),
            throttling=throttling(stats),
        )

    def _working_set(self, place: str) -> int | None:
        used = flat_files.number(self._read("memory", place, "memory.usage_in_bytes"))
        idle = flat_files.value(self._read("memory", place, "memory.stat"), b"total_inactive_file")
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
