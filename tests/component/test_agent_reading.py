"""What the agent reads on the volume and in pods' logs, valid or not."""

import asyncio
import os
import time

import pytest

from tests.component.agent_shell import (
    METRICS,
    UID,
    Node,
    TrainerByHand,
    agent,
    at_step,
    has_problem,
    point,
    reported,
)
from tests.fakes.eventually import eventually
from tests.fakes.extender import FakeExtender, fake_extender, place

ANNOTATIONS = {
    "an unknown key": ("color=red", "annotation shuntyard.io/metrics"),
    "a path that leads out": ("path=../other/x.jsonl", "annotation shuntyard.io/metrics, path"),
    "a container that is a path": ("path=log; container=../x", "the name of a container"),
    "a pattern that does not compile": ("regex=(?P<value>", "annotation shuntyard.io/metrics"),
    "a binary format in a log": ("path=log; format=tfevents", "a format of lines"),
    "no such file": ("path=x.jsonl", "there is no file team/train/x.jsonl on the volume yet"),
}


@pytest.mark.parametrize(("annotation", "text"), ANNOTATIONS.values(), ids=ANNOTATIONS)
async def test_a_bad_annotation_is_reported_for_its_pod_only(
    node: Node, annotation: str, text: str
) -> None:
    await node.write(METRICS, point(1, 2.0))
    await asyncio.to_thread((node.pod_logs / "team_bad_uid-bad" / "main").mkdir, parents=True)
    bad = place("bad", job="train", metrics=annotation, checkpoint="/etc")
    async with fake_extender(node.trust, bad, place("train")) as replica, agent(node, replica):
        await eventually(has_problem(replica, text, "uid-bad"))
        await eventually(at_step(replica, 1))
    checkpoint = replica.reports()["uid-bad"].checkpoint
    assert checkpoint is not None
    assert (checkpoint.problem, "annotation shuntyard.io/checkpoint" in checkpoint.detail) == (
        "Misconfigured",
        True,
    )


async def test_a_missing_volume_is_reported_and_found_later(
    node: Node, replica: FakeExtender
) -> None:
    await asyncio.to_thread(node.volume.rmdir)
    async with agent(node, replica):
        await eventually(
            reported(
                replica,
                UID,
                lambda r: r.checkpoint and r.checkpoint.problem == "CheckpointUnreachable",
            )
        )
        await TrainerByHand(node.volume).open()
        await node.write(METRICS, point(1, 2.0))
        await eventually(
            reported(replica, UID, lambda r: r.checkpoint and r.checkpoint.problem == "")
        )
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


async def test_a_truncated_log_is_an_event_and_is_read_on(
    node: Node, replica: FakeExtender
) -> None:
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


async def test_a_run_that_converges_is_reported_at_once(node: Node, replica: FakeExtender) -> None:
    now = time.time()  # noqa: TID251 - the trainer's clock
    past = [{"time": now - 300 + n, "step": n, "loss": 1 + 0.9**n} for n in range(1, 301)]
    convergence = {"rule": "specon", "interval_seconds": 10.0}
    await node.write(METRICS, *past[:20])
    async with agent(node, replica, report={"interval_seconds": 60.0}, convergence=convergence):
        await eventually(
            reported(replica, UID, lambda r: r.progress and r.progress.category == "progressing")
        )
        await node.write(METRICS, *past[20:])
        await eventually(
            reported(replica, UID, lambda r: r.progress and r.progress.category == "converged")
        )
    assert [event.detail for event in replica.events if event.kind == "category"][-1] == "converged"
