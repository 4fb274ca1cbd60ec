"""What the files of a checkpoint directory mean for one pod."""

import pytest

from agent.checkpoint.documents import Ack, Done, Released, Request, Saved, Trainer
from agent.checkpoint.rules import DirectoryContent, checkpoint_of, phase_of
from shared.model import Uid
from shared.progress import Checkpoint, CheckpointPhase

ME = Uid("uid-1")
TRAINER = Trainer(started_at=100.0, pod_uid=ME, resumed_step=7)
ASK = Request(id="m1", pod_uid=ME, action="checkpoint", deadline=200.0, hold_deadline=300.0)
CANCEL = Request(id="m1", pod_uid=ME, action="cancel", deadline=200.0, hold_deadline=300.0)
OK = Ack(id="m1", ok=True, step=500, path="/c/500")
NOT_OK = Ack(id="m1", ok=False, error="disk full")
GO_ON = Released(id="m1", why="cancelled")

PHASES: dict[str, tuple[Request | None, Ack | None, Released | None, CheckpointPhase]] = {
    "nothing was asked": (None, None, None, CheckpointPhase.NONE),
    "asked and not answered": (ASK, None, None, CheckpointPhase.ASKED),
    "asked and saved": (ASK, OK, None, CheckpointPhase.ACKED),
    "asked and not able to save": (ASK, NOT_OK, None, CheckpointPhase.REFUSED),
    "held until the deadline": (ASK, OK, GO_ON, CheckpointPhase.RELEASED),
    "cancelled before it was answered": (CANCEL, None, None, CheckpointPhase.RELEASED),
    "cancelled, but it still holds": (CANCEL, OK, None, CheckpointPhase.ACKED),
    "cancelled and released": (CANCEL, OK, GO_ON, CheckpointPhase.RELEASED),
    "an earlier request was released": (ASK, OK, Released(id="m0"), CheckpointPhase.ACKED),
}


@pytest.mark.parametrize(("request_", "ack", "released", "phase"), PHASES.values(), ids=PHASES)
def test_files_give_the_phase_of_a_request(
    request_: Request | None, ack: Ack | None, released: Released | None, phase: CheckpointPhase
) -> None:
    assert phase_of(request_, ack, released) is phase


PROBLEMS: dict[str, tuple[DirectoryContent, str, str]] = {
    "no trainer": (DirectoryContent(), "TrainerSilent", "there is no trainer.json"),
    "the trainer of an earlier pod": (
        DirectoryContent(trainer=Trainer(started_at=1.0, pod_uid="uid-0")),
        "TrainerSilent",
        "trainer.json is of pod uid uid-0",
    ),
    "a trainer that does not know its pod": (
        DirectoryContent(trainer=Trainer(started_at=1.0)),
        "",
        "",
    ),
    "the agent may not write": (
        DirectoryContent(trainer=TRAINER, unwritable="may not write"),
        "Misconfigured",
        "may not write",
    ),
    "its end could be taken for success": (
        DirectoryContent(trainer=Trainer(started_at=1.0, exits_zero_on_term=True)),
        "ExitsZeroOnTerm",
        "the trainer ends with 0 after SIGTERM",
    ),
    "a failed save is no obstacle to the next": (
        DirectoryContent(trainer=TRAINER, request=ASK, ack=NOT_OK),
        "",
        "disk full",
    ),
    "a file that cannot be read is passed over and named": (
        DirectoryContent(trainer=TRAINER, unreadable=("saved.json: broken",)),
        "",
        "saved.json: broken",
    ),
}


@pytest.mark.parametrize(("found", "problem", "detail"), PROBLEMS.values(), ids=PROBLEMS)
def test_a_problem_explains_why_nothing_can_be_requested(
    found: DirectoryContent, problem: str, detail: str
) -> None:
    said = checkpoint_of(found, ME)
    assert (said.problem, said.detail) == (problem, detail)


def test_an_acknowledged_request_is_reported_with_step_and_path() -> None:
    saved = Saved(step=500, started_at=110.0, finished_at=114.0, bytes=2000)
    said = checkpoint_of(DirectoryContent(trainer=TRAINER, request=ASK, ack=OK, saved=saved), ME)
    assert said == Checkpoint(
        step=500,
        saved_at=114.0,
        save_seconds=4.0,
        save_bytes=2000,
        phase=CheckpointPhase.ACKED,
        request="m1",
        acked_step=500,
        path="/c/500",
        resumed_step=7,
    )


def test_a_request_to_an_earlier_pod_is_not_this_pods() -> None:
    earlier = Request(
        id="m1", pod_uid="uid-0", action="checkpoint", deadline=1.0, hold_deadline=2.0
    )
    said = checkpoint_of(DirectoryContent(trainer=TRAINER, request=earlier, ack=OK), ME)
    assert (said.phase, said.request, said.acked_step) == (CheckpointPhase.NONE, "", None)


DONE: dict[str, tuple[Trainer | None, float, bool]] = {
    "by this life of the trainer": (TRAINER, 150.0, True),
    "by an earlier run in the same directory": (TRAINER, 50.0, False),
    "by the trainer of another pod": (Trainer(started_at=1.0, pod_uid="uid-0"), 150.0, False),
    "without a trainer": (None, 150.0, False),
}


@pytest.mark.parametrize(("trainer", "at", "done"), DONE.values(), ids=DONE)
def test_training_is_complete_only_if_this_trainer_wrote_it(
    trainer: Trainer | None, at: float, done: bool
) -> None:
    found = DirectoryContent(trainer=trainer, done=Done(finished_at=at))
    assert checkpoint_of(found, ME).done is done
