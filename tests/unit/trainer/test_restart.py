"""A restarted trainer continues at its last save."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from tests.unit.trainer.agent import Training
from tests.unit.trainer.hand_clock import START, HandClock


def _ended_in_the_hold(directory: Path, at_step: int = 3) -> Training:
    """A first run that was requested to save, answered and ended."""
    training = Training(directory)
    training.clock.after(float(at_step), training.agent.ask)
    training.clock.after(60.0, training.checkpoints.terminate)
    with pytest.raises(SystemExit):
        training.run(10)
    return training


def _later(seconds: float = 100.0) -> HandClock:
    clock = HandClock()
    clock.seconds = seconds
    return clock


def test_training_resumes_at_the_saved_step_and_repeats_none(tmp_path: Path) -> None:
    first = _ended_in_the_hold(tmp_path)
    second = Training(tmp_path, _later(), pod_uid="another pod")
    second.run(10)
    assert first.done + second.done == list(range(10))
    trainer = second.agent.read("trainer.json")
    assert trainer is not None
    assert (trainer["resumed_step"], trainer["pod_uid"]) == (3, "another pod")


def test_the_resume_hint_is_ready_to_be_opened_wherever_the_volume_lies(tmp_path: Path) -> None:
    _ended_in_the_hold(tmp_path / "here")
    (tmp_path / "here").rename(tmp_path / "there")
    resume = Training(tmp_path / "there", _later(), pod_uid="another pod").checkpoints.resume
    assert resume is not None
    assert Path(resume.path) == tmp_path / "there" / "step-3.txt"
    assert Path(resume.path).read_text() == "3"


def test_sigterm_without_a_request_saves_first(tmp_path: Path) -> None:
    training = Training(tmp_path)
    training.clock.after(4.0, training.checkpoints.terminate)
    with pytest.raises(SystemExit) as end:
        training.run(10)
    saved = training.agent.read("saved.json")
    assert saved is not None
    assert (end.value.code, training.done, saved["step"]) == (143, [0, 1, 2, 3], 4)


def test_sigterm_answers_an_unread_request_too(tmp_path: Path) -> None:
    training = Training(tmp_path, poll_seconds=1000.0)
    training.clock.after(3.0, training.agent.ask)
    training.clock.after(4.0, training.checkpoints.terminate)
    with pytest.raises(SystemExit):
        training.run(10)
    answer = training.agent.read("ack-r1.json")
    assert answer is not None
    assert (answer["ok"], answer["step"]) == (True, 4)


def test_sigterm_ends_the_program_even_if_the_save_fails(tmp_path: Path) -> None:
    training = Training(tmp_path)
    training.fails = True
    training.clock.after(4.0, training.checkpoints.terminate)
    with pytest.raises(SystemExit) as end:
        training.run(10)
    assert (end.value.code, training.agent.read("saved.json")) == (143, None)


def test_sigterm_before_the_first_step_saves_nothing(tmp_path: Path) -> None:
    training = Training(tmp_path)
    training.checkpoints.terminate()
    with pytest.raises(SystemExit) as end:
        training.run(10)
    assert (end.value.code, training.done, training.saves) == (143, [], [])


def test_a_container_that_restarts_in_the_hold_keeps_it(tmp_path: Path) -> None:
    _ended_in_the_hold(tmp_path)
    second = Training(tmp_path, _later())
    second.clock.after(50.0, second.checkpoints.terminate)
    with pytest.raises(SystemExit):
        second.run(10)
    assert (second.done, second.saves) == ([], [])
    assert second.clock.seconds == pytest.approx(150.0, abs=0.05)


def test_a_kept_hold_ends_with_a_cancel(tmp_path: Path) -> None:
    first = _ended_in_the_hold(tmp_path)
    second = Training(tmp_path, _later())
    second.clock.after(5.0, second.agent.cancel)
    second.run(10)
    assert first.done + second.done == list(range(10))
    released = second.agent.read("released.json")
    assert released is not None
    assert released["why"] == "cancelled"


def test_a_kept_hold_ends_with_another_request_which_the_next_boundary_answers(
    tmp_path: Path,
) -> None:
    _ended_in_the_hold(tmp_path)
    second = Training(tmp_path, _later())
    second.clock.after(5.0, lambda: second.agent.ask("r2", hold_deadline=START + 110))
    second.run(10)
    answer = second.agent.read("ack-r2.json")
    assert answer is not None
    assert (answer["step"], answer["ok"]) == (4, True)


NOT_KEPT = {
    "the request was for any pod": {"pod_uid": ""},
    "the request was for another pod": {"pod_uid": "another"},
    "the request was taken back": {"action": "cancel"},
    "its hold deadline has passed": {"hold_deadline": START + 1},
    "another request came, which wants a new answer": {"request": "r2", "hold_deadline": START},
}


@pytest.mark.parametrize("fields", NOT_KEPT.values(), ids=NOT_KEPT)
def test_a_hold_is_not_kept_if(tmp_path: Path, fields: dict[str, object]) -> None:
    _ended_in_the_hold(tmp_path)
    second = Training(tmp_path, _later())
    second.agent.ask(**fields)
    second.run(10)
    assert second.done == list(range(3, 10))
    assert (second.agent.read("released.json") or {"id": "none"})["id"] != "r1"


def test_a_hold_is_not_kept_after_its_release(tmp_path: Path) -> None:
    first = Training(tmp_path)
    first.clock.after(3.0, lambda: first.agent.ask(hold_deadline=START + 5))
    first.clock.after(7.0, lambda: first.agent.ask(hold_deadline=START + 1000))
    first.clock.after(8.0, first.checkpoints.terminate)
    with pytest.raises(SystemExit):
        first.run(20)
    second = Training(tmp_path, _later())
    second.run(20)
    assert first.done + second.done == list(range(20))
    assert second.clock.seconds < 200.0


def test_a_failed_answer_is_no_hold(tmp_path: Path) -> None:
    first = Training(tmp_path)
    first.fails = True
    first.agent.ask()
    first.checkpoints.step_done(1)
    second = Training(tmp_path, _later())
    second.run(3)
    assert second.done == [0, 1, 2]


def test_completion_is_forgotten_when_a_longer_run_trains_on(tmp_path: Path) -> None:
    Training(tmp_path).run(3)
    second = Training(tmp_path, _later())
    second.checkpoints.begin(3)
    assert second.agent.read("done.json") is not None
    second.checkpoints.step_done(4)
    assert second.agent.read("done.json") is None


def test_a_restart_after_the_end_trains_and_saves_nothing(tmp_path: Path) -> None:
    Training(tmp_path).run(3)
    second = Training(tmp_path, _later())
    second.run(3)
    assert (second.done, second.saves) == ([], [])
    assert second.agent.read("done.json") is not None


def test_the_last_step_is_saved_unless_disabled(tmp_path: Path) -> None:
    saving, not_saving = Training(tmp_path / "a"), Training(tmp_path / "b", save_at_end=False)
    saving.run(3)
    not_saving.run(3)
    assert (saving.saves, not_saving.saves) == ([3], [])


def test_a_step_that_an_earlier_life_saved_is_saved_anew_in_another_run(tmp_path: Path) -> None:
    """A user goes back to step 0 by hand: the old step 3 is not the new one."""
    _ended_in_the_hold(tmp_path)
    second = Training(tmp_path, _later(), pod_uid="another pod")
    second.checkpoints.begin(0)
    for step in (1, 2, 3):
        second.checkpoints.step_done(step)
    second.checkpoints.done(3)
    assert second.saves == [3]


def test_the_contract_is_kept_without_start_step(tmp_path: Path) -> None:
    training = Training(tmp_path)
    training.checkpoints.step_done(1)
    trainer = training.agent.read("trainer.json")
    assert trainer is not None
    assert trainer["resumed_step"] is None


UNUSABLE = {
    "torn": '{"version": 1, "st',
    "another version": '{"version": 2}',
    "a negative step": (
        '{"version": 1, "step": -1, "path": "", "bytes": 0, "started_at": 1, "finished_at": 2}'
    ),
    "a step that is true": (
        '{"version": 1, "step": true, "path": "", "bytes": 0, "started_at": 1, "finished_at": 2}'
    ),
    "a checkpoint that is not there": (
        '{"version": 1, "step": 3, "path": "gone", "bytes": 0, "started_at": 1, "finished_at": 2}'
    ),
}


@pytest.mark.parametrize("text", UNUSABLE.values(), ids=UNUSABLE)
def test_an_unusable_resume_hint_is_logged_and_training_starts_over(
    tmp_path: Path, text: str, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / ".shuntyard").mkdir()
    (tmp_path / ".shuntyard" / "saved.json").write_text(text)
    with caplog.at_level(logging.WARNING):
        training = Training(tmp_path)
    training.run(2)
    assert training.done == [0, 1]
    assert "saved.json" in caplog.text


def test_it_saves_by_itself_at_an_interval_after_the_last_save(tmp_path: Path) -> None:
    training = Training(tmp_path, save_every_seconds=10.0, save_at_end=False)
    training.clock.after(14.0, lambda: training.agent.ask(hold_deadline=START + 14))
    training.run(30)
    assert training.saves == [10, 14, 24]


def test_a_failed_save_by_itself_is_retried_later(tmp_path: Path) -> None:
    training = Training(tmp_path, save_every_seconds=10.0, save_at_end=False)
    training.fails = True
    training.run(25)
    assert (training.saves, len(training.done)) == ([10, 20], 25)
