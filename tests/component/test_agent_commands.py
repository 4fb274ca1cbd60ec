"""Commands of replicas reach the trainer, and the trainer's answers reach the replicas."""

import pytest
from msgspec.structs import replace

from shared.progress import CheckpointPhase, PodReport
from shared.wire import CheckpointCancel, CheckpointRequest
from tests.component.agent_shell import (
    METRICS,
    UID,
    Node,
    TrainerByHand,
    agent,
    ask,
    at_step,
    beats,
    in_phase,
    point,
    reported,
)
from tests.fakes.eventually import eventually
from tests.fakes.extender import FakeExtender, fake_extender, place

FAR = 4e9
"""A deadline."""
ASK = CheckpointRequest(id="m1", uid=UID, deadline=FAR, hold_deadline=FAR, reason="converged")
CANCEL = CheckpointCancel(id="m1", uid=UID)


async def test_a_checkpoint_is_requested_acknowledged_and_cancelled(
    node: Node, replica: FakeExtender
) -> None:
    trainer = TrainerByHand(node.volume)
    await trainer.open()
    replica.commands = [ASK]
    async with agent(node, replica):
        await eventually(in_phase(replica, CheckpointPhase.ASKED))
        request = await trainer.request()
        assert (request["id"], request["pod_uid"], request["action"]) == ("m1", UID, "checkpoint")
        await trainer.say("ack-m1.json", id="m1", pod_uid=UID, ok=True, step=7, path="/c/7")
        await eventually(in_phase(replica, CheckpointPhase.ACKED))
        assert replica.reports()[UID].checkpoint.acked_step == 7
        replica.commands = [CANCEL]
        await eventually(trainer.request)
        await eventually(lambda: _is_cancelled(trainer))
        await trainer.say("released.json", id="m1", at=1.0, why="cancelled")
        await eventually(in_phase(replica, CheckpointPhase.RELEASED))


async def test_members_on_one_node_are_asked_by_one_request_each_in_its_own_directory(
    node: Node,
) -> None:
    """A gang is parked, or changes its workers, by one request to all who save."""
    pods = [place(name, job="train", checkpoint=f"checkpoints/{name}") for name in ("a", "b")]
    for pod in pods:
        await TrainerByHand(node.volume, f"team/train/{pod.checkpoint}").open(pod.uid)
    async with fake_extender(node.trust, *pods) as replica, agent(node, replica):
        replica.commands = [replace(ASK, uid=pod.uid) for pod in pods]
        for pod in pods:
            await eventually(reported(replica, pod.uid, _is_asked))


def _is_asked(report: PodReport) -> bool:
    return report.checkpoint is not None and report.checkpoint.phase is CheckpointPhase.ASKED


async def _is_cancelled(trainer: TrainerByHand) -> bool:
    return (await trainer.request()).get("action") == "cancel"


async def test_an_urgent_report_does_not_wait_for_the_interval(
    node: Node, replica: FakeExtender
) -> None:
    trainer = TrainerByHand(node.volume)
    await trainer.open()
    replica.commands = [ASK]
    async with agent(node, replica, report={"interval_seconds": 60.0}):
        await eventually(in_phase(replica, CheckpointPhase.ASKED))
        await trainer.say("ack-m1.json", id="m1", pod_uid=UID, ok=True, step=7, path="/c/7")
        await eventually(in_phase(replica, CheckpointPhase.ACKED))
        await trainer.say("done.json", step=8, finished_at=2.0)
        await eventually(reported(replica, UID, lambda r: r.checkpoint and r.checkpoint.done))


async def test_only_the_leader_sends_commands(node: Node, replica: FakeExtender) -> None:
    trainer = TrainerByHand(node.volume)
    await trainer.open()
    replica.commands, replica.acting = [ASK], False
    async with agent(node, replica):
        await beats(replica, 5)
        assert await trainer.request() == {}
        replica.acting = True
        await eventually(trainer.request)


async def test_a_command_for_a_pod_of_another_node_is_logged_once_and_ignored(
    node: Node, replica: FakeExtender, caplog: pytest.LogCaptureFixture
) -> None:
    replica.commands = [replace(ASK, uid="uid-elsewhere")]
    async with agent(node, replica):
        await eventually(lambda: "a pod that is not on this node" in caplog.text)
        await beats(replica, 5)
    assert caplog.text.count("a pod that is not on this node") == 1


async def test_a_restarted_agent_resumes_from_the_files(node: Node, replica: FakeExtender) -> None:
    trainer = TrainerByHand(node.volume)
    await trainer.open(resumed_step=3)
    await node.write(METRICS, point(4, 2.0), point(5, 1.0))
    replica.commands = [ASK]
    async with agent(node, replica) as first:
        await eventually(in_phase(replica, CheckpointPhase.ASKED))
        await eventually(at_step(replica, 5))
        await first.kill()
    before = replica.reports()[UID]
    boot = replica.heartbeats[-1].boot
    replica.heartbeats.clear()
    replica.commands = []
    async with agent(node, replica):
        await eventually(in_phase(replica, CheckpointPhase.ASKED))
    assert (replica.heartbeats[0].sequence, replica.heartbeats[0].full) == (1, True)
    assert replica.heartbeats[0].boot != boot
    assert replica.reports()[UID].checkpoint == before.checkpoint
    assert replica.reports()[UID].progress == before.progress


async def test_a_deleted_pod_is_reported_gone_and_forgotten(
    node: Node, replica: FakeExtender
) -> None:
    await node.write(METRICS, point(1, 2.0))
    async with agent(node, replica) as running:
        await eventually(at_step(replica, 1))
        replica.pods = []
        await eventually(lambda: any(UID in one.gone for one in replica.heartbeats))
        text = await ask(running.url, "metrics")
    assert 'job="train"' not in text
    assert replica.reports() == {}
