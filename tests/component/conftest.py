"""Component tests run our loops for real: a call that blocks the event loop is a failure."""

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
from blockbuster import blockbuster_ctx

from shared.kube.client import KubeClient
from tests.component.agent_shell import Node
from tests.fakes.extender import FakeExtender, Trust, fake_extender, place
from tests.fakes.kube import FakeKube


@pytest.fixture(autouse=True)
def no_blocking_call() -> Iterator[None]:
    with blockbuster_ctx():
        yield


@pytest.fixture
async def fake() -> AsyncIterator[FakeKube]:
    """An API server with nothing in it; tests that want more make their own."""
    async with FakeKube.running() as server:
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
