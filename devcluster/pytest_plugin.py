"""Fixtures for tests with the marker ``controlplane``: one cluster, emptied between the tests.

The first use in a session starts it, and builds its programs where nothing is cached, with progress
on the terminal. Tests without the fixtures pay nothing.
"""

from collections.abc import Callable, Iterator

import pytest

from devcluster.cluster import Cluster
from devcluster.options import ClusterOptions


@pytest.fixture(scope="session")
def control_plane(
    tmp_path_factory: pytest.TempPathFactory, pytestconfig: pytest.Config
) -> Iterator[Cluster]:
    """etcd, kube-apiserver and kube-controller-manager with our RBAC, without nodes."""
    directory = tmp_path_factory.mktemp("cluster")
    Cluster.up(directory, ClusterOptions(), _terminal(pytestconfig))
    cluster = Cluster.attach(directory, _nothing)
    try:
        cluster.apply_roles()
        yield cluster
    finally:
        cluster.down()


@pytest.fixture
def clean_cluster(control_plane: Cluster) -> Iterator[Cluster]:
    """The session's cluster, empty before and after the test.

    ``add_kwok_nodes``, ``start_default_scheduler`` and ``start_shuntyard`` make it what the test
    needs; all of them are ended after it.
    """
    control_plane.empty()
    yield control_plane
    control_plane.empty()


def _nothing(_line: str) -> None:
    """Report nothing: what happens inside a test is the test's to say."""


def _terminal(config: pytest.Config) -> Callable[[str], None]:
    """Return what writes a line past the capture: a build takes minutes and must be seen."""
    capture = config.pluginmanager.getplugin("capturemanager")

    def report(line: str) -> None:
        with capture.global_and_fixture_disabled():
            print(f"\ndevcluster: {line}", end="", flush=True)

    return report
