"""The cluster and the yard of most tests here; a module that needs more overrides what differs."""

from collections.abc import AsyncIterator, Iterator, Mapping
from typing import Any

import pytest

from devcluster.cluster import Cluster
from tests.controlplane import yard as yards
from tests.controlplane.yard import Yard


@pytest.fixture(scope="module")
def extender_settings() -> Mapping[str, Any] | None:
    """Sections of the extender's settings file; None for the defaults."""
    return None


@pytest.fixture(scope="module")
def cluster(
    control_plane: Cluster, extender_settings: Mapping[str, Any] | None
) -> Iterator[Cluster]:
    """The session's control plane, emptied, with kwok and our pair, and empty again afterwards."""
    control_plane.empty()
    yards.start(control_plane, extender_settings)
    yield control_plane
    control_plane.empty()


@pytest.fixture
async def yard(cluster: Cluster) -> AsyncIterator[Yard]:
    async with yards.opened(cluster) as yard:
        yield yard
