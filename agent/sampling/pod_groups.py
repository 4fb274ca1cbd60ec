"""Readings of the control groups of given pods.

What a group does not count, because its controller is not enabled there, is summed over its
processes: for example on the devcluster's process nodes, whose groups are for CPU quotas only.
"""

from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Final

from agent.sampling.groups import GroupFinder, subdirectories
from agent.sampling.processes import Processes, completed
from agent.sampling.readings import Reading
from shared.model import Uid

LIST_SECONDS: Final = 30.0
"""How often a pod's containers are listed again; a restarted one counts only then."""

_MOST_CONTAINERS: Final = 32
_MOST_GROUPS: Final = 64
_MOST_PIDS: Final = 4096
_MOST_PID_BYTES: Final = 8 * _MOST_PIDS

ReadGroup = Callable[[str, tuple[str, ...]], Reading | None]
"""Takes the directories of a pod and its containers; returns None if the pod's is gone."""


class PodGroups:
    """Pods' directories in one hierarchy.

    Args:
        root: Root of the hierarchy.
        drop: Called with a pod's or container's directory that is not read any more.
    """

    def __init__(self, root: Path, drop: Callable[[str], None]) -> None:
        self._finder = GroupFinder(root)
        self._drop = drop
        self._places: dict[Uid, str] = {}
        self._processes: dict[Uid, Processes] = {}
        self._containers: dict[str, tuple[float, tuple[str, ...]]] = {}

    def read(self, uids: Collection[Uid], now: float, group: ReadGroup) -> Mapping[Uid, Reading]:
        """Return the readings of ``group`` for the pods that have a directory."""
        places = self._finder.locate(uids, now)
        for uid in self._places.keys() - places.keys():
            self._forget(uid)
        self._places = dict(places)
        readings: dict[Uid, Reading] = {}
        for uid, place in places.items():
            reading = group(place, self._listed(place, now))
            if reading is not None:
                readings[uid] = self._completed(uid, place, reading)
        for uid in places.keys() - readings.keys():
            self._finder.forget(uid)
            self._forget(uid)
        return readings

    def pids(self, uid: Uid) -> tuple[int, ...]:
        """Return the processes below a pod's directory; invisible ones are 0 and left out."""
        place = self._places.get(uid)
        return () if place is None else pids_below(place)

    def _completed(self, uid: Uid, place: str, reading: Reading) -> Reading:
        if reading.cpu_seconds is not None and reading.memory_bytes is not None:
            return reading
        processes = self._processes.setdefault(uid, Processes())
        return completed(reading, processes.read(pids_below(place)))

    def _listed(self, place: str, now: float) -> tuple[str, ...]:
        at, listed = self._containers.get(place, (float("-inf"), ()))
        if now - at < LIST_SECONDS:
            return listed
        names = subdirectories(place)[:_MOST_CONTAINERS]
        fresh = tuple(f"{place}/{name}" for name in sorted(names))
        for gone in set(listed).difference(fresh):
            self._drop(gone)
        self._containers[place] = (now, fresh)
        return fresh

    def _forget(self, uid: Uid) -> None:
        place = self._places.pop(uid)
        self._processes.pop(uid, None)
        _, containers = self._containers.pop(place, (0.0, ()))
        for directory in (place, *containers):
            self._drop(directory)


def pids_below(place: str) -> tuple[int, ...]:
    """Return the processes of a group and of the groups below it, in our PID namespace."""
    pids: list[int] = []
    groups = [place]
    for count, group in enumerate(groups):  # the list grows in the loop
        if count == _MOST_GROUPS or len(pids) > _MOST_PIDS:
            break
        pids += _members(group)
        if len(groups) < _MOST_GROUPS:
            groups += (f"{group}/{name}" for name in subdirectories(group, _MOST_GROUPS))
    return tuple(pids[:_MOST_PIDS])


def _members(group: str) -> list[int]:
    try:
        with Path(group, "cgroup.procs").open("rb") as file:
            lines = file.read(_MOST_PID_BYTES).split()
    except OSError:
        return []
    return [int(line) for line in lines if line.isdigit() and line != b"0"]
