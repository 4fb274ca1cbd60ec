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
from devcluster.programs.versions import DEFAULT_KUBERNETES
from devcluster.rights import calls, granted


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options of the session's control plane and of all clusters of a run."""
    parser.addoption(
        "--kubernetes",
        default=DEFAULT_KUBERNETES,
        metavar="VERSION",
        help="of the session's control plane (default: %(default)s; docs/versions.md)",
    )
    parser.addoption(
        "--record-api-calls",
        metavar="DIR",
        help="record the API calls of our programs there (`python -m devcluster rights DIR`)",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Pass the option to all clusters of the run, also those of other processes."""
    directory = config.getoption("--record-api-calls")
    if directory:
        os.environ[calls.VARIABLE] = str(Path(directory).resolve())


@pytest.fixture(scope="session")
def control_plane(
    tmp_path_factory: pytest.TempPathFactory, pytestconfig: pytest.Config
) -> Iterator[Cluster]:
    """etcd, kube-apiserver and kube-controller-manager with our RBAC, without nodes.

    It fails at its end if the API server refused our programs a call that no manifest allows.
    """
    directory = tmp_path_factory.mktemp("cluster")
    version = pytestconfig.getoption("--kubernetes")
    options = ClusterOptions(kubernetes=version, record_api_calls=True)
    Cluster.up(directory, options, terminal(pytestconfig))
    cluster = Cluster.attach(directory, _nothing)
    try:
        cluster.apply_roles()
        yield cluster
        found = granted.compare(calls.read(cluster.layout.audit), granted.shipped())
        if found.missing or found.foreign:
            pytest.fail("\n".join(granted.refusals(found)), pytrace=False)
    finally:
        cluster.down()


@pytest.fixture
def clean_cluster(control_plane: Cluster) -> Iterator[Cluster]:
    """The session's cluster, empty before and after the test.

    Tests add what they need with ``add_kwok_nodes``, ``start_default_scheduler`` and
    ``start_shuntyard``; all of it is ended afterwards.
    """
    control_plane.empty()
    yield control_plane
    control_plane.empty()


def _nothing(_line: str) -> None:
    """Report nothing: inside a test, the test reports."""


def terminal(config: pytest.Config) -> Callable[[str], None]:
    """Return a function that prints past the capture, because builds take minutes."""
    capture = config.pluginmanager.getplugin("capturemanager")

    def report(line: str) -> None:
        with capture.global_and_fixture_disabled():
            print(f"\ndevcluster: {line}", end="", flush=True)

    return report
