"""Elastic training in real processes: nodes with agents, on the session's control plane."""

from collections.abc import AsyncIterator, Iterator, Mapping
from typing import Any

import pytest

from devcluster.cluster import Cluster
from devcluster.options import ProcessNodes
from tests.controlplane import training_yard
from tests.controlplane.training.elastic_job import AGENT_SETTINGS, NODES
from tests.controlplane.training.parked import SETTINGS
from tests.controlplane.training_yard import TrainingYard


@pytest.fixture(scope="module")
def nodes() -> ProcessNodes:
    """The nodes; a module that needs others overrides it."""
    return NODES


@pytest.fixture(scope="module")
def extender_settings() -> Mapping[str, Any]:
    return SETTINGS


@pytest.fixture(scope="module")
def cluster(
    control_plane: Cluster, nodes: ProcessNodes, extender_settings: Mapping[str, Any]
) -> Iterator[Cluster]:
    with training_yard.training(control_plane, nodes, extender_settings, AGENT_SETTINGS) as started:
        yield started


@pytest.fixture
async def yard(cluster: Cluster, nodes: ProcessNodes) -> AsyncIterator[TrainingYard]:
    async with training_yard.lent(cluster, nodes.names()) as yard:
        yield yard
