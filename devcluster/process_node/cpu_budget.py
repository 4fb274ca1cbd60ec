"""The CPU that the pods of one node may really use, in equal parts.

Each running pod gets the node's budget divided by their number, whether the others use theirs or
not: so a pod's speed depends on how many pods its node has, and on nothing else. Two mechanisms:
cgroup quotas (``cgroups``), or stopping and continuing process groups in turn (``slices``). Pods of
a DaemonSet serve the node and stand beside the budget, as a real node reserves CPU for them.
"""

import zlib
from pathlib import Path
from typing import Protocol


class CpuBudget(Protocol):
    """The budget of one node."""

    mechanism: str

    def join(self, pod: str) -> list[str]:
        """Count a pod (by uid) as running; return files a starting process writes its pid into."""
        ...

    def started(self, pod: str, group: int) -> None:
        """Take in a process group of a running pod."""
        ...

    def ended(self, pod: str, group: int) -> None:
        """Forget a process group."""
        ...

    def leave(self, pod: str) -> None:
        """No longer count a pod: its share goes to the others, its stray processes end."""
        ...

    async def run(self) -> None:
        """Do what has to be done all the time; returns only by cancellation."""
        ...

    def close(self) -> None:
        """Leave nothing behind; everything has ended."""
        ...


class Unbudgeted:
    """For pods that stand beside the budget: as if there were none."""

    mechanism = "none"

    def join(self, _pod: str) -> list[str]:
        """Count nothing."""
        return []

    def started(self, _pod: str, _group: int) -> None:
        """Take in nothing."""

    def ended(self, _pod: str, _group: int) -> None:
        """Forget nothing."""

    def leave(self, _pod: str) -> None:
        """Give back nothing."""

    async def run(self) -> None:
        """Return: there is nothing to do."""

    def close(self) -> None:
        """Leave nothing behind."""


def share_cores(budget_cores: float, pods: int) -> float:
    """Return what each of ``pods`` running pods may use."""
    return budget_cores / max(pods, 1)


def default_budget_cores(nodes: int, most_cores: float) -> float:
    """Return a budget such that all nodes together use at most one core."""
    return min(most_cores, 1.0 / nodes)


def cluster_name(directory: Path) -> str:
    """Return a name for what belongs to this directory's cluster: in cgroups and sockets."""
    return f"shuntyard-{zlib.crc32(str(directory).encode()):08x}"
