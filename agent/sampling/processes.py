"""Pods' use by their processes, where no control group counts it.

A process belongs to the pod that its environment names, by ``SHUNTYARD_POD_UID`` or by the home
directory that a process node of the devcluster gives its containers (``…/pods/<uid>/home``). One
that names none belongs to the pod of its session's leader: a container's first process leads a
session, and a child may have cleaned its environment.

The environment of a process is read once. A young process that names no pod is read again: it may
be about to ``exec`` the container's command.
"""

import re
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Final

import psutil
from msgspec.structs import replace
from typing_extensions import override

from agent.sampling.readings import PodSource, Reading
from shared.model import Uid

MOST_POD_PROCESSES: Final = 1024
"""Processes of one pod that are read."""
POD_UID_VARIABLE: Final = "SHUNTYARD_POD_UID"
MOST_PROCESSES: Final = 8192
"""Processes of one machine that are read, those with the highest numbers: the youngest."""
MOST_ENVIRONMENT_BYTES: Final = 64 * 1024
"""Bytes of an environment that are read; most have 2 KiB, and a process may set megabytes."""
YOUNG_SECONDS: Final = 30.0
_NAMES: Final = frozenset((POD_UID_VARIABLE, "HOME"))
_SESSION_FIELD: Final = 3  # of what follows the name in /proc/PID/stat
_HOME: Final = re.compile(r".*/pods/(?P<uid>[^/]+)/home")


def completed(reading: Reading, processes: Reading | None) -> Reading:
    """Return a reading whose missing values are taken from the pod's processes."""
    if processes is None:
        return reading
    if reading.cpu_seconds is None:
        reading = replace(reading, counter=processes.counter, cpu_seconds=processes.cpu_seconds)
    if reading.memory_bytes is None:
        reading = replace(reading, memory_bytes=processes.memory_bytes)
    return reading


class Processes:
    """Sums the use of the processes of one pod, while processes start and end."""

    def __init__(self) -> None:
        self._by_pid: dict[int, tuple[psutil.Process, float]] = {}
        self._cpu_seconds = 0.0

    def read(self, pids: Collection[int]) -> Reading | None:
        """Return their total use; None if no process is left.

        The CPU counter never goes back, but the use of a process between the last reading and its
        end is lost. Memory is the sum of the private parts plus the largest shared part, because
        forked processes share theirs.
        """
        kept: dict[int, tuple[psutil.Process, float]] = {}
        private, shared = 0, 0
        for pid in sorted(pids)[:MOST_POD_PROCESSES]:
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


def uid_in(environment: Mapping[str, str]) -> Uid | None:
    """Return the pod that an environment names; None if there is none."""
    if stated := environment.get(POD_UID_VARIABLE):
        return Uid(stated)
    home = _HOME.fullmatch(environment.get("HOME", ""))
    return Uid(home["uid"]) if home else None


class ProcessTree(PodSource):
    """Reads every process of this machine that the agent may read."""

    def __init__(self) -> None:
        self._pod: dict[int, Uid | None] = {}
        self._first_seen: dict[int, float] = {}
        self._processes: dict[Uid, Processes] = {}

    @property
    @override
    def description(self) -> str:
        return "processes by their environment"

    @override
    def read(self, uids: Collection[Uid], now: float) -> Mapping[Uid, Reading]:
        self._processes = {
            uid: processes for uid, processes in self._processes.items() if uid in uids
        }
        if uids:
            self._find_pods(now)
        readings: dict[Uid, Reading] = {}
        for uid in uids:
            processes = self._processes.setdefault(uid, Processes())
            if reading := processes.read(self.pids(uid)):
                readings[uid] = reading
        return readings

    @override
    def pids(self, uid: Uid) -> tuple[int, ...]:
        return tuple(pid for pid, pod in self._pod.items() if pod == uid)

    @override
    def close(self) -> None:
        self._pod.clear()

    def _find_pods(self, now: float) -> None:
        present = psutil.pids()[-MOST_PROCESSES:]
        self._first_seen = {pid: self._first_seen.get(pid, now) for pid in present}
        pods: dict[int, Uid | None] = {}
        for pid in present:  # ascending, so a session's leader comes first
            pod = self._pod.get(pid)
            old = pid in self._pod and now - self._first_seen[pid] > YOUNG_SECONDS
            pods[pid] = pod if pod or old else _named_pod(pid) or pods.get(_leader(pid))
        self._pod = pods


def _named_pod(pid: int) -> Uid | None:
    try:
        with Path(psutil.PROCFS_PATH, str(pid), "environ").open("rb") as file:
            environment = file.read(MOST_ENVIRONMENT_BYTES)
    except OSError:
        return None
    pairs = (entry.partition("=") for entry in environment.decode(errors="replace").split("\0"))
    return uid_in({name: value for name, _, value in pairs if name in _NAMES})


def _leader(pid: int) -> int:
    """Return the process that leads the session of a process; 0 if that process is gone."""
    try:
        stat = Path(psutil.PROCFS_PATH, str(pid), "stat").read_text()
    except OSError:
        return 0
    return int(stat.rpartition(")")[2].split()[_SESSION_FIELD])
