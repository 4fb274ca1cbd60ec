"""The agent as a process: probes, files that hang, start and end."""

import asyncio
import threading

import pytest

from shared.errors import SettingsError
from tests.component.agent_shell import (
    METRICS,
    UID,
    Node,
    agent,
    ask,
    at_step,
    beats,
    has_problem,
    point,
    reported,
)
from tests.fakes.eventually import eventually
from tests.fakes.extender import FakeExtender


async def test_probes_and_metrics_show_the_agents_state(node: Node, replica: FakeExtender) -> None:
    replica.refusal = (503, "not yet")
    await node.write(METRICS, point(1, 2.0))
    async with agent(node, replica) as running:
        assert "follow: ok" in await ask(running.url, "livez")
        assert "pods known: not yet" in await ask(running.url, "readyz", 503)
        replica.refusal = None
        await eventually(at_step(replica, 1))
        assert "reported: ok" in await ask(running.url, "readyz")
        text = await ask(running.url, "metrics")
    labels = '{index="",job_name="train",job_namespace="team",role=""}'
    assert f"shuntyard_agent_job_step{labels} 1.0" in text
    assert 'shuntyard_agent_heartbeats_total{outcome="ok"}' in text


async def test_files_that_hang_do_not_keep_the_agent_from_reporting(
    node: Node, replica: FakeExtender, monkeypatch: pytest.MonkeyPatch
) -> None:
    freed = threading.Event()
    async with agent(node, replica, following={"hang_seconds": 0.1}):
        await beats(replica)
        monkeypatch.setattr("agent.tailing.volume.resolve", lambda *_, **__: freed.wait() and ())
        await eventually(has_problem(replica, "pod team/train hangs"))
        await beats(replica)
        freed.set()
        await eventually(reported(replica, UID, lambda r: "hangs" not in r.problem))


async def test_files_that_hang_do_not_keep_the_agent_from_ending(
    node: Node, replica: FakeExtender, monkeypatch: pytest.MonkeyPatch
) -> None:
    freed = threading.Event()
    monkeypatch.setattr("agent.tailing.volume.resolve", lambda *_, **__: freed.wait() and ())
    async with agent(node, replica, following={"hang_seconds": 0.1}):
        await eventually(has_problem(replica, "hangs"))
    freed.set()


async def test_an_agent_waits_for_an_authority_that_is_not_mounted_yet(
    node: Node, replica: FakeExtender, caplog: pytest.LogCaptureFixture
) -> None:
    authority = node.trust.authority
    later = await asyncio.to_thread(authority.read_text)
    await asyncio.to_thread(authority.unlink)
    async with agent(node, replica) as running:
        await eventually(lambda: "does not exist yet: replicas cannot be verified" in caplog.text)
        await ask(running.url, "readyz", 503)
        assert replica.heartbeats == []
        await asyncio.to_thread(authority.write_text, later)
        await beats(replica)


async def test_without_trust_or_name_the_agent_does_not_start(node: Node) -> None:
    await asyncio.to_thread(node.trust.token.unlink)
    with pytest.raises(SettingsError, match="No such file"):
        async with agent(node):
            pass
    with pytest.raises(SettingsError, match="NODE_NAME"):
        async with agent(node, agent={"node": None}):
            pass


async def test_a_loop_that_dies_takes_the_agent_down(
    node: Node, replica: FakeExtender, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(ExceptionGroup):  # noqa: PT012 - what is raised is raised at the end
        async with agent(node, replica) as running:
            await beats(replica)
            monkeypatch.setattr("agent.tracking.tracker.Tracker.turn", lambda *_: 1 / 0)
            await asyncio.wait({running.task}, timeout=60.0)
