"""Bursts as seen from outside: the extender's metrics, and kube-scheduler's log."""

import asyncio

from bench.gang import bursts
from bench.gang.bursts import ALREADY_BOUND, Counted
from tests.controlplane.yard import Yard


async def counted(yard: Yard) -> Counted:
    """Read what one extender has counted since its start.

    Raises:
        OSError: The extender does not answer.
    """
    return await asyncio.to_thread(bursts.counted, yard.cluster)


def bound_in_their_cycle(yard: Yard) -> set[str]:
    """Return ``namespace/name`` of the pods that kube-scheduler could not assume."""
    log = yard.cluster.layout.log("kube-scheduler").read_text(errors="replace")
    return set(ALREADY_BOUND.findall(log))
