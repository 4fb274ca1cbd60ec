"""Bodies between agent and extender."""

import json
from typing import Any

import msgspec
import pytest

from shared import wire
from shared.model import Uid
from shared.progress import Category, Checkpoint, CheckpointPhase, PodReport, Progress, Span, Use

POD: dict[str, Any] = {
    "uid": "u-1",
    "progress": {
        "metric": "loss",
        "source": "jsonl",
        "updated_at": 12.5,
        "step": 7,
        "value": 0.5,
        "category": "watching",
        "curve": [2.0, 0.5],
        "remaining_seconds": {"value": 60, "low": 50, "high": 80},
    },
    "checkpoint": {"phase": "acked", "request": "r-1", "acked_step": 7},
    "use": {"cpu_cores": 0.25, "memory_bytes": 1024},
}
BEAT: dict[str, Any] = {
    "version": 1,
    "node": "n-1",
    "boot": "b",
    "sequence": 1,
    "sent_at": 12.6,
    "full": True,
    "pods": [POD],
}
REPORT = PodReport(
    uid=Uid("u-1"),
    progress=Progress(
        metric="loss",
        source="jsonl",
        updated_at=12.5,
        step=7,
        value=0.5,
        category=Category.WATCHING,
        curve=(2.0, 0.5),
        remaining_seconds=Span(60.0, 50.0, 80.0),
    ),
    checkpoint=Checkpoint(phase=CheckpointPhase.ACKED, request="r-1", acked_step=7),
    use=Use(cpu_cores=0.25, memory_bytes=1024),
)


def read(body: object) -> wire.Heartbeat:
    return wire.decode(wire.Heartbeat, json.dumps(body).encode())


def test_a_pods_report_is_what_decisions_see() -> None:
    assert read(BEAT).pods == (REPORT,)


def test_a_heartbeat_comes_back_as_it_was_sent() -> None:
    assert wire.decode(wire.Heartbeat, wire.encode(read(BEAT))) == read(BEAT)


WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "another version": ({"version": 2}, "version"),
    "no node": ({"node": ""}, "node"),
    "an unknown key": ({"nodes": []}, "nodes"),
    "a sequence that does not begin at 1": ({"sequence": 0}, "sequence"),
    "a time that is no number": ({"sent_at": "NaN"}, "sent_at"),
    "a ratio above 1": (
        {"pods": [{"uid": "u", "use": {"throttled_ratio": 1.5}}]},
        "pods[0].use.throttled_ratio",
    ),
    "a curve that is too long": (
        {"pods": [{"uid": "u", "progress": {**POD["progress"], "curve": [0.0] * 33}}]},
        "pods[0].progress.curve",
    ),
    "an unknown category": (
        {"pods": [{"uid": "u", "progress": {**POD["progress"], "category": "done"}}]},
        "pods[0].progress.category",
    ),
}


@pytest.mark.parametrize(("change", "field"), WRONG.values(), ids=WRONG)
def test_a_wrong_field_is_named(change: dict[str, Any], field: str) -> None:
    with pytest.raises(msgspec.ValidationError) as caught:
        read(BEAT | change)
    assert field in str(caught.value)


def test_commands_differ_by_their_kind() -> None:
    answer = wire.HeartbeatAnswer(
        acting=True,
        commands=(
            wire.CheckpointRequest(id="r", uid="u", deadline=1.0, hold_deadline=2.0),
            wire.CheckpointCancel(id="r", uid="u"),
        ),
    )
    text = wire.encode(answer)
    assert wire.decode(wire.HeartbeatAnswer, text) == answer
    assert [command["kind"] for command in json.loads(text)["commands"]] == ["checkpoint", "cancel"]
