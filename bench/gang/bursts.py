"""What was bound in bursts, by the extender's metrics and kube-scheduler's log."""

import re
import urllib.request
from dataclasses import dataclass
from typing import Final

from devcluster.cluster import Cluster

ALREADY_BOUND: Final = re.compile(r"\((\S+?/\S+?)\) is in the cache, so can't be assumed")
"""kube-scheduler cannot assume a pod in its cycle: the pod was bound meanwhile."""


@dataclass(frozen=True)
class Counted:
    """What was counted so far.

    Attributes:
        held: Answers to filter that were held.
        pods: Pods that were bound meanwhile.
        in_cycle: Pods that kube-scheduler could not assume.
    """

    held: int
    pods: int
    in_cycle: int

    def since(self, before: "Counted") -> "Counted":
        """Return what was counted after an earlier look."""
        return Counted(
            self.held - before.held, self.pods - before.pods, self.in_cycle - before.in_cycle
        )


def counted(cluster: Cluster) -> Counted:
    """Read the metrics of the extender and the log of its kube-scheduler.

    Raises:
        OSError: The extender does not answer.
    """
    with urllib.request.urlopen(f"{cluster.extender_url}/metrics") as answer:  # noqa: S310 - ours
        metrics = answer.read().decode()
    log = cluster.layout.log("kube-scheduler").read_text(errors="replace")
    held, pods = sample(metrics, "hold_seconds_count"), sample(metrics, "pods_total")
    return Counted(held, pods, len(set(ALREADY_BOUND.findall(log))))


def sample(metrics: str, name: str) -> int:
    """Return a metric of bursts, by the end of its name.

    Raises:
        LookupError: The text lacks it.
    """
    found = re.search(rf"^shuntyard_burst_{name} (\S+)$", metrics, re.MULTILINE)
    if found is None:
        raise LookupError(name)
    return int(float(found[1]))
