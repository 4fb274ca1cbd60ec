"""Request, save, answer, hold, release: the trainer's use of ``request.json``."""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import Any

import pytest

from shuntyard_trainer import Checkpoints, durable
from tests.unit.trainer.agent import POD, Training
from tests.unit.trainer.hand_clock import START, HandClock


@pytest.fixture
def training(tmp_path: Path) -> Training:
    return Training(tmp_path)


def _run_and_be_ended(training: Training, total: int = 10, after_seconds: float = 60.0) -> None:
    training.clock.after(after_seconds, training.checkpoints.terminate)
    with pytest.raises(SystemExit) as end:
        training.run(total)
    assert end.value.code == 143


def test_a_request_is_answered_and_no_step_follows(training: Training) -> None:
    training.clock.after(3.0, training.agent.ask)
    _run_and_be_ended(training)
    assert (training.done, training.saves) == ([0, 1, 2], [3])
    answer = training.agent.read("ack-r1.json")
    assert answer is not None
    assert (answer["ok"], answer["step"], answer["path"]) == (True, 3, "step-3.txt")


def test_sigterm_in_the_hold_saves_nothing_more(training: Training) -> None:
    training.clock.after(3.0, training.agent.ask)
    _run_and_be_ended(training)
    assert training.saves == [3]
    assert training.agent.read("released.json") is None


def test_the_hold_notices_sigterm_within_50_ms(training: Training) -> None:
    training.clock.after(3.0, training.agent.ask)
    _run_and_be_ended(training)
    assert max(training.clock.naps) <= 0.05
    assert training.clock.seconds == pytest.approx(60.0, abs=0.05)


def test_a_cancel_in_the_hold_releases_it(training: Training) -> None:
    training.clock.after(3.0, training.agent.ask)
    training.clock.after(20.0, training.agent.cancel)
    training.run(10)
    assert training.done == list(range(10))
    released = training.agent.read("released.json")
    assert released is not None
    assert (released["id"], released["why"]) == ("r1", "cancelled")
    assert START + 20 <= released["at"] <= START + 21.1


def test_it_continues_by_itself_at_the_hold_deadline(training: Training) -> None:
    training.clock.after(3.0, lambda: training.agent.ask(hold_deadline=START + 30))
    training.run(10)
    released = training.agent.read("released.json")
    assert released is not None
    assert released["why"] == "deadline"
    assert released["at"] == pytest.approx(START + 30, abs=0.05)


def test_a_later_hold_deadline_counts_while_it_holds(training: Training) -> None:
    training.clock.after(3.0, lambda: training.agent.ask(hold_deadline=START + 30))
    training.clock.after(20.0, lambda: training.agent.ask(hold_deadline=START + 40))
    training.run(10)
    released = training.agent.read("released.json")
    assert released is not None
    assert released["at"] == pytest.approx(START + 40, abs=0.05)


def test_an_answered_request_is_not_answered_again(training: Training) -> None:
    training.clock.after(3.0, lambda: training.agent.ask(hold_deadline=START + 5))
    training.run(10)
    assert training.saves == [3, 10]


def test_a_save_that_ends_after_the_deadline_is_still_answered(training: Training) -> None:
    training.save_seconds = 50.0
    ask = {"deadline": START + 10, "hold_deadline": START + 20}
    training.clock.after(3.0, lambda: training.agent.ask(**ask))
    training.run(5)
    answer, released = training.agent.read("ack-r1.json"), training.agent.read("released.json")
    assert answer is not None
    assert released is not None
    assert (answer["ok"], answer["finished_at"] - answer["started_at"]) == (True, 50.0)
    assert (released["why"], training.done) == ("deadline", [0, 1, 2, 3, 4])


def test_a_cancel_during_the_save_is_honoured_after_the_answer(training: Training) -> None:
    training.save_seconds = 50.0
    training.clock.after(3.0, training.agent.ask)
    training.clock.after(30.0, training.agent.cancel)
    training.run(5)
    released = training.agent.read("released.json")
    assert released is not None
    assert (training.done, released["why"]) == ([0, 1, 2, 3, 4], "cancelled")


def test_a_failed_save_is_reported_and_training_continues(
    training: Training, caplog: pytest.LogCaptureFixture
) -> None:
    training.fails = True
    training.clock.after(3.0, training.agent.ask)
    training.clock.after(5.0, lambda: setattr(training, "fails", False))
    with caplog.at_level(logging.WARNING):
        training.run(8)
    answer = training.agent.read("ack-r1.json")
    assert answer is not None
    assert (answer["ok"], answer["step"], answer["path"]) == (False, 3, "")
    assert answer["error"] == "RuntimeError: the disk is full"
    assert training.done == list(range(8))
    assert "step 3 could not be saved" in caplog.text


def test_a_long_error_is_cut_so_that_the_answer_can_be_read(tmp_path: Path) -> None:
    training = Training(tmp_path)

    def save(_step: int) -> None:
        raise ValueError("x" * 100_000)

    checkpoints = Checkpoints(tmp_path, save, handle_sigterm=False, clock=training.clock)
    training.agent.ask(pod_uid="")
    checkpoints.step_done(1)
    answer = training.agent.read("ack-r1.json")
    assert answer is not None
    assert (answer["ok"], len(answer["error"])) == (False, 1000)


def test_a_failed_save_leaves_the_resume_hint_as_it_was(training: Training) -> None:
    training.clock.after(2.0, lambda: training.agent.ask("r1", hold_deadline=START + 3))
    training.clock.after(4.0, lambda: setattr(training, "fails", True))
    training.clock.after(5.0, lambda: training.agent.ask("r2", deadline=START + 90))
    training.clock.after(30.0, training.checkpoints.terminate)
    with pytest.raises(SystemExit):
        training.run(100)
    saved = training.agent.read("saved.json")
    assert saved is not None
    assert saved["step"] == 2


def test_a_save_function_that_names_a_missing_path_has_failed(tmp_path: Path) -> None:
    training = Training(tmp_path)
    training.checkpoints = Checkpoints(
        tmp_path,
        lambda _step: tmp_path / "nowhere",
        handle_sigterm=False,
        clock=training.clock,
        save_at_end=False,
    )
    training.agent.ask(pod_uid="")
    training.run(2)
    answer = training.agent.read("ack-r1.json")
    assert answer is not None
    assert answer["ok"] is False
    assert "FileNotFoundError" in answer["error"]


IGNORED = {
    "its deadline has passed": {"deadline": START - 1},
    "it is for another pod": {"pod_uid": "another"},
    "it is taken back before it was seen": {"action": "cancel"},
    "its id cannot be a file name": {"request": "../r1"},
    "its id is empty": {"request": ""},
    "its id is too long": {"request": "r" * 101},
    "its version is another one": {"version": 2},
    "its action is unknown": {"action": "explode"},
    "its deadline is no number": {"deadline": "soon"},
    "its deadline is NaN": {"deadline": float("nan")},
    "its hold deadline is missing": {"hold_deadline": None},
    "its pod uid is no text": {"pod_uid": 7},
}


@pytest.mark.parametrize("fields", IGNORED.values(), ids=IGNORED)
def test_a_request_is_ignored_if(training: Training, fields: dict[str, object]) -> None:
    training.agent.ask(**fields)
    training.run(3)
    assert (training.done, training.saves) == ([0, 1, 2], [3])
    assert not [name for name in training.agent.names() if name.startswith("ack-")]


TORN = {
    "empty": "",
    "half": '{"version": 1, "id": "r1", "pod_u',
    "not an object": "[1, 2]",
    "nested too deep": "[" * 60_000,
    "too large": json.dumps({"version": 1, "id": "r1", "reason": "x" * 70_000}),
    "not UTF-8": "\ud800",
    "blanks without end": (
        '{"version": 1, "id": "r1", "action": "checkpoint", "deadline": 4e9, "hold_deadline": 1}'
        + " " * 70_000
    ),
}


@pytest.mark.parametrize("text", TORN.values(), ids=TORN)
def test_a_torn_request_is_ignored_with_one_warning_and_the_next_one_counts(
    training: Training, text: str, caplog: pytest.LogCaptureFixture
) -> None:
    training.agent.put("request.json", "")
    path = training.agent.folder / "request.json"
    path.write_bytes(text.encode("utf-8", "surrogatepass"))
    training.clock.after(5.0, lambda: training.agent.ask(hold_deadline=START + 6))
    with caplog.at_level(logging.WARNING):
        training.run(8)
    assert training.saves[0] == 5
    assert caplog.text.count("request.json is ignored") == 1


def test_an_unreadable_answer_is_none(training: Training) -> None:
    training.agent.put("ack-r1.json", '{"version": 1, "i')
    training.agent.ask(hold_deadline=START + 3)
    training.run(2)
    answer = training.agent.read("ack-r1.json")
    assert answer is not None
    assert answer["ok"] is True


@pytest.mark.parametrize("asked", ["", POD], ids=["any pod", "this pod"])
def test_a_pod_without_its_uid_answers(tmp_path: Path, asked: str) -> None:
    training = Training(tmp_path, pod_uid="")
    training.agent.ask(pod_uid=asked, hold_deadline=START + 3)
    training.run(2)
    assert training.saves[0] == 1


def test_another_request_in_the_hold_is_answered_with_the_same_checkpoint(
    training: Training,
) -> None:
    training.clock.after(3.0, training.agent.ask)
    training.clock.after(10.0, lambda: training.agent.ask("r2"))
    training.clock.after(20.0, lambda: training.agent.cancel("r2"))
    training.run(6)
    answer, released = training.agent.read("ack-r2.json"), training.agent.read("released.json")
    assert answer is not None
    assert released is not None
    assert (answer["step"], answer["ok"], released["id"]) == (3, True, "r2")
    assert training.saves == [3, 6]


def test_a_cancel_of_another_request_does_not_release(training: Training) -> None:
    training.clock.after(3.0, training.agent.ask)
    training.clock.after(10.0, lambda: training.agent.cancel("r0"))
    _run_and_be_ended(training)
    assert (training.done, training.agent.read("released.json")) == ([0, 1, 2], None)


def test_the_hold_outlives_the_loss_of_the_request_file(training: Training) -> None:
    training.clock.after(3.0, lambda: training.agent.ask(hold_deadline=START + 30))
    training.clock.after(10.0, (training.agent.folder / "request.json").unlink)
    training.run(5)
    released = training.agent.read("released.json")
    assert released is not None
    assert released["at"] == pytest.approx(START + 30, abs=0.05)


def test_a_request_at_a_saved_step_is_answered_at_once(tmp_path: Path) -> None:
    training = Training(tmp_path, save_at_end=False)
    training.checkpoints.begin(0)
    training.checkpoints.save_now(1)
    training.agent.ask(hold_deadline=START + 3)
    training.checkpoints.step_done(1)
    assert training.saves == [1]
    assert training.agent.read("ack-r1.json") is not None


def test_an_answer_that_cannot_be_written_causes_no_hold_and_no_save_at_every_poll(
    training: Training, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    write = durable.write_record

    def full(path: Path, record: dict[str, object], **more: Any) -> None:
        if path.name.startswith("ack-"):
            raise OSError(28, "No space left on device")
        write(path, record, **more)

    monkeypatch.setattr(durable, "write_record", full)
    training.clock.after(3.0, training.agent.ask)
    with caplog.at_level(logging.WARNING):
        training.run(10)
    assert (training.saves, training.done) == ([3, 10], list(range(10)))
    assert "request r1 could not be answered" in caplog.text


def test_only_the_last_eight_answers_stay(training: Training) -> None:
    for number in range(12):
        training.agent.ask(f"r{number}", hold_deadline=START)
        training.checkpoints.step_done(number + 1)
        training.clock.advance(1.0)
    acks = {name for name in training.agent.names() if name.startswith("ack-")}
    assert acks == {f"ack-r{number}.json" for number in range(4, 12)}


def test_the_file_is_read_once_per_poll_seconds(tmp_path: Path) -> None:
    clock = HandClock()
    training = Training(tmp_path, clock, poll_seconds=10.0, save_at_end=False)
    looks: list[float] = []
    look = training.checkpoints._mailbox.new_request
    training.checkpoints._mailbox.new_request = lambda: (looks.append(clock.seconds), look())[1]
    training.run(35)
    assert looks == [1.0, 11.0, 21.0, 31.0]


def test_without_a_poll_due_a_step_reads_the_monotonic_clock_once(tmp_path: Path) -> None:
    training = Training(tmp_path, save_at_end=False)
    training.checkpoints.step_done(1)
    before = training.clock.reads
    for step in range(2, 102):
        training.checkpoints.step_done(step)
    assert training.clock.reads - before == 100
