"""CPU quotas by cgroups, version 1 or 2: a group per cluster directory, node and pod.

Source:
    Documentation/scheduler/sched-bwc.rst and Documentation/admin-guide/cgroup-v2.rst of Linux.
"""

import asyncio
import contextlib
import logging
import os
import signal
import subprocess
import time
from pathlib import Path
from typing import Final, Protocol

from typing_extensions import override

from devcluster.process_node.cpu_budget import USUAL_WEIGHT, CpuBudget, share_cores

# 20 ms: measured on two busy cores, shares then hold within a few percent; at the usual 100 ms one
# training step sees whole periods of standstill.
PERIOD_US: Final = 20_000
LEAST_QUOTA_US: Final = 2_000  # the kernel refuses less than 1 ms
MOST_PERIOD_US: Final = 1_000_000
_EMPTY_SECONDS: Final = 2.0
_EMPTY_PAUSE_SECONDS: Final = 0.005

logger = logging.getLogger(__name__)


class Hierarchy(Protocol):
    """A place in the cgroup tree where groups can be created, and the format of quotas there."""

    base: Path

    def make(self, group: Path) -> None:
        """Create a group whose children can have quotas."""
        ...

    def set_quota(self, group: Path, cores: float) -> None:
        """Limit a group to ``cores``."""
        ...


def period_and_quota_us(cores: float) -> tuple[int, int]:
    """Return period and quota for a number of cores, both in µs, within the kernel's limits."""
    period_us = min(max(PERIOD_US, int(LEAST_QUOTA_US / cores)), MOST_PERIOD_US)
    return period_us, max(1_000, int(period_us * cores))


class Version1(Hierarchy):
    """The ``cpu`` controller of version 1."""

    def __init__(self, base: Path) -> None:
        self.base = base

    @override
    def make(self, group: Path) -> None:
        group.mkdir(parents=True, exist_ok=True)

    @override
    def set_quota(self, group: Path, cores: float) -> None:
        period_us, quota_us = period_and_quota_us(cores)
        (group / "cpu.cfs_quota_us").write_text("-1")
        (group / "cpu.cfs_period_us").write_text(str(period_us))
        (group / "cpu.cfs_quota_us").write_text(str(quota_us))


class Version2(Hierarchy):
    """The unified hierarchy: a group must delegate the controller to its children."""

    def __init__(self, base: Path) -> None:
        self.base = base

    @override
    def make(self, group: Path) -> None:
        group.mkdir(exist_ok=True)
        control = group / "cgroup.subtree_control"
        if "cpu" not in control.read_text().split():
            control.write_text("+cpu")

    @override
    def set_quota(self, group: Path, cores: float) -> None:
        period_us, quota_us = period_and_quota_us(cores)
        (group / "cpu.max").write_text(f"{quota_us} {period_us}")


class CgroupBudget(CpuBudget):
    """One node's budget: a group per pod, each with its share as its quota.

    Args:
        hierarchy: Where groups may be made.
        cluster: Name of the cluster's group.
        node: Name of the node.
        budget_cores: For all pods of the node together.
    """

    mechanism = "cgroup"

    def __init__(self, hierarchy: Hierarchy, cluster: str, node: str, budget_cores: float) -> None:
        self._hierarchy = hierarchy
        self._budget_cores = budget_cores
        self._cluster = hierarchy.base / cluster
        self._node = self._cluster / node
        self._pods: set[str] = set()
        self._weights: dict[str, float] = {}
        hierarchy.make(self._cluster)
        remove_tree(self._node)
        hierarchy.make(self._node)

    @override
    def join(self, pod: str) -> list[str]:
        group = self._group(pod)
        if pod not in self._pods:
            group.mkdir(exist_ok=True)
            self._pods.add(pod)
            self._share()
        return [str(group / "cgroup.procs")]

    @override
    def weigh(self, pod: str, weight: float) -> None:
        if weight != self._weights.get(pod, USUAL_WEIGHT):
            self._weights[pod] = weight
            self._share()

    @override
    def started(self, pod: str, group: int) -> None:
        """Nothing: the process has put itself into the pod's group."""

    @override
    def ended(self, pod: str, group: int) -> None:
        """Nothing: a group forgets its processes by itself."""

    @override
    def leave(self, pod: str) -> None:
        self._weights.pop(pod, None)
        if pod in self._pods:
            self._pods.discard(pod)
            remove_tree(self._group(pod))
            self._share()

    @override
    async def run(self) -> None:
        await asyncio.Event().wait()

    @override
    def close(self) -> None:
        remove_tree(self._node)
        with contextlib.suppress(OSError):  # other nodes of the cluster may still have theirs
            self._cluster.rmdir()

    def _group(self, pod: str) -> Path:
        return self._node / f"pod{pod}"

    def _share(self) -> None:
        weights = {pod: self._weights.get(pod, USUAL_WEIGHT) for pod in self._pods}
        for pod, cores in share_cores(self._budget_cores, weights).items():
            self._hierarchy.set_quota(self._group(pod), cores)


def members(group: Path) -> list[int]:
    """Return the processes in a group."""
    try:
        return [int(line) for line in (group / "cgroup.procs").read_text().split()]
    except FileNotFoundError:
        return []


def remove_tree(group: Path) -> None:
    """End every process below a group and remove it; blocks at most ``_EMPTY_SECONDS``."""
    deadline = time.monotonic() + _EMPTY_SECONDS
    while group.exists():
        directories = sorted((path for path in group.glob("**/") if path.is_dir()), reverse=True)
        for directory in directories:
            for pid in members(directory):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            with contextlib.suppress(OSError):  # a dying process still holds it
                directory.rmdir()
        if time.monotonic() > deadline:
            logger.warning("cgroup %s could not be removed", group)
            return
        if group.exists():
            time.sleep(_EMPTY_PAUSE_SECONDS)


def find(cluster: str) -> Hierarchy | None:
    """Return a place where groups with CPU quotas can be created; None without one."""
    version_1 = Path("/sys/fs/cgroup/cpu")
    own = _own_groups()
    candidates: list[Hierarchy] = []
    if version_1.exists():
        candidates += [Version1(version_1 / own.get("cpu", "")), Version1(version_1)]
    unified = Path("/sys/fs/cgroup")
    if (unified / "cgroup.controllers").exists():
        mine = unified / own.get("", "")
        candidates += (
            [Version2(mine), Version2(mine.parent)] if mine != unified else [Version2(mine)]
        )
    return next((hierarchy for hierarchy in candidates if _works(hierarchy, cluster)), None)


def _own_groups() -> dict[str, str]:
    """Return our own group by controller; version 2 has the empty name."""
    groups: dict[str, str] = {}
    for line in Path("/proc/self/cgroup").read_text().splitlines():
        _, controllers, path = line.split(":", 2)
        groups |= dict.fromkeys(controllers.split(","), path.lstrip("/"))
    return groups


def _works(hierarchy: Hierarchy, cluster: str) -> bool:
    """Test everything that a budget does, with a short-lived process."""
    outer = hierarchy.base / f"{cluster}-probe"
    try:
        hierarchy.make(outer)
        inner = outer / "pod"
        inner.mkdir(exist_ok=True)
        hierarchy.set_quota(inner, 0.1)
        joined = subprocess.run(
            ["/bin/sh", "-c", 'echo $$ > "$0"', str(inner / "cgroup.procs")],
            check=False,
            capture_output=True,
        )
    except OSError as error:
        logger.info("no CPU quota below %s: %s", hierarchy.base, error)
        return False
    finally:
        remove_tree(outer)
    return joined.returncode == 0
