"""The report of one pod's checkpoint, from the files of its directory."""

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
RELEASE = Released(id="m1", why="cancelled")

PHASES: dict[str, tuple[Request | None, Ack | None, Released | None, CheckpointPhase]] = {
    "no request": (None, None, None, CheckpointPhase.NONE),
    "requested, not answered": (ASK, None, None, CheckpointPhase.ASKED),
    "requested and saved": (ASK, OK, None, CheckpointPhase.ACKED),
    "requested, but saving failed": (ASK, NOT_OK, None, CheckpointPhase.REFUSED),
    "held until the deadline": (ASK, OK, RELEASE, CheckpointPhase.RELEASED),
    "cancelled before it was answered": (CANCEL, None, None, CheckpointPhase.RELEASED),
    "cancelled, still holding": (CANCEL, OK, None, CheckpointPhase.ACKED),
    "cancelled and released": (CANCEL, OK, RELEASE, CheckpointPhase.RELEASED),
    "an earlier request was released": (ASK, OK, Released(id="m0"), CheckpointPhase.ACKED),
}


@pytest.mark.parametrize(("request_", "ack", "released", "phase"), PHASES.values(), ids=PHASES)
def test_files_give_the_phase_of_a_request(
    request_: Request | None, ack: Ack | None, released: Released | None, phase: CheckpointPhase
) -> None:
    assert phase_of(request_, ack, released) is phase


PROBLEMS: dict[str, tuple[DirectoryContent, str, str]] = {
    "no trainer": (
        DirectoryContent(),
        "TrainerSilent",
        "there is no trainer.json: no trainer has begun",
    ),
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
    "a stopped trainer would exit with 0": (
        DirectoryContent(trainer=Trainer(started_at=1.0, exits_zero_on_term=True)),
        "ExitsZeroOnTerm",
        "the trainer ends with 0 after SIGTERM, as if it were done: let it end with 143",
    ),
    "a failed save does not prevent the next": (
        DirectoryContent(trainer=TRAINER, request=ASK, ack=NOT_OK),
        "",
        "disk full",
    ),
    "an unreadable file is skipped and named": (
        DirectoryContent(trainer=TRAINER, unreadable=("saved.json: broken",)),
        "",
        "saved.json: broken",
    ),
}


@pytest.mark.parametrize(("content", "problem", "detail"), PROBLEMS.values(), ids=PROBLEMS)
def test_a_problem_explains_why_nothing_can_be_requested(
    content: DirectoryContent, problem: str, detail: str
) -> None:
    checkpoint = checkpoint_of(content, ME)
    assert (checkpoint.problem, checkpoint.detail) == (problem, detail)


def test_an_acknowledged_request_is_reported_with_step_and_path() -> None:
    saved = Saved(step=500, started_at=110.0, finished_at=114.0, bytes=2000)
    checkpoint = checkpoint_of(
        DirectoryContent(trainer=TRAINER, request=ASK, ack=OK, saved=saved), ME
    )
    assert checkpoint == Checkpoint(
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


def test_a_request_to_an_earlier_pod_is_ignored() -> None:
    earlier = Request(
        id="m1", pod_uid="uid-0", action="checkpoint", deadline=1.0, hold_deadline=2.0
    )
    checkpoint = checkpoint_of(DirectoryContent(trainer=TRAINER, request=earlier, ack=OK), ME)
    assert (checkpoint.phase, checkpoint.request, checkpoint.acked_step) == (
        CheckpointPhase.NONE,
        "",
        None,
    )


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
    content = DirectoryContent(trainer=trainer, done=Done(finished_at=at))
    assert checkpoint_of(content, ME).done is done
