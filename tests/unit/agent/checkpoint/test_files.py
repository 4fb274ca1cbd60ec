"""A pod's checkpoint directory on disk: reading, requests, and hostile content."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from agent.checkpoint import directory
from agent.checkpoint.files import CheckpointFiles
from agent.checkpoint.rules import Outcome
from shared.model import Uid
from shared.progress import Checkpoint, CheckpointPhase
from shared.wire import CheckpointCancel, CheckpointRequest

ME = Uid("uid-1")
PATH = "team/job/checkpoints"
ASK = CheckpointRequest(id="m1", uid=ME, deadline=200.0, hold_deadline=300.0, reason="converged")
CANCEL = CheckpointCancel(id="m1", uid=ME)
TRAINER = {"version": 1, "pid": 1, "started_at": 100.0, "pod_uid": ME, "rank": 0, "world_size": 1}


class Trainer:
    """A trainer's side of the directory, and the agent's files object on it."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.inner = root / PATH / directory.NAME
        self.files = CheckpointFiles(root, PATH, ME, writer="n1", group=None)
        self.reads = 0.0

    def open(self, **changes: Any) -> None:
        self.inner.mkdir(parents=True)
        self.write("trainer.json", **{**TRAINER, **changes})

    def write(self, name: str, **content: Any) -> None:
        text = json.dumps({"version": 1, **content})
        temporary = self.inner / ".tmp"
        temporary.write_text(text)
        temporary.replace(self.inner / name)

    def read(self) -> Checkpoint:
        self.reads += 1.0
        return self.files.read(self.reads)

    def request(self) -> dict[str, Any]:
        request: dict[str, Any] = json.loads((self.inner / "request.json").read_text())
        return request


@pytest.fixture
def trainer(tmp_path: Path) -> Trainer:
    return Trainer(tmp_path)


def test_a_request_is_written_acknowledged_and_released(trainer: Trainer) -> None:
    trainer.open()
    assert trainer.read() == Checkpoint()
    assert trainer.files.request(ASK, 100.0) is Outcome.WRITTEN
    assert trainer.request() == {
        "version": 1,
        "id": "m1",
        "pod_uid": ME,
        "action": "checkpoint",
        "deadline": 200.0,
        "hold_deadline": 300.0,
        "reason": "converged",
    }
    assert trainer.read().phase is CheckpointPhase.ASKED
    trainer.write("saved.json", step=5, path="/c/5", bytes=9, started_at=101.0, finished_at=103.0)
    trainer.write("ack-m1.json", id="m1", pod_uid=ME, ok=True, step=5, path="/c/5", error="")
    checkpoint = trainer.read()
    assert (checkpoint.phase, checkpoint.acked_step, checkpoint.save_seconds) == (
        CheckpointPhase.ACKED,
        5,
        2.0,
    )
    assert trainer.files.cancel(CANCEL) is Outcome.WRITTEN
    assert (trainer.request()["action"], trainer.request()["id"]) == ("cancel", "m1")
    assert trainer.read().phase is CheckpointPhase.ACKED
    trainer.write("released.json", id="m1", at=110.0, why="cancelled")
    assert trainer.read().phase is CheckpointPhase.RELEASED


def test_a_repeated_command_changes_nothing(trainer: Trainer) -> None:
    trainer.open()
    trainer.files.request(ASK, 100.0)
    first = (trainer.inner / "request.json").stat()
    assert trainer.files.request(ASK, 101.0) is Outcome.REPEATED
    assert (trainer.inner / "request.json").stat().st_ino == first.st_ino
    trainer.files.cancel(CANCEL)
    assert trainer.files.cancel(CANCEL) is Outcome.REPEATED
    assert trainer.files.request(ASK, 102.0) is Outcome.REPEATED
    assert trainer.request()["action"] == "cancel"


def test_a_new_agent_reads_the_same_state(trainer: Trainer) -> None:
    trainer.open(resumed_step=3)
    trainer.files.request(ASK, 100.0)
    other = CheckpointFiles(trainer.root, PATH, ME, writer="n2", group=None)
    checkpoint = other.read(0.0)
    assert (checkpoint.request, checkpoint.phase, checkpoint.resumed_step) == (
        "m1",
        CheckpointPhase.ASKED,
        3,
    )


def test_two_changes_within_one_time_stamp_are_both_read(trainer: Trainer) -> None:
    trainer.open()
    for stamp in (10**9, 2 * 10**9):
        for step in (stamp, stamp + 1):
            trainer.write("saved.json", step=step, started_at=1.0, finished_at=2.0)
            os.utime(trainer.inner, ns=(stamp, stamp))
            assert trainer.read().step == step
        assert trainer.read().step == stamp + 1


def test_files_that_did_not_change_are_not_read_again(
    trainer: Trainer, monkeypatch: pytest.MonkeyPatch
) -> None:
    trainer.open()
    settled = [trainer.read() for _ in range(3)][-1]
    monkeypatch.setattr(directory, "read", lambda *_: pytest.fail("read again"))
    assert trainer.read() == settled


def test_a_new_directory_is_read_again(trainer: Trainer) -> None:
    trainer.open()
    trainer.read()
    trainer.inner.rename(trainer.inner.with_name("old"))
    assert trainer.read().problem == "TrainerSilent"
    trainer.open(resumed_step=9)
    assert trainer.read().resumed_step == 9


def test_a_missing_directory_or_trainer_is_reported(tmp_path: Path) -> None:
    nowhere = CheckpointFiles(tmp_path / "away", PATH, ME, "n1", None).read(0.0)
    assert nowhere.problem == "CheckpointUnreachable"
    assert nowhere.detail == f"{tmp_path / 'away' / PATH} does not exist"
    files = CheckpointFiles(tmp_path, PATH, ME, "n1", None)
    assert files.read(0.0).problem == "CheckpointUnreachable"
    (tmp_path / PATH).mkdir(parents=True)
    assert files.read(0.0) == Checkpoint(
        problem="TrainerSilent", detail=f"no trainer has opened {PATH}"
    )


LINKS = ("team", "team/job", "team/job/checkpoints", f"team/job/checkpoints/{directory.NAME}")


@pytest.mark.parametrize("link", LINKS)
def test_a_link_anywhere_on_the_way_is_refused(tmp_path: Path, link: str) -> None:
    root, elsewhere = tmp_path / "volume", tmp_path / "elsewhere"
    Trainer(elsewhere).open()
    (root / link).parent.mkdir(parents=True)
    (root / link).symlink_to(elsewhere / link)
    files = CheckpointFiles(root, PATH, ME, "n1", None)
    assert files.read(0.0).problem == "Misconfigured"
    assert files.request(ASK, 100.0) is Outcome.FAILED
    assert not (elsewhere / PATH / directory.NAME / "request.json").exists()


def _as_link(path: Path, outside: Path) -> None:
    path.symlink_to(outside)


def _as_pipe(path: Path, outside: Path) -> None:
    del outside
    os.mkfifo(path)


def _as_directory(path: Path, outside: Path) -> None:
    del outside
    path.mkdir()


def _as_flood(path: Path, outside: Path) -> None:
    del outside
    path.write_bytes(b" " * (directory.MOST_BYTES + 1))


HOSTILE = {
    "a link": (_as_link, "is not a plain file"),
    "a pipe without a writer": (_as_pipe, "is not a plain file"),
    "a directory": (_as_directory, "is not a plain file"),
    "a flood": (_as_flood, "is not at most"),
}


@pytest.mark.parametrize(("put", "text"), HOSTILE.values(), ids=HOSTILE)
def test_anything_but_a_small_plain_file_is_skipped_and_named(
    trainer: Trainer, tmp_path: Path, put: Any, text: str
) -> None:
    trainer.open()
    outside = tmp_path / "outside.json"
    outside.write_text(json.dumps({"version": 1, "step": 5, "started_at": 1, "finished_at": 2}))
    put(trainer.inner / "saved.json", outside)
    checkpoint = trainer.read()
    assert (checkpoint.problem, checkpoint.step) == ("", None)
    assert checkpoint.detail.startswith("saved.json: ")
    assert text in checkpoint.detail


BROKEN = {
    "half a file": ("trainer.json", '{"version": 1, "sta'),
    "no object": ("trainer.json", "[]"),
    "another version": ("trainer.json", '{"version": 2, "started_at": 1}'),
    "a step below 0": ("saved.json", '{"version":1,"step":-1,"started_at":1,"finished_at":2}'),
    "no number": ("saved.json", '{"version":1,"step":NaN,"started_at":1,"finished_at":2}'),
    "no text": ("done.json", "\udcff"),
    "an unknown key nested 30,000 deep": (
        "saved.json",
        f'{{"version":1,"x":{"[" * 30_000}{"]" * 30_000}}}',
    ),
    "an id that leads out of the directory": (
        "request.json",
        '{"version":1,"id":"../../x","pod_uid":"","action":"cancel","deadline":1,"hold_deadline":2}',
    ),
}


@pytest.mark.parametrize(("name", "text"), BROKEN.values(), ids=BROKEN)
def test_a_malformed_file_is_skipped_and_named(trainer: Trainer, name: str, text: str) -> None:
    trainer.open()
    (trainer.inner / name).write_text(text, errors="surrogateescape")
    assert f"{name}: " in trainer.read().detail


def test_a_request_that_cannot_be_written_is_reported_until_it_can(trainer: Trainer) -> None:
    trainer.open()
    (trainer.inner / "request.json").mkdir()
    assert trainer.files.request(ASK, 100.0) is Outcome.FAILED
    checkpoint = trainer.read()
    assert checkpoint.problem == "Misconfigured"
    assert checkpoint.detail.startswith("request.json cannot be written: Is a directory")
    (trainer.inner / "request.json").rmdir()
    assert trainer.files.request(ASK, 100.0) is Outcome.WRITTEN
    assert trainer.read().problem == ""


def test_the_request_belongs_to_the_group_and_is_readable_by_all(tmp_path: Path) -> None:
    trainer = Trainer(tmp_path)
    trainer.open()
    groups = [gid for gid in os.getgroups() if gid != os.getegid()]
    group = groups[0] if groups else os.getegid()
    trainer.files.group = group
    before = os.umask(0o077)
    try:
        trainer.files.request(ASK, 100.0)
    finally:
        os.umask(before)
    status = (trainer.inner / "request.json").stat()
    assert (status.st_gid, status.st_mode & 0o777) == (group, 0o664)


def test_a_link_in_the_place_of_the_request_is_replaced_not_followed(trainer: Trainer) -> None:
    trainer.open()
    target = trainer.root / "victim"
    target.write_text("precious")
    (trainer.inner / "request.json").symlink_to(target)
    (trainer.inner / ".request.json.n1").symlink_to(target)
    assert trainer.files.request(ASK, 100.0) is Outcome.WRITTEN
    assert target.read_text() == "precious"
    assert not (trainer.inner / "request.json").is_symlink()
