"""Fixtures for tests with the marker ``controlplane``: one cluster, emptied between the tests.

The first use in a session starts it, and builds its programs where nothing is cached, with progress
on the terminal. Tests without the fixtures pay nothing.
"""

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from devcluster.cluster import Cluster
from devcluster.options import ClusterOptions
from devcluster.rights import calls, comparing, keeping


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add what records the calls of all clusters of a run."""
    parser.addoption(
        "--record-api-calls",
        metavar="DIR",
        help="keep there which API calls our programs make (`python -m devcluster rights DIR`)",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Tell all clusters of the run, also those of other processes."""
    directory = config.getoption("--record-api-calls")
    if directory:
        os.environ[keeping.VARIABLE] = str(Path(directory).resolve())


@pytest.fixture(scope="session")
def control_plane(
    tmp_path_factory: pytest.TempPathFactory, pytestconfig: pytest.Config
) -> Iterator[Cluster]:
    """etcd, kube-apiserver and kube-controller-manager with our RBAC, without nodes.

    At its end the API server must have refused our programs nothing that our manifests do not name.
    """
    directory = tmp_path_factory.mktemp("cluster")
    Cluster.up(directory, ClusterOptions(record_api_calls=True), terminal(pytestconfig))
    cluster = Cluster.attach(directory, _nothing)
    try:
        cluster.apply_roles()
        yield cluster
        found = comparing.compare(calls.read(cluster.layout.audit), comparing.shipped())
        if found.missing or found.foreign:
            pytest.fail("\n".join(comparing.refusals(found)), pytrace=False)
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


def terminal(config: pytest.Config) -> Callable[[str], None]:
    """Return what writes a line past the capture: a build takes minutes and must be seen."""
    capture = config.pluginmanager.getplugin("capturemanager")

    def report(line: str) -> None:
        with capture.global_and_fixture_disabled():
            print(f"\ndevcluster: {line}", end="", flush=True)

    return report
