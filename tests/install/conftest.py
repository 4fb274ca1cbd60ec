"""Two real nodes whose containerds have our images, built here from the Dockerfiles."""

from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from devcluster.cluster import Cluster
from devcluster.options import ClusterOptions, RealNodes, Schedulers
from devcluster.programs import assets
from devcluster.real_nodes import conditions, dockerfiles, installation
from tests.install.tags import FIRST, NEXT, SCHEDULER

MEMORY = "6Gi"
TAGS = (FIRST, NEXT, SCHEDULER)


@pytest.fixture(scope="session", autouse=True)
def _a_machine_for_real_nodes_and_images() -> None:
    if reasons := (*conditions.why_not(), *dockerfiles.why_not()):
        pytest.skip(f"nothing can be installed here: {'; '.join(reasons)}")


@pytest.fixture(scope="session")
def archives(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Path]:
    """The images' files, by the names of `installation.IMAGES`."""
    scheduler = assets.ensure(frozenset({"kube-scheduler"}))["kube-scheduler"]
    builder = dockerfiles.builder(print)
    return installation.write_archives(
        tmp_path_factory.mktemp("archives"), builder, scheduler, FIRST
    )


@pytest.fixture(scope="session")
def cluster(
    archives: Mapping[str, Path], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Cluster]:
    """Two real nodes, and the plain scheduler that places what is installed."""
    options = ClusterOptions(real=RealNodes(2, memory=MEMORY), schedulers=Schedulers.DEFAULT)
    cluster = Cluster.up(tmp_path_factory.mktemp("install"), options)
    try:
        for name, archive in archives.items():
            first, *others = (installation.image(name, tag) for tag in TAGS)
            cluster.machines.load(archive, first, *others)
        cluster.layout.volume.mkdir()
        yield cluster
    finally:
        cluster.down()
