"""The agent reports pods to every replica, once, and again on request."""

import asyncio
import itertools
from pathlib import Path

import pytest

from tests.component.agent_shell import (
    METRICS,
    UID,
    Node,
    agent,
    at_step,
    beats,
    point,
)
from tests.fakes.eventually import eventually
from tests.fakes.extender import FakeExtender, Trust, fake_extender, place


async def test_a_pods_metrics_reach_the_extender_first_in_full_then_as_they_change(
    node: Node, replica: FakeExtender
) -> None:
    await node.write(METRICS, point(1, 2.0), point(2, 1.5, total_steps=10))
    async with agent(node, replica):
        await eventually(at_step(replica, 2))
        await node.write(METRICS, point(3, 1.25))
        await eventually(at_step(replica, 3))
    progress = replica.reports()[UID].progress
    assert progress is not None
    assert (progress.metric, progress.source, progress.total_steps) == ("loss", "jsonl", 10)
    assert (progress.first_value, progress.value, progress.points) == (2.0, 1.25, 3)
    assert progress.curve == (2.0, 1.5, 1.25)
    assert [heartbeat.full for heartbeat in replica.heartbeats].count(True) == 1
    assert replica.heartbeats[0].full
    numbers = range(1, len(replica.heartbeats) + 1)
    assert [heartbeat.sequence for heartbeat in replica.heartbeats] == list(numbers)


async def test_unchanged_reports_are_not_sent_again(node: Node, replica: FakeExtender) -> None:
    await node.write(METRICS, point(1, 2.0))
    async with agent(node, replica):
        await eventually(at_step(replica, 1))
        await beats(replica, 2)
        before = len(replica.heartbeats)
        await beats(replica, 3)
    assert [heartbeat.pods for heartbeat in replica.heartbeats[before:]] == [()] * len(
        replica.heartbeats[before:]
    )
    assert replica.unchanged > 0


async def test_a_replica_without_the_node_gets_a_full_report(
    node: Node, replica: FakeExtender
) -> None:
    async with agent(node, replica):
        await beats(replica)
        replica.full_wanted = True
        await eventually(
            lambda: [heartbeat.full for heartbeat in replica.heartbeats].count(True) == 2
        )
        await beats(replica)
    assert [heartbeat.full for heartbeat in replica.heartbeats].count(True) == 2


async def test_a_full_report_comes_now_and_then(node: Node, replica: FakeExtender) -> None:
    async with agent(node, replica, report={"full_every_seconds": 1.0}):
        await eventually(
            lambda: [heartbeat.full for heartbeat in replica.heartbeats].count(True) > 1
        )


async def test_a_replica_that_is_down_delays_reports_to_no_other(
    node: Node, replica: FakeExtender
) -> None:
    async with fake_extender(node.trust) as other, agent(node, other, replica):
        await eventually(lambda: other.heartbeats and replica.heartbeats)
        await other.stop()
        await node.write(METRICS, point(1, 2.0))
        await eventually(at_step(replica, 1))


async def test_events_wait_for_a_replica_that_is_down_and_the_oldest_are_dropped(
    node: Node, replica: FakeExtender
) -> None:
    await node.write(METRICS, point(1, 2.0))
    async with (
        fake_extender(node.trust) as other,
        agent(node, replica, other, report={"events": 3}),
    ):
        other.pods = replica.pods
        await eventually(at_step(other, 1))
        await other.stop()
        for step in itertools.count(2, 2):
            await node.write(METRICS, point(step, float("nan")), point(step + 1, 1.0))
            await eventually(lambda count=step // 2: len(replica.events) == count)
            if step == 10:
                break
        await other.start()
        await eventually(lambda: len(other.events) >= 3)
    kept = [event.detail for event in replica.events][-3:]
    assert [event.detail for event in other.events] == kept
    assert other.heartbeats[-1].dropped == 2
    assert [event.kind for event in replica.events] == ["nan"] * 5


async def test_a_replica_that_comes_back_gets_the_changes_it_missed(
    node: Node, replica: FakeExtender
) -> None:
    await node.write(METRICS, point(1, 2.0))
    async with agent(node, replica):
        await eventually(at_step(replica, 1))
        await replica.stop()
        await node.write(METRICS, point(2, 1.0))
        await replica.start()
        await eventually(at_step(replica, 2))
    assert [heartbeat.full for heartbeat in replica.heartbeats].count(True) == 1


REFUSALS = {
    400: "sequence: Input should be greater than 0",
    401: "the token is not known",
    403: "node n2 is not the node of the token",
    503: "not synced",
}


@pytest.mark.parametrize(("status", "text"), REFUSALS.items(), ids=map(str, REFUSALS))
async def test_a_refusal_is_logged_with_the_replicas_message_and_retried_later(
    node: Node, replica: FakeExtender, caplog: pytest.LogCaptureFixture, status: int, text: str
) -> None:
    async with agent(node, replica):
        await beats(replica, 1)
        replica.refusal = (status, text)
        await eventually(lambda: replica.refused >= 3)
        replica.refusal = None
        await beats(replica, 1)
    refusals = [r for r in caplog.records if r.name == "agent.loops.report" and text in r.message]
    assert [r.levelname for r in refusals] == ["ERROR" if status < 500 else "WARNING"]


async def test_a_renewed_token_is_used_as_soon_as_the_old_one_is_refused(
    node: Node, replica: FakeExtender
) -> None:
    async with agent(node, replica):
        await beats(replica, 1)
        replica.token = "renewed"
        await asyncio.to_thread(node.trust.token.write_text, "renewed")
        await beats(replica, 1)


async def test_a_replica_with_a_foreign_certificate_gets_no_report(
    node: Node, replica: FakeExtender, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    stranger = await asyncio.to_thread(Trust.create, tmp_path / "stranger")
    async with fake_extender(stranger) as foreign, agent(node, foreign, replica):
        await beats(replica)
        await eventually(lambda: "certificate verify failed" in caplog.text)
    assert (foreign.heartbeats, foreign.refused) == ([], 0)


async def test_large_reports_are_compressed_and_small_ones_not(node: Node) -> None:
    pods = [place(f"train-{n}") for n in range(50)]
    async with fake_extender(node.trust, *pods) as replica, agent(node, replica):
        await beats(replica)
    assert replica.packed == [heartbeat.full for heartbeat in replica.heartbeats]
