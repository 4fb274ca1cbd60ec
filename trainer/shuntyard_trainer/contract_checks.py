"""What a trainer must do, one function for each check, in the order in which they are made.

The rules are those of docs/checkpoint-contract-spec.md. A check gets a ``Run`` and raises
``ContractError`` if a rule is broken.
"""

from __future__ import annotations

import json
import stat
from functools import partial
from pathlib import Path
from typing import Any

from shuntyard_trainer import records
from shuntyard_trainer.clock import Clock
from shuntyard_trainer.contract_copies import begins_no_older_start, yields_to_later_start
from shuntyard_trainer.contract_failures import (
    answers_failure,
    answers_on_term,
    begins_without_checkpoint,
    ignores_second_term,
)
from shuntyard_trainer.contract_flushing import flushes
from shuntyard_trainer.contract_leftovers import (
    removes_done,
    removes_old_files,
    removes_temporary_files,
)
from shuntyard_trainer.contract_run import AFTER_TERM, FIRST, SECOND, Check, Run, expect
from shuntyard_trainer.contract_trainer import ContractError, TrainerUnderTest, checkpoint_path

OPEN_MODE = 0o2070
"""The agent, of the same group, may read and write there, and its files get that group."""
CLOCK_SECONDS = 60.0
"""A time that is further away from now is not one of this run."""


def opens(run: Run) -> None:
    """Check rule 10: the directory, and ``trainer.json``."""
    trainer = run.start(FIRST)
    mode = stat.S_IMODE(run.life.folder.stat().st_mode)
    expect(mode & OPEN_MODE == OPEN_MODE, f"mode of {records.FOLDER} is {mode:o}, expected 2775")
    expect(trainer["pod_uid"] == FIRST, f"pod_uid of trainer.json is not {FIRST}")
    expect(trainer["resumed_step"] is None, "resumed_step is not null in an empty directory")
    expect(abs(trainer["started_at"] - Clock.now()) < CLOCK_SECONDS, "started_at is not now")


def ignores_others(run: Run) -> None:
    """Check rule 1: what is not a new request for this pod is ignored."""
    wrong: dict[str, dict[str, Any]] = {
        "for another pod": {"pod_uid": "another-pod"},
        "of another version": {"version": 2},
        "whose deadline has passed": {"within": -10.0},
        "with an unsafe id": {"id": "../up"},
        "that is a cancel": {"action": "cancel"},
    }
    for number, (what, fields) in enumerate(wrong.items()):
        life, name = run.life, f"ignored-{number}"
        life.request(name, **fields)
        life.never(
            partial(_answer, life, name), run.quiet_seconds, f"a request {what} was answered"
        )


def ignores_malformed(run: Run) -> None:
    """Check the errors of the specification: what is not as the schema has it is ignored."""
    life, name = run.life, "malformed"
    document = life.request(name, action="cancel")
    document = {**document, "action": "checkpoint"}
    for what, text in (
        ("that is not JSON", json.dumps(document)[:-9]),
        ("that is a list", json.dumps([document])),
        ("whose deadline is a text", json.dumps({**document, "deadline": "soon"})),
        ("whose pod_uid is a list", json.dumps({**document, "pod_uid": [life.uid]})),
    ):
        life.put_request(text)
        life.never(
            lambda: next(life.folder.glob(records.ACKS), None),
            run.quiet_seconds,
            f"a request {what} was answered",
        )


def answers(run: Run) -> None:
    """Check rule 3: the checkpoint is complete, ``saved.json`` names it, then the answer comes."""
    ack, run.held = run.ask("answers"), "answers"
    life, saved = run.life, run.life.read(records.SAVED)
    expect(ack["ok"], f"the answer is a failure: {ack['error']}")
    expect(ack["pod_uid"] == FIRST, f"pod_uid of the answer is not {FIRST}")
    if saved is None:
        raise ContractError("there is an answer and no saved.json")
    same = all(saved[key] == ack[key] for key in ("step", "path"))
    expect(same, f"step and path of saved.json ({saved}) are not those of the answer ({ack})")
    times = [
        (life.folder / name).stat().st_mtime_ns for name in (records.SAVED, "ack-answers.json")
    ]
    expect(times[0] <= times[1], "saved.json was written after the answer")
    expect(ack["step"] >= 1, "the step of a checkpoint after a step is at least 1")
    expect(ack["started_at"] <= ack["finished_at"], "started_at is after finished_at")
    path = checkpoint_path(run.directory, ack)
    expect(path is None or path.exists(), f"there is no checkpoint at {path}")
    inside = (
        path is None or not Path(ack["path"]).is_absolute() or run.directory not in path.parents
    )
    expect(inside, "path is absolute although it is inside the checkpoint directory")


def holds(run: Run) -> None:
    """Check rule 4: no step after the answer."""
    _takes_no_step(run, "after its answer")


def answers_again(run: Run) -> None:
    """Check rule 4: a new request during the hold is answered with the same checkpoint."""
    first = run.acked
    try:
        again = run.ask("again")
    except ContractError:
        run.life.request(run.held)
        raise
    run.held = "again"
    same = [again[key] == first[key] for key in ("ok", "step", "path")]
    expect(all(same), f"the answer in the hold ({again}) is not that of before ({first})")


def continues_after_cancel(run: Run) -> None:
    """Check rule 4: a cancel of the same id ends the hold; and rule 1: a pod need not be named."""
    step = run.acked["step"]
    run.life.request(run.held, action="cancel")
    found = run.life.wait_for(lambda: run.released(run.held), run.seconds, "released.json")
    expect(found["why"] == "cancelled", f"why is {found['why']!r}, expected 'cancelled'")
    later = run.ask("continues", pod_uid="")
    expect(later["step"] > step, f"it answers with step {later['step']} after step {step}")


def continues_after_deadline(run: Run) -> None:
    """Check rule 4: the hold ends at ``hold_deadline``, which may change meanwhile."""
    run.life.request("continues", pod_uid="", hold=0.5)
    found = run.life.wait_for(lambda: run.released("continues"), run.seconds, "released.json")
    expect(found["why"] == "deadline", f"why is {found['why']!r}, expected 'deadline'")


def ends_in_hold(run: Run) -> None:
    """Check rule 4: SIGTERM ends the hold at once, with 143 and no other save."""
    run.ask("ends")
    before = run.life.read(records.SAVED)
    run.life.terminate()
    code = run.life.ends(run.seconds, "SIGTERM in the hold")
    expect(code == AFTER_TERM, f"exit code {code} after SIGTERM in the hold, expected {AFTER_TERM}")
    expect(run.life.read(records.SAVED) == before, "it saved again after SIGTERM in the hold")


def resumes(run: Run) -> None:
    """Check rules 7 and 8: another pod resumes, and does not hold for the pod before."""
    step = run.acked["step"]
    trainer = run.start(SECOND)
    found = trainer["resumed_step"]
    expect(found == step, f"resumed_step is {found}, and saved.json had {step}")
    later = run.ask("resumed", hold=0.5)
    expect(later["step"] >= step, f"it answers with step {later['step']}, before step {step}")
    run.life.wait_for(lambda: run.released("resumed"), run.seconds, "released.json")


def saves_on_term(run: Run) -> None:
    """Check rule 5: SIGTERM without a hold saves, and ends with 143."""
    step = run.acked["step"]
    run.ask("progress", hold=0.0)  # a step was made: there is something to save
    run.life.wait_for(lambda: run.released("progress"), run.seconds, "released.json")
    before = run.life.read(records.SAVED)
    run.life.terminate()
    code = run.life.ends(run.seconds, "SIGTERM")
    expect(code == AFTER_TERM, f"exit code {code} after SIGTERM, expected {AFTER_TERM}")
    saved = run.life.read(records.SAVED)
    if saved is None or before is None:
        raise ContractError("there is no saved.json after SIGTERM")
    expect(saved["step"] >= max(step, before["step"]), f"saved.json went back to {saved['step']}")
    run.acked = saved


def holds_again(run: Run) -> None:
    """Check rule 7: killed in a hold and started in the same pod, it holds again."""
    run.start(SECOND)
    run.ask("killed")
    run.life.close()
    trainer = run.start(SECOND)
    found, step = trainer["resumed_step"], run.acked["step"]
    expect(found == step, f"resumed_step is {found} after SIGKILL, and the answer had {step}")
    _takes_no_step(run, "after it was started again")
    run.life.request("killed", action="cancel")
    run.life.wait_for(lambda: run.released("killed"), run.seconds, "released.json: it did not hold")


def survives_kill(run: Run) -> None:
    """Check rule 8: SIGKILL between two steps loses no acknowledged checkpoint."""
    if run.life.process.poll() is not None:
        run.start(SECOND)
    run.life.close()
    saved = run.life.read(records.SAVED)
    if saved is None:
        raise ContractError("saved.json is gone after SIGKILL")
    found = run.start(SECOND)["resumed_step"]
    expect(found == saved["step"], f"resumed_step is {found}, and saved.json has {saved['step']}")


def completes(run: Run) -> None:
    """Check rule 9: at the end ``saved.json``, ``done.json``, exit code 0."""
    run.start(SECOND)
    run.life.request("completes", action="cancel")
    code = run.life.ends(run.end_seconds, "the whole training")
    expect(code == 0, f"exit code {code} at the end of training, expected 0")
    done, saved = run.life.read(records.DONE), run.life.read(records.SAVED)
    if done is None or saved is None:
        raise ContractError("done.json or saved.json is missing at the end of training")
    expect(done["step"] == saved["step"], "done.json and saved.json have different steps")


CHECKS = (
    Check(opens, "rule 10"),
    Check(ignores_others, "rule 1"),
    Check(ignores_malformed, "errors"),
    Check(answers, "rule 3"),
    Check(flushes, "rule 3"),
    Check(holds, "rule 4"),
    Check(answers_again, "rule 4", must=False),
    Check(continues_after_cancel, "rule 4"),
    Check(continues_after_deadline, "rule 4"),
    Check(ends_in_hold, "rule 4"),
    Check(resumes, "rules 7, 8"),
    Check(saves_on_term, "rule 5"),
    Check(ignores_second_term, "rule 5"),
    Check(answers_on_term, "rule 5", must=False),
    Check(answers_failure, "rule 6"),
    Check(holds_again, "rule 7", must=False),
    Check(survives_kill, "rule 8"),
    Check(begins_without_checkpoint, "rule 8"),
    Check(yields_to_later_start, "rule 11"),
    Check(begins_no_older_start, "rule 11"),
    Check(removes_temporary_files, "rule 11"),
    Check(removes_done, "rule 9"),
    Check(removes_old_files, "files", must=False),
    Check(completes, "rule 9"),
)


def _answer(life: TrainerUnderTest, name: str) -> Path | None:
    path = life.folder / records.ack_name(name)
    return path if path.exists() else None


def _takes_no_step(run: Run, when: str) -> None:
    before = _traces(run)
    run.life.never(
        lambda: None if _traces(run) == before else True,
        run.quiet_seconds,
        f"{when} it wrote metrics, a checkpoint or released.json: it does not hold",
    )


def _traces(run: Run) -> tuple[object, ...]:
    """Return what a step or a save would change."""
    metrics = run.life.metrics
    size = metrics.stat().st_size if metrics.exists() else 0
    entries = sorted(path.name for path in run.directory.iterdir())
    files = [run.life.read(name) for name in (records.SAVED, records.RELEASED, records.DONE)]
    return (size, entries, *files)
