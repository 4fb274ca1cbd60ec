"""The cluster and the yard of most tests here; a module that needs more overrides what differs."""

from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import pytest

from devcluster.cluster import Cluster
from devcluster.options import KwokNodes
from tests.controlplane import yard as yards
from tests.controlplane.played_agents import PlayedAgents
from tests.controlplane.yard import Start, Yard


@pytest.fixture(scope="module")
def extender_settings() -> Mapping[str, Any] | None:
    """Sections of the extender's settings file; None for the defaults."""
    return None


@pytest.fixture(scope="module")
def start(extender_settings: Mapping[str, Any] | None) -> Start:
    """Starts the programs of the cluster: kwok and our pair."""
    return partial(yards.start, settings=extender_settings)


@pytest.fixture(scope="module")
def cluster(control_plane: Cluster, start: Start) -> Iterator[Cluster]:
    """The session's control plane, emptied, with its programs, and empty again afterwards."""
    control_plane.empty()
    start(control_plane)
    yield control_plane
    control_plane.empty()


@pytest.fixture
def kwok_nodes() -> Sequence[KwokNodes]:
    """The nodes that each test of the module begins with."""
    return ()


@pytest.fixture
async def yard(cluster: Cluster, kwok_nodes: Sequence[KwokNodes]) -> AsyncIterator[Yard]:
    async with yards.opened(cluster) as yard:
        for nodes in kwok_nodes:
            await yard.nodes(nodes)
        yield yard


@pytest.fixture
async def agents(yard: Yard, kwok_nodes: Sequence[KwokNodes]) -> AsyncIterator[PlayedAgents]:
    """Agents of those nodes."""
    names = tuple(name for nodes in kwok_nodes for name in nodes.names())
    played = PlayedAgents(yard.cluster, yard.client, yard.team, names)
    async with played.playing():
        yield played
