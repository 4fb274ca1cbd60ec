"""Saves in the background: the answer names the saved step, and comes when its bytes are there."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import pytest

from shuntyard_trainer import Pending
from tests.unit.trainer.agent import Training
from tests.unit.trainer.hand_clock import START

WRITE_SECONDS = 2.5


class Background(Training):
    """Copies its state at the boundary, and writes it in the next 2.5 seconds."""

    def __init__(self, directory: Path, **options: Any) -> None:
        super().__init__(directory, **options)
        self.waited: list[int] = []
        self.written: list[int] = []

    def save(self, step: int) -> Any:
        self.saves.append(step)
        self.clock.after(WRITE_SECONDS, lambda: self._write(step))
        path = self.directory / f"step-{step}.txt"
        return Pending(path, lambda: self._wait(step), lambda: step in self.written)

    def _wait(self, step: int) -> None:
        if step not in self.written:
            self.waited.append(step)
        while step not in self.written:
            self.clock.sleep(0.5)
        if self.fails:
            raise OSError("the disk is full")

    def _write(self, step: int) -> None:
        if not self.fails:
            (self.directory / f"step-{step}.txt").write_text(str(step))
        self.written.append(step)

    def file(self, name: str) -> dict[str, Any]:
        found = self.agent.read(name)
        assert found is not None
        return found


def test_a_request_is_answered_when_its_bytes_are_there_and_no_step_is_made(
    tmp_path: Path,
) -> None:
    training = Background(tmp_path)
    training.clock.after(3.0, lambda: training.agent.ask(hold_deadline=START + 30))
    training.clock.after(3.0 + WRITE_SECONDS - 0.1, lambda: _none_yet(training))
    training.clock.after(29.0, lambda: training.done.append(-1))
    training.run(6)
    answer = training.file("ack-r1.json")
    assert (answer["ok"], answer["step"], answer["bytes"]) == (True, 3, 1)
    assert answer["finished_at"] - answer["started_at"] == pytest.approx(WRITE_SECONDS, abs=0.5)
    assert "redone_steps" not in answer
    assert training.done == [0, 1, 2, -1, 3, 4, 5]


def _none_yet(training: Background) -> None:
    assert training.agent.read("ack-r1.json") is None
    assert training.agent.read("saved.json") is None


def test_steps_while_a_requested_checkpoint_is_written_are_counted(tmp_path: Path) -> None:
    training = Background(tmp_path, train_while_saving=True)
    training.clock.after(3.0, lambda: training.agent.ask(hold_deadline=START + 30))
    training.clock.after(29.0, lambda: training.done.append(-1))
    training.run(8)
    answer = training.file("ack-r1.json")
    assert (answer["ok"], answer["step"], answer["redone_steps"]) == (True, 3, 3)
    assert training.done == [0, 1, 2, 3, 4, 5, -1, 6, 7]
    assert training.saves == [3, 8]


def test_training_goes_on_during_a_save_of_its_own(tmp_path: Path) -> None:
    training = Background(tmp_path, save_every_seconds=4.0, save_at_end=False)
    at: list[tuple[int, object]] = []
    training.clock.after(6.0, lambda: at.append((len(training.done), _saved(training))))
    training.run(7)
    assert at == [(6, None)]
    assert training.saves == [4]
    assert training.file("saved.json")["step"] == 4
    assert training.waited == []


def _saved(training: Background) -> object:
    return training.agent.read("saved.json")


def test_a_request_during_a_save_of_its_own_gets_a_checkpoint_of_its_step(tmp_path: Path) -> None:
    training = Background(tmp_path, save_every_seconds=4.0, save_at_end=False)
    training.clock.after(5.0, lambda: training.agent.ask(hold_deadline=START + 30))
    training.run(5)
    assert training.saves == [4, 5]
    assert training.waited == [4, 5]
    assert training.file("ack-r1.json")["step"] == 5
    assert training.file("saved.json")["step"] == 5


@pytest.mark.parametrize("train_while_saving", [False, True])
def test_sigterm_saves_the_steps_since_and_the_request_is_answered(
    tmp_path: Path, train_while_saving: bool
) -> None:
    training = Background(tmp_path, train_while_saving=train_while_saving)
    training.clock.after(3.0, training.agent.ask)
    training.clock.after(4.0, training.checkpoints.terminate)
    with pytest.raises(SystemExit) as end:
        training.run(20)
    assert end.value.code == 143
    assert training.file("ack-r1.json")["step"] == 3
    assert training.file("saved.json")["step"] == len(training.done)
    assert training.saves == ([3, 4] if train_while_saving else [3])


@pytest.mark.parametrize("train_while_saving", [False, True])
def test_a_failure_in_the_background_is_the_answer(
    tmp_path: Path, train_while_saving: bool, caplog: pytest.LogCaptureFixture
) -> None:
    training = Background(tmp_path, train_while_saving=train_while_saving, save_at_end=False)
    training.fails = True
    training.clock.after(3.0, training.agent.ask)
    with caplog.at_level(logging.WARNING):
        training.run(9)
    answer = training.file("ack-r1.json")
    assert (answer["ok"], answer["error"]) == (False, "OSError: the disk is full")
    assert training.agent.read("saved.json") is None
    assert training.done == list(range(9))


def test_the_end_waits_for_what_is_still_written(tmp_path: Path) -> None:
    training = Background(tmp_path, save_every_seconds=4.0)
    training.run(5)
    assert training.saves == [4, 5]
    assert training.written == [4, 5]
    assert training.file("done.json")["step"] == training.file("saved.json")["step"] == 5
