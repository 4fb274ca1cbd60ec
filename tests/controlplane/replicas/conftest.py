"""Two replicas, lent to each test."""

from collections.abc import AsyncIterator

import pytest

from devcluster.cluster import Cluster
from tests.controlplane.replicas.pairs import PairYard, lent


@pytest.fixture
async def pair(cluster: Cluster) -> AsyncIterator[PairYard]:
    async with lent(cluster) as pair:
        yield pair
