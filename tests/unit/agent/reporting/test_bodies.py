"""Every report is within the limits of the wire format."""

import math

import pytest
from msgspec.structs import replace

from agent.reporting import bodies
from agent.reporting.outbox import Message, NodeState
from extender.servers.agents.schema import read_heartbeat
from shared import wire
from shared.model import Uid
from shared.progress import (
    Checkpoint,
    CheckpointPhase,
    Goal,
    GpuHealth,
    PodReport,
    Progress,
    Span,
    Use,
)
from shared.wire import Heartbeat

A = Uid("uid-a")
PROGRESS = Progress(
    metric="loss",
    source="jsonl",
    updated_at=5.0,
    goal=Goal.MAX,
    step=3,
    total_steps=9,
    value=0.5,
    first_value=1.0,
    best_value=0.4,
    points=7,
    growth=0.01,
    converged_at=4.0,
    attempt=2,
    curve=(1.0, 0.5),
    remaining_seconds=Span(1.0, 0.5, 2.0),
)
FULL = PodReport(
    uid=A,
    progress=PROGRESS,
    checkpoint=Checkpoint(phase=CheckpointPhase.ACKED, request="m1", acked_step=3, path="/c"),
    use=Use(cpu_cores=1.0, memory_bytes=5),
    problem="p",
)


def sent(*pods: PodReport, state: NodeState | None = None) -> Heartbeat:
    message = Message(4, True, state or NodeState(), pods, (), (), 0)
    body = bodies.heartbeat(message, node="n1", boot="b", sent_at=9.0, dropped=2)
    return read_heartbeat(wire.encode(body))


def test_a_report_arrives_unchanged() -> None:
    assert sent(FULL).pods == (FULL,)


def test_a_heartbeat_has_its_sender_and_the_use_of_the_node() -> None:
    gpus = GpuHealth(devices=8, lost=1, uncorrected_errors=3)
    body = sent(state=NodeState({}, Use(cpu_cores=2.0), 4.0, gpus))
    assert (body.node, body.boot, body.sequence, body.full) == ("n1", "b", 4, True)
    assert (body.sent_at, body.dropped, body.cpu_cores, body.gpus) == (9.0, 2, 4.0, gpus)
    assert body.use is not None
    assert body.use.cpu_cores == 2.0


TEXTS = {
    "too long": "x" * 2000,
    "no Unicode": "file-\udcff",
    "both": "\udcff" * 2000,
}


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_any_text_is_cut_to_the_limits(text: str) -> None:
    pod = PodReport(uid=A, problem=text, checkpoint=Checkpoint(detail=text, path=text))
    (body,) = sent(pod).pods
    assert len(body.problem) <= 1024
    assert body.problem[:4] in {"xxxx", "file", "????"}


def test_a_pod_that_cannot_be_reported_does_not_block_the_others() -> None:
    bad = PodReport(uid=Uid("uid-b"), progress=Progress(metric="", source="s", updated_at=1.0))
    body = sent(bad, FULL)
    assert body.pods[0].problem.startswith("it cannot be reported: ")
    assert body.pods[1] == FULL


def test_a_number_that_is_not_finite_is_lost() -> None:
    pod = replace(FULL, progress=replace(PROGRESS, growth=math.inf, value=math.nan))
    assert sent(pod).pods == (replace(FULL, progress=replace(PROGRESS, growth=None, value=None)),)
