"""Waiting on a real control plane: a large gang gets its turn, small jobs use the time before."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from devcluster.cluster import Cluster
from devcluster.options import KwokNodes
from shared import labels
from tests.controlplane import yard as yards
from tests.controlplane.jobs import Pods, job
from tests.controlplane.yard import Yard
from tests.fakes.eventually import eventually

pytestmark = [pytest.mark.controlplane, pytest.mark.e2e]


@pytest.fixture
async def yard(clean_cluster: Cluster) -> AsyncIterator[Yard]:
    await asyncio.to_thread(yards.start, clean_cluster)
    async with yards.opened(clean_cluster) as yard:
        yield yard


def lasting(seconds: int, *, stated: bool = True) -> Pods:
    """Return pods of 2 CPUs that run for so long, with that expected duration if ``stated``."""
    notes = {labels.SIMULATED_DURATION: f"{seconds}s"}
    notes |= {labels.EXPECTED_DURATION: f"{seconds}s"} if stated else {}
    return Pods(cpu="2", annotations=notes)


async def test_a_gang_past_its_maximum_wait_runs_and_only_short_jobs_start_before_it(
    yard: Yard,
) -> None:
    await yard.nodes(KwokNodes(2, cpu="4"))
    await yard.submit(job("first", 1, lasting(25)))
    await yard.until_bound("first")
    whole = Pods(cpu="4", annotations={labels.MAX_WAIT: "3s"})
    await yard.submit(job("whole", 2, whole))
    entry = await yard.until_waiting("whole", "MaxWaitDraining")
    await yard.submit(job("brief", 1, lasting(2)), job("long", 1, lasting(60)))
    await yard.submit(job("unstated", 1, lasting(2, stated=False)))
    await yard.until_bound("brief")
    for name in ("long", "unstated"):
        await yard.until_waiting(name, "BehindReservation")

    async def estimated() -> bool:
        (found,) = [e for e in await yard.entries() if e.job == "whole"]
        return found.estimated_start is not None and found.estimate == "durations by annotation"

    await eventually(estimated, 10, "the holder's start is known")
    await yard.until_bound("whole")
    assert entry.position == 1
    assert yard.bound("long") == yard.bound("unstated") == 0
