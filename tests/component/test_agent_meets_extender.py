"""A real agent and a real extender: the read API shows what a trainer writes."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from shared import api
from shared.kube import paths
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
    async with FakeKube.running() as found:
        found.put(paths.NODES, node("n1"))
        found.put(paths.PODS, member("train-0", "n1"))
        yield found


@pytest.fixture
def place(tmp_path: Path, trust: Trust) -> Node:
    """The agent's node: its volume, and the files of its trust."""
    given = agents_trust.Trust(trust.authority, tmp_path / "token", trust.certificate, trust.key)
    found = Node(tmp_path, given)
    found.volume.mkdir()
    return found


async def _let_in(lent: Yard, at: Node) -> Replica:
    """Mount a token of the agent's pod, and return the listener's address."""
    await asyncio.to_thread(at.trust.token.write_text, lent.token("n1"))
    return Replica(lent.url)


async def _job(lent: Yard) -> api.JobEntry:
    (job,) = (await lent.read("/v1/jobs", api.JobsResponse)).entries
    return job


async def test_a_loss_on_the_volume_is_shown_with_its_job(
    trust: Trust, fake: FakeKube, place: Node
) -> None:
    await place.write(METRICS, point(1, 2.0), point(2, 1.5, total_steps=10))
    async with yard(trust, fake) as lent, lease(fake, IDENTITY):
        async with agent(place, await _let_in(lent, place)):  # type: ignore[arg-type] - its URL is all that is asked for

            async def shown() -> bool:
                job = await _job(lent)
                assert job.progress is not None
                assert (job.progress.metric, job.progress.value) == ("loss", 1.5)
                assert (job.progress.step, job.progress.total_steps) == (2, 10)
                return True

            await eventually(shown)
            seen = await lent.agent("n1")
            assert seen is not None
            assert (seen.complete, seen.stale) == (True, False)
            assert seen.progressing + seen.watching + seen.converged == 1
        assert lent.fake.tokens.reviews == 1


async def test_a_restarted_extender_gets_a_full_report(
    trust: Trust, fake: FakeKube, place: Node
) -> None:
    await place.write(METRICS, point(1, 2.0))
    async with yard(trust, fake) as lent:
        port = lent.running.others[1][1]
        replica = await _let_in(lent, place)
        async with agent(place, replica):  # type: ignore[arg-type] - its URL is all that is asked for
            await eventually(lambda: _has_progress(lent))
            await lent.running.kill()
            async with yard(trust, fake, agents={"listen_port": port}) as again:
                await eventually(lambda: _has_progress(again))
                seen = await again.agent("n1")
                assert seen is not None
                assert seen.complete


async def _has_progress(lent: Yard) -> bool:
    return (await _job(lent)).progress is not None
