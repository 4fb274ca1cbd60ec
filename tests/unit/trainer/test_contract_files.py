"""Version 1 of the contract, byte by byte: other languages read and write these files, too."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from shuntyard_trainer import Checkpoints, SettingError
from tests.unit.trainer.agent import POD, Training
from tests.unit.trainer.hand_clock import START, HandClock


def _text(training: Training, name: str) -> str:
    return (training.agent.folder / name).read_text()


def test_trainer_json(tmp_path: Path) -> None:
    training = Training(tmp_path, rank=0, world_size=1)
    training.checkpoints.begin(0)
    assert _text(training, "trainer.json") == (
        f'{{"version": 1, "pid": {os.getpid()}, "started_at": 1800000000.0, "resumed_step": null, '
        f'"exits_zero_on_term": false, "pod_uid": "{POD}", "rank": 0, "world_size": 1, '
        f'"generation": 0}}\n'
    )


def test_the_files_of_an_answered_request(tmp_path: Path) -> None:
    training = Training(tmp_path)
    training.save_seconds = 0.5
    training.agent.ask("m-1.a_B", hold_deadline=START + 9)
    training.clock.advance(2.0)
    training.checkpoints.step_done(20)
    fields = (
        '"step": 20, "path": "step-20.txt", "bytes": 2, '
        '"started_at": 1800000002.0, "finished_at": 1800000002.5'
    )
    assert _text(training, "saved.json") == f'{{"version": 1, {fields}}}\n'
    assert _text(training, "ack-m-1.a_B.json") == (
        f'{{"version": 1, "id": "m-1.a_B", "pod_uid": "{POD}", "ok": true, {fields}, '
        '"error": ""}\n'
    )
    at = training.agent.read("released.json")
    assert at is not None
    assert _text(training, "released.json") == (
        f'{{"version": 1, "id": "m-1.a_B", "at": {at["at"]!r}, "why": "deadline"}}\n'
    )


def test_the_answer_to_a_request_that_failed(tmp_path: Path) -> None:
    training = Training(tmp_path)
    training.save_seconds, training.fails = 0.5, True
    training.agent.ask()
    training.checkpoints.step_done(20)
    assert _text(training, "ack-r1.json") == (
        f'{{"version": 1, "id": "r1", "pod_uid": "{POD}", "ok": false, "step": 20, "path": "", '
        '"bytes": 0, "started_at": 1800000000.0, "finished_at": 1800000000.5, '
        '"error": "RuntimeError: the disk is full"}\n'
    )
    assert training.agent.read("saved.json") is None


def test_done_json(tmp_path: Path) -> None:
    training = Training(tmp_path)
    training.run(3)
    assert _text(training, "done.json") == (
        '{"version": 1, "step": 3, "finished_at": 1800000003.0}\n'
    )


def test_nothing_temporary_stays(tmp_path: Path) -> None:
    training = Training(tmp_path)
    training.agent.ask(hold_deadline=START + 9)
    training.run(3)
    assert training.agent.names() == [
        "ack-r1.json",
        "done.json",
        "released.json",
        "request.json",
        "saved.json",
        "start-0-1.json",
        "trainer.json",
    ]


def test_the_agents_group_may_write_into_the_directory(tmp_path: Path) -> None:
    before = os.umask(0o077)
    try:
        training = Training(tmp_path / "a" / "b")
    finally:
        os.umask(before)
    assert stat.S_IMODE(training.agent.folder.stat().st_mode) == 0o2775


def test_a_directory_that_is_there_keeps_its_mode(tmp_path: Path) -> None:
    (tmp_path / ".shuntyard").mkdir(mode=0o755)
    training = Training(tmp_path)
    assert stat.S_IMODE(training.agent.folder.stat().st_mode) == 0o755


def test_a_directory_that_cannot_be_made_raises_at_once(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(SettingError, match=r"checkpoint directory .*file"):
        Checkpoints(tmp_path / "file", handle_sigterm=False)


def test_leftovers_of_a_killed_trainer_go_those_of_the_agent_stay(tmp_path: Path) -> None:
    folder = tmp_path / ".shuntyard"
    folder.mkdir()
    (folder / ".saved.json.77.trainer-tmp").write_text('{"ver')
    (folder / ".request.json.agent-tmp").write_text('{"ver')
    assert Training(tmp_path).agent.names() == [".request.json.agent-tmp", "start-0-1.json"]


PLACES = {
    "a file in the checkpoint directory": ("sub/model.bin", "sub/model.bin"),
    "a directory in the checkpoint directory": ("sub", "sub"),
    "a file elsewhere": ("../else/model.bin", None),
}


@pytest.mark.parametrize(("place", "stated"), PLACES.values(), ids=PLACES)
def test_a_path_is_relative_to_the_checkpoint_directory_or_absolute(
    tmp_path: Path, place: str, stated: str | None
) -> None:
    directory = tmp_path / "checkpoints"
    for folder in (directory / "sub", tmp_path / "else"):
        folder.mkdir(parents=True)
        (folder / "model.bin").write_bytes(b"12345")
    checkpoints = Checkpoints(
        directory, lambda _step: directory / place, handle_sigterm=False, clock=HandClock()
    )
    saved = checkpoints.save_now(7)
    assert saved.path == (stated or str((directory / place).resolve()))
    assert saved.bytes == 5


UNMEASURED = {"no path": None, "an address": "s3://bucket/step-7"}


@pytest.mark.parametrize("where", UNMEASURED.values(), ids=UNMEASURED)
def test_where_nothing_can_be_measured_the_size_is_0(tmp_path: Path, where: str | None) -> None:
    checkpoints = Checkpoints(tmp_path, lambda _step: where, handle_sigterm=False)
    saved = checkpoints.save_now(7)
    assert (saved.path, saved.bytes) == (where or "", 0)
    again = Checkpoints(tmp_path, handle_sigterm=False)
    assert again.resume == saved
