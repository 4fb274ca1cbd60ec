"""Component tests run our loops for real: a call that blocks the event loop is a failure."""

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
from blockbuster import blockbuster_ctx

from shared.kube import paths
from shared.kube.client import KubeClient
from tests.component import shell
from tests.component.agent_shell import Node
from tests.component.logged import Disk, Logged, MakeLog
from tests.fakes.extender import FakeExtender, Trust, fake_extender, place
from tests.fakes.kube import FakeKube


@pytest.fixture(autouse=True)
def no_blocking_call() -> Iterator[None]:
    with blockbuster_ctx():
        yield


@pytest.fixture(autouse=True)
def quick_lease(monkeypatch: pytest.MonkeyPatch) -> None:
    """A replica acts after its second reading of the Lease: tests need not wait a second for it."""
    monkeypatch.setattr("shared.kube.lease.POLL_SECONDS", 0.05)


@pytest.fixture
async def fake(request: pytest.FixtureRequest) -> AsyncIterator[FakeKube]:
    """An API server with nothing in it; tests with other needs make their own.

    With the mark ``nodes`` it has the nodes that the mark names, and a kube-scheduler leads.
    """
    nodes = request.node.get_closest_marker("nodes")
    async with FakeKube.running() as server:
        if nodes is None:
            yield server
            return
        async with shell.lease(server):
            for name in nodes.args:
                server.put(paths.NODES, shell.node(name))
            yield server


@pytest.fixture
async def client(fake: FakeKube) -> AsyncIterator[KubeClient]:
    async with KubeClient.connect(fake.credentials) as connected:
        yield connected


@pytest.fixture
def node(tmp_path: Path) -> Node:
    found = Node(tmp_path, Trust.create(tmp_path))
    found.volume.mkdir()
    return found


@pytest.fixture
async def replica(node: Node) -> AsyncIterator[FakeExtender]:
    async with fake_extender(node.trust, place("train", checkpoint="")) as fake:
        yield fake


@pytest.fixture
def logged(tmp_path: Path) -> Iterator[MakeLog]:
    """Make a log of which only the disk is fake."""
    made: list[Logged] = []

    def make(segment_bytes: int = 2**20, segments: int = 8, buffer: int = 2**20) -> Logged:
        made.append(Logged(Disk(tmp_path / "log", segment_bytes, segments, buffer)))
        return made[-1]

    yield make
    for log in made:
        log.disk.free.set()
        log.runner.close()
