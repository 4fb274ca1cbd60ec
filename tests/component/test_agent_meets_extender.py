"""A real agent and a real extender: the read API shows what a trainer writes."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from shared.kube import paths
from shared.readapi import api
from tests.component.agent_shell import Node, agent, point
from tests.component.agents import Trust, Yard, member, yard
from tests.component.shell import IDENTITY, lease, node
from tests.fakes import extender as agents_trust
from tests.fakes.eventually import eventually
from tests.fakes.kube import FakeKube

METRICS = "default/train/metrics/train-0.jsonl"


@dataclass(frozen=True)
class Replica:
    """Where an extender listens for agents."""

    url: str


@pytest.fixture(scope="module")
def trust(tmp_path_factory: pytest.TempPathFactory) -> Trust:
    return Trust.create(tmp_path_factory.mktemp("pki"))


@pytest.fixture
async def fake() -> AsyncIterator[FakeKube]:
    async with FakeKube.running() as server:
        server.put(paths.NODES, node("n1"))
        server.put(paths.PODS, member("train-0", "n1"))
        yield server


@pytest.fixture
def place(tmp_path: Path, trust: Trust) -> Node:
    """The agent's node: its volume, and the files of its trust."""
    given = agents_trust.Trust(trust.authority, tmp_path / "token", trust.certificate, trust.key)
    made = Node(tmp_path, given)
    made.volume.mkdir()
    return made


async def _let_in(cluster: Yard, at: Node) -> Replica:
    """Mount a token of the agent's pod, and return the listener's address."""
    await asyncio.to_thread(at.trust.token.write_text, cluster.token("n1"))
    return Replica(cluster.url)


async def _job(cluster: Yard) -> api.JobEntry:
    (job,) = (await cluster.read("/v1/jobs", api.JobsResponse)).entries
    return job


async def test_a_loss_on_the_volume_is_shown_with_its_job(
    trust: Trust, fake: FakeKube, place: Node
) -> None:
    await place.write(METRICS, point(1, 2.0), point(2, 1.5, total_steps=10))
    async with yard(trust, fake) as cluster, lease(fake, IDENTITY):
        async with agent(place, await _let_in(cluster, place)):  # type: ignore[arg-type] - only its URL is used

            async def shown() -> bool:
                job = await _job(cluster)
                assert job.progress is not None
                assert (job.progress.metric, job.progress.value) == ("loss", 1.5)
                assert (job.progress.step, job.progress.total_steps) == (2, 10)
                return True

            await eventually(shown)
            entry = await cluster.agent("n1")
            assert entry is not None
            assert (entry.complete, entry.stale) == (True, False)
            assert entry.progressing + entry.watching + entry.converged == 1
        assert cluster.fake.tokens.reviews == 1


async def test_a_restarted_extender_gets_a_full_report(
    trust: Trust, fake: FakeKube, place: Node
) -> None:
    await place.write(METRICS, point(1, 2.0))
    async with yard(trust, fake) as cluster:
        port = cluster.running.others[1][1]
        replica = await _let_in(cluster, place)
        async with agent(place, replica):  # type: ignore[arg-type] - only its URL is used
            await eventually(lambda: _has_progress(cluster))
            await cluster.running.kill()
            async with yard(trust, fake, agents={"listen_port": port}) as again:
                await eventually(lambda: _has_progress(again))
                entry = await again.agent("n1")
                assert entry is not None
                assert entry.complete


async def _has_progress(cluster: Yard) -> bool:
    return (await _job(cluster)).progress is not None
