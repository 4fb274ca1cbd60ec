"""Bursts as seen from outside: the extender's metrics, and kube-scheduler's log."""

import re
from dataclasses import dataclass
from typing import Final

from tests.controlplane.yard import Yard

ALREADY_BOUND: Final = re.compile(r"\((\S+?/\S+?)\) is in the cache, so can't be assumed")
"""kube-scheduler cannot assume a pod in its cycle: the pod was bound meanwhile."""


@dataclass(frozen=True)
class Counted:
    """What one extender has counted since its start.

    Attributes:
        held: Answers to filter that were held.
        pods: Pods that were bound meanwhile.
    """

    held: int
    pods: int


async def counted(yard: Yard) -> Counted:
    """Read the metrics of bursts.

    Raises:
        OSError: The extender does not answer.
    """
    text = (await yard.read("/metrics")).decode()
    return Counted(_sample(text, "hold_seconds_count"), _sample(text, "pods_total"))


def _sample(text: str, name: str) -> int:
    found = re.search(rf"^shuntyard_burst_{name} (\S+)$", text, re.MULTILINE)
    assert found is not None, name
    return int(float(found[1]))


def bound_in_their_cycle(yard: Yard) -> set[str]:
    """Return ``namespace/name`` of the pods that kube-scheduler could not assume."""
    log = yard.cluster.layout.log("kube-scheduler").read_text(errors="replace")
    return set(ALREADY_BOUND.findall(log))
