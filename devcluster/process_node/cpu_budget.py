"""The CPU that the pods of one node may really use, in equal parts unless a pod was resized.

Each running pod gets the node's budget divided by their number, whether the others use theirs or
not: so a pod's speed depends on how many pods its node has, and on nothing else. The one exception
is a pod whose CPU request was changed in place (``shared.objects.pod_cpu``): it counts as many
times as its request is of what was given, as on a real node requests are the weights. So what pods
ask for at their start makes no difference; later changes of their requests do.

Two mechanisms: cgroup quotas (``cgroups``), or stopping and continuing process groups in turn
(``slices``). Pods of a DaemonSet serve the node and are outside the budget, as a real node
reserves CPU for them.
"""

import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Final, Protocol

from devcluster.process_node.spec import PodObject
from shared.errors import QuantityError
from shared.objects import pod_cpu
from shared.quantity import base_units

USUAL_WEIGHT: Final = 1.0


class CpuBudget(Protocol):
    """The budget of one node."""

    mechanism: str

    def join(self, pod: str) -> list[str]:
        """Count a pod (by uid) as running; return files a starting process writes its pid into."""
        ...

    def weigh(self, pod: str, weight: float) -> None:
        """Set the weight of a pod, running or not; the default is 1."""
        ...

    def started(self, pod: str, group: int) -> None:
        """Add a process group of a running pod."""
        ...

    def ended(self, pod: str, group: int) -> None:
        """Forget a process group."""
        ...

    def leave(self, pod: str) -> None:
        """No longer count a pod: its share goes to the others, its stray processes end."""
        ...

    async def run(self) -> None:
        """Run the periodic work; returns only by cancellation."""
        ...

    def close(self) -> None:
        """Clean up; all processes have ended."""
        ...


class Unbudgeted:
    """For pods outside the budget: no limit."""

    mechanism = "none"

    def join(self, _pod: str) -> list[str]:
        """Count nothing."""
        return []

    def weigh(self, _pod: str, _weight: float) -> None:
        """Count nothing."""

    def started(self, _pod: str, _group: int) -> None:
        """Add nothing."""

    def ended(self, _pod: str, _group: int) -> None:
        """Forget nothing."""

    def leave(self, _pod: str) -> None:
        """Release nothing."""

    async def run(self) -> None:
        """Return: there is nothing to do."""

    def close(self) -> None:
        """Clean up nothing."""


def share_cores(budget_cores: float, weights: Mapping[str, float]) -> dict[str, float]:
    """Return what each running pod may use, in proportion to the weights."""
    total = sum(weights.values())
    return {pod: budget_cores * weight / total for pod, weight in weights.items()}


def weight(pod: PodObject) -> float:
    """Return the weight of a pod: its CPU request over the one it was created with; usually 1."""
    given = pod_cpu.parse_given(pod.metadata.annotations or {})
    for container in pod.spec.containers if given else ():
        if given is not None and container.name == given.container and container.resources:
            try:
                text = str((container.resources.requests or {}).get("cpu", "0"))
                milli = base_units("cpu", text)
            except QuantityError:
                return USUAL_WEIGHT
            return milli / given.milli if milli > 0 else USUAL_WEIGHT
    return USUAL_WEIGHT


def default_budget_cores(nodes: int, most_cores: float) -> float:
    """Return a budget such that all nodes together use at most one core."""
    return min(most_cores, 1.0 / nodes)


def cluster_name(directory: Path) -> str:
    """Return a name for what belongs to this directory's cluster: in cgroups and sockets."""
    return f"shuntyard-{zlib.crc32(str(directory).encode()):08x}"
