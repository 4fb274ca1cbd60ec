"""Frameworks that save by themselves: they get what is due, and report what is done."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from shuntyard_trainer import Checkpoints, Environment, MetricsWriter, SaveError, SettingError
from shuntyard_trainer.framework_run import FrameworkRun
from shuntyard_trainer.step_files import StepFiles
from tests.unit.trainer.agent import POD, Agent
from tests.unit.trainer.hand_clock import START, HandClock


def _checkpoints(directory: Path, clock: HandClock) -> Checkpoints:
    return Checkpoints(directory, clock=clock, pod_uid=POD, handle_sigterm=False)


def test_an_order_that_is_concluded_is_answered(tmp_path: Path) -> None:
    agent, checkpoints = Agent(tmp_path), _checkpoints(tmp_path, HandClock())
    agent.ask(hold_deadline=START)
    order = checkpoints.due(7)
    assert order is not None
    assert agent.read("ack-r1.json") is None
    (tmp_path / "checkpoint-7").mkdir()
    checkpoints.conclude(order, tmp_path / "checkpoint-7")
    answer = agent.read("ack-r1.json")
    assert answer is not None
    assert (answer["ok"], answer["step"], answer["path"]) == (True, 7, "checkpoint-7")


def test_an_order_without_a_checkpoint_is_a_failure(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    agent, checkpoints = Agent(tmp_path), _checkpoints(tmp_path, HandClock())
    agent.ask(hold_deadline=START)
    order = checkpoints.due(7)
    assert order is not None
    with caplog.at_level(logging.WARNING):
        checkpoints.conclude(order, tmp_path / "nowhere")
    answer = agent.read("ack-r1.json")
    assert answer is not None
    assert answer["ok"] is False


def test_a_checkpoint_of_the_frameworks_own_is_the_resume_hint(tmp_path: Path) -> None:
    checkpoints = _checkpoints(tmp_path, HandClock())
    (tmp_path / "own.ckpt").write_text("x")
    checkpoints.note_saved(5, tmp_path / "own.ckpt", START)
    resume = _checkpoints(tmp_path, HandClock()).resume
    assert resume is not None
    assert (resume.step, resume.path) == (5, str(tmp_path / "own.ckpt"))


def test_a_checkpoint_of_the_frameworks_own_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(SaveError, match="FileNotFoundError"):
        _checkpoints(tmp_path, HandClock()).note_saved(5, tmp_path / "nowhere", START)


def test_save_now_raises_what_went_wrong(tmp_path: Path) -> None:
    def save(_step: int) -> None:
        raise OSError("no space")

    checkpoints = Checkpoints(tmp_path, save, handle_sigterm=False)
    with pytest.raises(SaveError, match="OSError: no space"):
        checkpoints.save_now(1)


def test_the_newest_files_stay_and_the_one_just_written(tmp_path: Path) -> None:
    files = StepFiles(tmp_path, ".pt", 2)
    for step in (1, 2, 30, 4):
        files.unfinished(step).write_text("x")
        files.finish(step)
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "step-0000000004.pt",
        "step-0000000030.pt",
    ]


def test_directories_are_replaced_and_removed_as_files_are(tmp_path: Path) -> None:
    files = StepFiles(tmp_path, "", 2)
    for step in (1, 2, 3, 3):
        files.unfinished(step).mkdir()
        (files.unfinished(step) / "weights").write_text("x")
        files.finish(step)
    names = sorted(path.name for path in tmp_path.iterdir())
    assert names == ["step-0000000002", "step-0000000003"]


def test_fewer_than_two_cannot_be_kept(tmp_path: Path) -> None:
    with pytest.raises(SettingError, match="keep=1"):
        StepFiles(tmp_path, ".pt", 1)


def test_a_callback_writes_what_is_a_number_under_a_name_that_may_be(tmp_path: Path) -> None:
    here = Environment(tmp_path / "c", tmp_path / "m.jsonl")
    metrics = MetricsWriter(here.metrics_file, clock=HandClock())
    run = FrameworkRun(here, metrics, {"handle_sigterm": False})
    run.write(1, {"val loss@5": 0.5, "1st": 1, "note": "text", "shape": [1, 2], "x" * 120: 2}, 9)
    run.write(2, {"note": "text"}, None)
    assert (tmp_path / "m.jsonl").read_text() == (
        '{"time": 1800000000.0, "step": 1, "val_loss_5": 0.5, "_1st": 1.0, '
        f'"{"x" * 100}": 2.0, "total_steps": 9}}\n'
    )


def test_a_callback_has_no_checkpoints_before_training_begins(tmp_path: Path) -> None:
    run = FrameworkRun(Environment(tmp_path), None, {"handle_sigterm": False})
    assert run.resume_path is None
    with pytest.raises(SettingError, match="not begun"):
        _ = run.checkpoints


def test_the_last_one_that_counts_stays_however_many_follow(tmp_path: Path) -> None:
    files = StepFiles(tmp_path, ".pt", 2)

    def write(step: int) -> Path:
        files.unfinished(step).write_text("x")
        return files.finish(step)

    checkpoints = Checkpoints(tmp_path, write, handle_sigterm=False)
    checkpoints.save_now(1)
    for step in (2, 3, 4):
        write(step)
    names = sorted(path.name for path in tmp_path.glob("step-*"))
    assert names == ["step-0000000001.pt", "step-0000000004.pt"]
