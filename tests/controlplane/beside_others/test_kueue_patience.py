"""Kueue evicts a job that waits here for longer than its limit for admitted jobs."""

from collections.abc import AsyncIterator, Iterator
from dataclasses import replace

import pytest

from devcluster import operator_catalog, operators
from devcluster.cluster import Cluster
from devcluster.options import KwokNodes
from shared.kube import paths
from tests.controlplane.beside_others import kueue_queue
from tests.controlplane.beside_others.kueue_queue import (
    KUEUE,
    PATIENCE_SECONDS,
    QUOTA,
    queued,
    untouched,
)
from tests.controlplane.jobs import job
from tests.controlplane.yard import Yard
from tests.fakes.eventually import eventually

pytestmark = [pytest.mark.controlplane, pytest.mark.e2e, kueue_queue.CAN_RUN]

TIMEOUT_SECONDS = 15
"""Long enough for a gang that has room to start on a busy machine."""
OFFERED_AGAIN_SECONDS = 5
IMPATIENT = replace(
    operator_catalog.KUEUE,
    config={
        **operator_catalog.KUEUE.config,
        "waitForPodsReady": {
            "timeout": f"{TIMEOUT_SECONDS}s",
            "requeuingStrategy": {"backoffBaseSeconds": OFFERED_AGAIN_SECONDS},
        },
    },
)


@pytest.fixture(scope="module")
def cluster(cluster: Cluster) -> Iterator[Cluster]:
    with operators.running(cluster, IMPATIENT):
        yield cluster


@pytest.fixture
async def yard(cluster: Cluster) -> AsyncIterator[Yard]:
    async with kueue_queue.opened(cluster) as yard:
        yield yard


async def test_kueue_evicts_a_gang_that_waits_too_long_and_admits_it_again_until_it_fits(
    yard: Yard,
) -> None:
    await yard.nodes(KwokNodes(1, cpu="3"))
    await yard.submit(queued(job("it", QUOTA)))
    await yard.until_waiting("it", "GangDoesNotFit")
    first = {found["metadata"]["uid"] for found in yard.of("it")}
    await eventually(
        lambda: untouched(yard, paths.JOBS, "it"), PATIENCE_SECONDS, "Kueue takes it back"
    )
    (workload,) = await yard.items(paths.namespaced(f"{KUEUE}/workloads", yard.team))
    conditions = {c["type"]: c for c in workload["status"]["conditions"]}
    assert conditions["Evicted"]["reason"] == "PodsReadyTimeout"
    await yard.until_waiting("it", "GangDoesNotFit")
    await yard.nodes(KwokNodes(1, cpu="1", first=1))
    await yard.until_bound("it")
    assert first.isdisjoint(found["metadata"]["uid"] for found in yard.of("it"))
