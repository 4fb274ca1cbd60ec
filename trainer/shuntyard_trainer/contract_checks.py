"""What a trainer must do, one function for each check, in the order in which they are made.

The rules are those of docs/checkpoint-contract-spec.md. A check gets a ``Run`` and raises
``ContractError`` if a rule is broken.
"""

from __future__ import annotations

import stat
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from shuntyard_trainer import records
from shuntyard_trainer.clock import Clock
from shuntyard_trainer.contract_trainer import ContractError, TrainerUnderTest, checkpoint_path

AFTER_TERM = 143
OPEN_MODE = 0o2070
"""The agent, of the same group, may read and write there, and its files get that group."""
CLOCK_SECONDS = 60.0
"""A time that is further away from now is not one of this run."""
FIRST, SECOND = "contract-pod-1", "contract-pod-2"


@dataclass
class Run:
    """One test of one command.

    Attributes:
        command: Command line of the trainer.
        directory: Its checkpoint directory.
        seconds: A start, a save or an end may take so long.
        quiet_seconds: What must not happen is waited for so long.
        end_seconds: The whole training takes at most so long; 0: that is not tested.
        lives: All processes so far.
        acked: The answer to the last request.
    """

    command: Sequence[str]
    directory: Path
    seconds: float
    quiet_seconds: float
    end_seconds: float
    lives: list[TrainerUnderTest] = field(default_factory=list)
    acked: dict[str, Any] = field(default_factory=dict)

    @property
    def life(self) -> TrainerUnderTest:
        """The process of now."""
        return self.lives[-1]

    def start(self, uid: str) -> dict[str, Any]:
        """Start the trainer, and return its ``trainer.json``."""
        before = self.life.read(records.TRAINER) if self.lives else None
        self.lives.append(TrainerUnderTest(self.command, self.directory, uid))

        def opened() -> dict[str, Any] | None:
            found = self.life.read(records.TRAINER)
            return found if found != before else None

        return self.life.wait_for(opened, self.seconds, "trainer.json of this start")

    def ask(self, name: str, **fields: Any) -> dict[str, Any]:
        """Request a checkpoint, and return the answer."""
        life, ack = self.life, records.ack_name(name)
        life.request(name, within=self.seconds, **fields)
        self.acked = life.wait_for(lambda: life.read(ack), self.seconds, ack)
        return self.acked

    def released(self, name: str) -> dict[str, Any] | None:
        """Return ``released.json`` if it is of this request."""
        found = self.life.read(records.RELEASED)
        return found if found and found["id"] == name else None


def opens(run: Run) -> None:
    """Check rule 10: the directory, and ``trainer.json``."""
    trainer = run.start(FIRST)
    mode = stat.S_IMODE(run.life.folder.stat().st_mode)
    _expect(mode & OPEN_MODE == OPEN_MODE, f"mode of {records.FOLDER} is {mode:o}, expected 2775")
    _expect(trainer["pod_uid"] == FIRST, f"pod_uid of trainer.json is not {FIRST}")
    _expect(trainer["resumed_step"] is None, "resumed_step is not null in an empty directory")
    _expect(abs(trainer["started_at"] - Clock.now()) < CLOCK_SECONDS, "started_at is not now")


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


def answers(run: Run) -> None:
    """Check rule 3: the checkpoint is complete, ``saved.json`` names it, then the answer comes."""
    ack = run.ask("answers")
    life, saved = run.life, run.life.read(records.SAVED)
    _expect(ack["ok"], f"the answer is a failure: {ack['error']}")
    _expect(ack["pod_uid"] == FIRST, f"pod_uid of the answer is not {FIRST}")
    if saved is None:
        raise ContractError("there is an answer and no saved.json")
    same = all(saved[key] == ack[key] for key in ("step", "path"))
    _expect(same, f"step and path of saved.json ({saved}) are not those of the answer ({ack})")
    times = [
        (life.folder / name).stat().st_mtime_ns for name in (records.SAVED, "ack-answers.json")
    ]
    _expect(times[0] <= times[1], "saved.json was written after the answer")
    _expect(ack["step"] >= 1, "the step of a checkpoint after a step is at least 1")
    _expect(ack["started_at"] <= ack["finished_at"], "started_at is after finished_at")
    path = checkpoint_path(run.directory, ack)
    _expect(path is None or path.exists(), f"there is no checkpoint at {path}")
    inside = (
        path is None or not Path(ack["path"]).is_absolute() or run.directory not in path.parents
    )
    _expect(inside, "path is absolute although it is inside the checkpoint directory")


def holds(run: Run) -> None:
    """Check rule 4: no step after the answer."""
    _takes_no_step(run, "after its answer")


def continues_after_cancel(run: Run) -> None:
    """Check rule 4: a cancel of the same id ends the hold."""
    step = run.acked["step"]
    run.life.request("answers", action="cancel")
    found = run.life.wait_for(lambda: run.released("answers"), run.seconds, "released.json")
    _expect(found["why"] == "cancelled", f"why is {found['why']!r}, expected 'cancelled'")
    later = run.ask("continues")
    _expect(later["step"] > step, f"it answers with step {later['step']} after step {step}")


def continues_after_deadline(run: Run) -> None:
    """Check rule 4: the hold ends at ``hold_deadline``, which may change meanwhile."""
    run.life.request("continues", hold=0.5)
    found = run.life.wait_for(lambda: run.released("continues"), run.seconds, "released.json")
    _expect(found["why"] == "deadline", f"why is {found['why']!r}, expected 'deadline'")


def ends_in_hold(run: Run) -> None:
    """Check rule 4: SIGTERM ends the hold at once, with 143 and no other save."""
    run.ask("ends")
    before = run.life.read(records.SAVED)
    run.life.terminate()
    code = run.life.ends(run.seconds, "SIGTERM in the hold")
    _expect(
        code == AFTER_TERM, f"exit code {code} after SIGTERM in the hold, expected {AFTER_TERM}"
    )
    _expect(run.life.read(records.SAVED) == before, "it saved again after SIGTERM in the hold")


def resumes(run: Run) -> None:
    """Check rules 7 and 8: another pod resumes, and does not hold for the pod before."""
    step = run.acked["step"]
    trainer = run.start(SECOND)
    found = trainer["resumed_step"]
    _expect(found == step, f"resumed_step is {found}, and saved.json had {step}")
    later = run.ask("resumed", hold=0.5)
    _expect(later["step"] >= step, f"it answers with step {later['step']}, before step {step}")
    run.life.wait_for(lambda: run.released("resumed"), run.seconds, "released.json")


def saves_on_term(run: Run) -> None:
    """Check rule 5: SIGTERM without a hold saves, and ends with 143."""
    step = run.acked["step"]
    run.ask("progress", hold=0.0)  # a step was made: there is something to save
    run.life.wait_for(lambda: run.released("progress"), run.seconds, "released.json")
    before = run.life.read(records.SAVED)
    run.life.terminate()
    code = run.life.ends(run.seconds, "SIGTERM")
    _expect(code == AFTER_TERM, f"exit code {code} after SIGTERM, expected {AFTER_TERM}")
    saved = run.life.read(records.SAVED)
    if saved is None or before is None:
        raise ContractError("there is no saved.json after SIGTERM")
    _expect(saved["step"] >= max(step, before["step"]), f"saved.json went back to {saved['step']}")
    run.acked = saved


def holds_again(run: Run) -> None:
    """Check rule 7: killed in a hold and started in the same pod, it holds again."""
    run.start(SECOND)
    run.ask("killed")
    run.life.close()
    trainer = run.start(SECOND)
    found, step = trainer["resumed_step"], run.acked["step"]
    _expect(found == step, f"resumed_step is {found} after SIGKILL, and the answer had {step}")
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
    _expect(found == saved["step"], f"resumed_step is {found}, and saved.json has {saved['step']}")


def completes(run: Run) -> None:
    """Check rule 9: at the end ``saved.json``, ``done.json``, exit code 0."""
    run.life.request("completes", action="cancel")
    code = run.life.ends(run.end_seconds, "the whole training")
    _expect(code == 0, f"exit code {code} at the end of training, expected 0")
    done, saved = run.life.read(records.DONE), run.life.read(records.SAVED)
    if done is None or saved is None:
        raise ContractError("done.json or saved.json is missing at the end of training")
    _expect(done["step"] == saved["step"], "done.json and saved.json have different steps")


class Check(NamedTuple):
    """One check.

    Attributes:
        rules: Of the specification.
        must: A trainer must pass it; otherwise it should.
    """

    check: Callable[[Run], None]
    rules: str
    must: bool = True


CHECKS = (
    Check(opens, "rule 10"),
    Check(ignores_others, "rule 1"),
    Check(answers, "rule 3"),
    Check(holds, "rule 4"),
    Check(continues_after_cancel, "rule 4"),
    Check(continues_after_deadline, "rule 4"),
    Check(ends_in_hold, "rule 4"),
    Check(resumes, "rules 7, 8"),
    Check(saves_on_term, "rule 5"),
    Check(holds_again, "rule 7", must=False),
    Check(survives_kill, "rule 8"),
    Check(completes, "rule 9"),
)


def _expect(holds: bool, text: str) -> None:  # noqa: FBT001 - reads like an assertion
    if not holds:
        raise ContractError(text)


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
