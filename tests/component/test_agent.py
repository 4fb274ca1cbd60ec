"""The whole agent: from files on the volume to what every replica knows, and back."""

import asyncio
import itertools
import os
import threading
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from shared.errors import SettingsError
from shared.progress import CheckpointPhase
from shared.wire import CheckpointCancel, CheckpointRequest
from tests.component.agent_shell import Node, TrainerByHand, agent, point, told
from tests.fakes.eventually import eventually
from tests.fakes.extender import FakeExtender, Trust, fake_extender, place

UID = "uid-train"
METRICS = "team/train/metrics/train.jsonl"
FAR = 4e9
"""A deadline."""
ASK = CheckpointRequest(id="m1", uid=UID, deadline=FAR, hold_deadline=FAR, reason="converged")
CANCEL = CheckpointCancel(id="m1", uid=UID)


@pytest.fixture
def node(tmp_path: Path) -> Node:
    found = Node(tmp_path, Trust.create(tmp_path))
    found.volume.mkdir()
    return found


@pytest.fixture
async def replica(node: Node) -> AsyncIterator[FakeExtender]:
    async with fake_extender(node.trust, place("train", checkpoint="")) as fake:
        yield fake


def at_step(replica: FakeExtender, step: int) -> Any:
    return told(replica, UID, lambda r: r.progress and r.progress.step == step)


def in_phase(replica: FakeExtender, phase: CheckpointPhase) -> Any:
    return told(replica, UID, lambda r: r.checkpoint and r.checkpoint.phase is phase)


def has_problem(replica: FakeExtender, text: str, uid: str = UID) -> Any:
    return told(replica, uid, lambda r: text in r.problem)


async def beats(replica: FakeExtender, more: int = 3) -> None:
    """Wait until the replica has taken more heartbeats."""
    wanted = len(replica.heartbeats) + more
    await eventually(lambda: len(replica.heartbeats) >= wanted)


async def ask(url: str, path: str, status: int = 200) -> str:
    """Return what the agent's own listener answers."""
    async with aiohttp.ClientSession() as session, session.get(f"{url}/{path}") as response:
        assert response.status == status
        return await response.text()


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
    assert [one.full for one in replica.heartbeats].count(True) == 1
    assert replica.heartbeats[0].full
    numbers = range(1, len(replica.heartbeats) + 1)
    assert [one.sequence for one in replica.heartbeats] == list(numbers)


async def test_what_did_not_change_is_not_told_again(node: Node, replica: FakeExtender) -> None:
    await node.write(METRICS, point(1, 2.0))
    async with agent(node, replica):
        await eventually(at_step(replica, 1))
        await beats(replica, 2)
        before = len(replica.heartbeats)
        await beats(replica, 3)
    assert [one.pods for one in replica.heartbeats[before:]] == [()] * len(
        replica.heartbeats[before:]
    )
    assert replica.unchanged > 0


async def test_a_replica_that_does_not_know_the_node_gets_everything(
    node: Node, replica: FakeExtender
) -> None:
    async with agent(node, replica):
        await beats(replica)
        replica.full_wanted = True
        await eventually(lambda: [one.full for one in replica.heartbeats].count(True) == 2)
        await beats(replica)
    assert [one.full for one in replica.heartbeats].count(True) == 2


async def test_a_full_report_comes_now_and_then(node: Node, replica: FakeExtender) -> None:
    async with agent(node, replica, report={"full_every_seconds": 1.0}):
        await eventually(lambda: [one.full for one in replica.heartbeats].count(True) > 1)


async def test_every_replica_is_told_and_one_that_is_away_holds_up_no_other(
    node: Node, replica: FakeExtender
) -> None:
    async with fake_extender(node.trust) as other, agent(node, other, replica):
        await eventually(lambda: other.heartbeats and replica.heartbeats)
        await other.stop()
        await node.write(METRICS, point(1, 2.0))
        await eventually(at_step(replica, 1))


async def test_events_wait_for_a_replica_that_is_away_and_the_oldest_are_dropped(
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


async def test_a_replica_that_comes_back_is_told_what_changed_meanwhile(
    node: Node, replica: FakeExtender
) -> None:
    await node.write(METRICS, point(1, 2.0))
    async with agent(node, replica):
        await eventually(at_step(replica, 1))
        await replica.stop()
        await node.write(METRICS, point(2, 1.0))
        await replica.start()
        await eventually(at_step(replica, 2))
    assert [one.full for one in replica.heartbeats].count(True) == 1


REFUSALS = {
    400: "sequence: Input should be greater than 0",
    401: "the token is not known",
    403: "node n2 is not the node of the token",
    503: "not synced",
}


@pytest.mark.parametrize(("status", "text"), REFUSALS.items(), ids=map(str, REFUSALS))
async def test_a_refusal_is_logged_with_the_replicas_words_and_tried_again_later(
    node: Node, replica: FakeExtender, caplog: pytest.LogCaptureFixture, status: int, text: str
) -> None:
    async with agent(node, replica):
        await beats(replica, 1)
        replica.refusal = (status, text)
        await eventually(lambda: replica.refused >= 3)
        replica.refusal = None
        await beats(replica, 1)
    said = [r for r in caplog.records if r.name == "agent.loops.report" and text in r.message]
    assert [r.levelname for r in said] == ["ERROR" if status < 500 else "WARNING"]


async def test_a_renewed_token_is_used_as_soon_as_the_old_one_is_refused(
    node: Node, replica: FakeExtender
) -> None:
    async with agent(node, replica):
        await beats(replica, 1)
        replica.token = "renewed"
        await asyncio.to_thread(node.trust.token.write_text, "renewed")
        await beats(replica, 1)


async def test_a_replica_that_our_authority_did_not_sign_is_told_nothing(
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
    assert replica.packed == [one.full for one in replica.heartbeats]


async def test_a_checkpoint_is_asked_for_acknowledged_and_cancelled(
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


async def _is_cancelled(trainer: TrainerByHand) -> bool:
    return (await trainer.request()).get("action") == "cancel"


async def test_what_matters_does_not_wait_for_the_interval(
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
        await eventually(told(replica, UID, lambda r: r.checkpoint and r.checkpoint.done))


async def test_only_the_acting_replica_commands(node: Node, replica: FakeExtender) -> None:
    trainer = TrainerByHand(node.volume)
    await trainer.open()
    replica.commands, replica.acting = [ASK], False
    async with agent(node, replica):
        await beats(replica, 5)
        assert await trainer.request() == {}
        replica.acting = True
        await eventually(trainer.request)


async def test_a_command_for_a_pod_that_is_not_here_is_logged_once_and_ignored(
    node: Node, replica: FakeExtender, caplog: pytest.LogCaptureFixture
) -> None:
    replica.commands = [ASK.model_copy(update={"uid": "uid-elsewhere"})]
    async with agent(node, replica):
        await eventually(lambda: "a pod that is not here" in caplog.text)
        await beats(replica, 5)
    assert caplog.text.count("a pod that is not here") == 1


async def test_an_agent_that_starts_anew_finds_everything_in_the_files(
    node: Node, replica: FakeExtender
) -> None:
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


async def test_a_pod_that_goes_is_told_of_and_forgotten(node: Node, replica: FakeExtender) -> None:
    await node.write(METRICS, point(1, 2.0))
    async with agent(node, replica) as running:
        await eventually(at_step(replica, 1))
        replica.pods = []
        await eventually(lambda: UID in replica.heartbeats[-1].gone)
        text = await ask(running.url, "metrics")
    assert 'job="train"' not in text
    assert replica.reports() == {}


ANNOTATIONS = {
    "an unknown key": ("color=red", "annotation shuntyard.io/metrics"),
    "a path that leads out": ("path=../other/x.jsonl", "annotation shuntyard.io/metrics, path"),
    "a container that is a path": ("path=log; container=../x", "the name of a container"),
    "a pattern that does not compile": ("regex=(?P<value>", "annotation shuntyard.io/metrics"),
    "a binary format in a log": ("path=log; format=tfevents", "a format of lines"),
    "no such file": ("path=x.jsonl", "there is no file team/train/x.jsonl on the volume yet"),
}


@pytest.mark.parametrize(("annotation", "text"), ANNOTATIONS.values(), ids=ANNOTATIONS)
async def test_a_bad_annotation_is_a_problem_of_its_pod_alone(
    node: Node, annotation: str, text: str
) -> None:
    await node.write(METRICS, point(1, 2.0))
    await asyncio.to_thread((node.pod_logs / "team_bad_uid-bad" / "main").mkdir, parents=True)
    bad = place("bad", job="train", metrics=annotation, checkpoint="/etc")
    async with fake_extender(node.trust, bad, place("train")) as replica, agent(node, replica):
        await eventually(has_problem(replica, text, "uid-bad"))
        await eventually(at_step(replica, 1))
    said = replica.reports()["uid-bad"].checkpoint
    assert said is not None
    assert (said.problem, "annotation shuntyard.io/checkpoint" in said.detail) == (
        "Misconfigured",
        True,
    )


async def test_a_volume_that_is_missing_is_said_and_found_when_it_comes(
    node: Node, replica: FakeExtender
) -> None:
    await asyncio.to_thread(node.volume.rmdir)
    async with agent(node, replica):
        await eventually(
            told(
                replica,
                UID,
                lambda r: r.checkpoint and r.checkpoint.problem == "CheckpointUnreachable",
            )
        )
        await TrainerByHand(node.volume).open()
        await node.write(METRICS, point(1, 2.0))
        await eventually(told(replica, UID, lambda r: r.checkpoint and r.checkpoint.problem == ""))
        await eventually(at_step(replica, 1))


async def test_a_link_out_of_the_volume_is_refused(node: Node, replica: FakeExtender) -> None:
    secret = node.directory / "secret.jsonl"
    await asyncio.to_thread(secret.write_text, '{"step": 1, "loss": 42.0}\n')
    link = node.volume / METRICS
    await asyncio.to_thread(link.parent.mkdir, parents=True)
    await asyncio.to_thread(link.symlink_to, secret)
    async with agent(node, replica):
        await eventually(has_problem(replica, "links are not followed"))
    assert replica.reports()[UID].progress is None


async def test_a_log_that_is_cut_is_an_event_and_goes_on(node: Node, replica: FakeExtender) -> None:
    file = await node.write(METRICS, *(point(n, 2.0 / n) for n in range(1, 6)))
    async with agent(node, replica):
        await eventually(at_step(replica, 5))
        await asyncio.to_thread(os.truncate, file, 0)
        await node.write(METRICS, point(1, 3.0), point(2, 2.5))
        await eventually(at_step(replica, 2))
        await eventually(
            lambda: {event.kind for event in replica.events} == {"truncated", "restart"}
        )
    progress = replica.reports()[UID].progress
    assert progress is not None
    assert (progress.attempt, progress.value) == (2, 2.5)


async def test_a_containers_log_is_read_where_there_is_no_file(
    node: Node, replica: FakeExtender
) -> None:
    log = node.pod_logs / f"team_train_{UID}" / "main" / "0.log"
    lines = [f"2026-01-01T00:00:0{n}.1Z stdout F {point(n, 1.0 / n)}" for n in range(1, 5)]
    text = "\n".join(lines).replace("'", '"') + "\n"
    await asyncio.to_thread(log.parent.mkdir, parents=True)
    await asyncio.to_thread(log.write_text, text)
    async with agent(node, replica):
        await eventually(at_step(replica, 4))
        assert replica.reports()[UID].progress.source == "jsonl"
        await node.write(METRICS, point(100, 0.5))
        await eventually(at_step(replica, 100))


async def test_a_run_that_converges_is_told_at_once(node: Node, replica: FakeExtender) -> None:
    now = time.time()  # noqa: TID251 - the trainer's clock
    past = [{"time": now - 300 + n, "step": n, "loss": 1 + 0.9**n} for n in range(1, 301)]
    convergence = {"interval_seconds": 10.0}
    await node.write(METRICS, *past[:20])
    async with agent(node, replica, report={"interval_seconds": 60.0}, convergence=convergence):
        await eventually(
            told(replica, UID, lambda r: r.progress and r.progress.category == "progressing")
        )
        await node.write(METRICS, *past[20:])
        await eventually(
            told(replica, UID, lambda r: r.progress and r.progress.category == "converged")
        )
    assert [event.detail for event in replica.events if event.kind == "category"][-1] == "converged"


async def test_probes_and_metrics_say_how_it_is(node: Node, replica: FakeExtender) -> None:
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
        await eventually(told(replica, UID, lambda r: "hangs" not in r.problem))


async def test_files_that_hang_do_not_keep_the_agent_from_ending(
    node: Node, replica: FakeExtender, monkeypatch: pytest.MonkeyPatch
) -> None:
    freed = threading.Event()
    monkeypatch.setattr("agent.tailing.volume.resolve", lambda *_, **__: freed.wait() and ())
    async with agent(node, replica, following={"hang_seconds": 0.1}):
        await eventually(has_problem(replica, "hangs"))
    freed.set()


async def test_an_agent_that_is_there_before_its_authority_waits_for_it(
    node: Node, replica: FakeExtender, caplog: pytest.LogCaptureFixture
) -> None:
    authority = node.trust.authority
    later = await asyncio.to_thread(authority.read_text)
    await asyncio.to_thread(authority.unlink)
    async with agent(node, replica) as running:
        await eventually(lambda: "is not there yet: nobody is trusted" in caplog.text)
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
