"""The control plane of the storms: the extender reaches it only through the failing proxy."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from typing import Any, Final

import pytest

from devcluster.cluster import Cluster
from devcluster.shuntyard.extender_process import write_kubeconfig
from shared.kube import auth
from shared.kube.client import KubeClient
from tests.controlplane import faults
from tests.controlplane import yard as yards
from tests.controlplane.storm import proxy
from tests.controlplane.storm.proxy import FaultyWay
from tests.controlplane.yard import Yard

SETTINGS: Final = {
    "pin_lost_seconds": 2.0,
    "bind_burst_seconds": 5.0,
    "backoff_seconds": 0.5,
    "most_backoff_seconds": 5.0,
}


@pytest.fixture
async def way(clean_cluster: Cluster) -> AsyncIterator[FaultyWay]:
    async with proxy.opened(clean_cluster) as opened:
        yield opened


@pytest.fixture
def extender_settings() -> Mapping[str, Any]:
    return {}


@pytest.fixture
async def yard(
    clean_cluster: Cluster, way: FaultyWay, extender_settings: Mapping[str, Any]
) -> AsyncIterator[Yard]:
    """Our pair, whose extender reaches the API server only through the failing proxy."""
    await asyncio.to_thread(clean_cluster.apply_roles)
    kubeconfig = await asyncio.to_thread(
        write_kubeconfig, clean_cluster.layout, way.url, "extender-in-storm"
    )
    reached = {"kubernetes": {"kubeconfig": str(kubeconfig)}, "gang": SETTINGS}
    settings = {**extender_settings, **reached}
    await asyncio.to_thread(yards.start, clean_cluster, settings)
    await asyncio.to_thread(clean_cluster.start_default_scheduler)
    credentials = await asyncio.to_thread(auth.load, clean_cluster.kubeconfig)
    async with KubeClient.connect(credentials) as client, faults.enduring(client) as history:
        yard = Yard(clean_cluster, client, history)
        yard.team = await yard.namespace("storm")
        yield yard
        await faults.revive(clean_cluster)
