"""Two copies of one training: the one that began later goes on, the other one commits nothing."""

from __future__ import annotations

import json
import signal
from itertools import permutations
from pathlib import Path

import pytest

from shuntyard_trainer import Checkpoints, SaveError, records
from shuntyard_trainer.errors import StaleCopyError
from shuntyard_trainer.mailbox import Mailbox
from shuntyard_trainer.records import Saved
from shuntyard_trainer.starts import Starts
from tests.unit.trainer.agent import Training
from tests.unit.trainer.hand_clock import HandClock
from tests.unit.trainer.processes import COUNT, finish, start, wait_for, wait_until_it_trains

OLD, NEW = "pod-old", "pod-new"


def _names(directory: Path) -> list[str]:
    return sorted(path.name for path in (directory / ".shuntyard").glob(records.STARTS))


def _saved(directory: Path) -> int | None:
    file = directory / ".shuntyard/saved.json"
    return json.loads(file.read_text())["step"] if file.exists() else None


def test_an_old_copy_ends_with_143_and_saves_nothing_once_a_later_one_has_begun(
    tmp_path: Path,
) -> None:
    old = Training(tmp_path, pod_uid=OLD)
    old.checkpoints.step_done(1)
    Training(tmp_path, pod_uid=NEW)
    old.clock.advance(2.0)
    with pytest.raises(SystemExit) as end:
        old.checkpoints.step_done(2)
    assert (end.value.code, old.saves, _saved(tmp_path)) == (143, [], None)


def test_an_old_copy_does_not_answer_a_request(tmp_path: Path) -> None:
    old = Training(tmp_path, pod_uid=OLD)
    old.checkpoints.start_step()
    old.agent.ask(pod_uid="")
    Training(tmp_path, pod_uid=NEW)
    with pytest.raises(SystemExit):
        old.run(3)
    assert old.agent.read("ack-r1.json") is None


def test_an_old_copy_in_a_hold_ends(tmp_path: Path) -> None:
    old = Training(tmp_path, pod_uid=OLD)
    old.clock.after(1.5, lambda: old.agent.ask(pod_uid=OLD))
    old.clock.after(5.0, lambda: Training(tmp_path, pod_uid=NEW))
    with pytest.raises(SystemExit) as end:
        old.run(3)
    assert (end.value.code, old.done) == (143, [0, 1])


def test_an_old_copy_does_not_report_the_end_of_the_training(tmp_path: Path) -> None:
    old = Training(tmp_path, pod_uid=OLD)
    old.checkpoints.step_done(1)
    Training(tmp_path, pod_uid=NEW)
    with pytest.raises(SaveError, match="another copy of this training has begun"):
        old.checkpoints.done(1)
    assert (old.saves, old.agent.read("done.json")) == ([], None)


def test_the_pod_of_an_older_generation_does_not_begin(tmp_path: Path) -> None:
    Training(tmp_path, pod_uid=NEW, generation=7)
    old = Training(tmp_path, pod_uid=OLD, generation=6)
    with pytest.raises(SystemExit) as end:
        old.checkpoints.start_step()
    assert (end.value.code, old.agent.read("trainer.json")) == (143, None)
    assert _names(tmp_path) == ["start-7-1.json"]


STARTS = {
    "without a generation each start is later": (
        (None, None),
        ["start-0-1.json", "start-0-2.json"],
    ),
    "of one generation the later start counts": ((7, 7), ["start-7-1.json", "start-7-2.json"]),
    "a larger generation is later": ((7, 9), ["start-7-1.json", "start-9-1.json"]),
    "a start without one takes the latest": ((7, None), ["start-7-1.json", "start-7-2.json"]),
}


@pytest.mark.parametrize(("generations", "names"), STARTS.values(), ids=STARTS)
def test_the_later_start_goes_on(
    tmp_path: Path, generations: tuple[int | None, int | None], names: list[str]
) -> None:
    first, second = generations
    old = Training(tmp_path, pod_uid=OLD, generation=first)
    new = Training(tmp_path, pod_uid=NEW, generation=second)
    new.run(2)
    assert (_names(tmp_path), _saved(tmp_path)) == (names, 2)
    old.clock.advance(2.0)
    with pytest.raises(SystemExit):
        old.run(2)


def test_only_the_latest_eight_starts_stay(tmp_path: Path) -> None:
    for _ in range(12):
        Checkpoints(tmp_path, handle_sigterm=False)
    assert len(_names(tmp_path)) == records.KEPT_STARTS
    assert "start-0-12.json" in _names(tmp_path)


ODD = (
    "start-1.json",
    "start--1-2.json",
    "start-9-x.json",
    "start-9-9.json.new",
    "ack-start-9-9.json",
)


@pytest.mark.parametrize("name", ODD)
def test_other_files_are_no_starts(tmp_path: Path, name: str) -> None:
    training = Training(tmp_path)
    (training.agent.folder / name).write_text("{}")
    training.run(2)
    assert _saved(tmp_path) == 2


class _Commit:
    """A commit of an old copy and the start of a new one, each in its steps, in any order."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.old = Mailbox(directory, OLD, HandClock(), 1)
        self.read_by_new: int | None = None

    def begin(self) -> None:
        """The start of the new copy: its file, the temporary files of others, the last step."""
        Mailbox(self.directory, NEW, HandClock(), 2)
        self.read_by_new = _saved(self.directory) or 0

    def commit(self, moments: dict[str, bool], monkeypatch: pytest.MonkeyPatch) -> bool:
        """Commit step 5; the new copy begins at the moment that is True. Return whether it did."""
        permit = Starts.require_latest

        def permitted(starts: Starts) -> None:
            if moments["before the check"]:
                self.begin()
            permit(starts)
            if moments["between check and rename"]:
                self.begin()

        monkeypatch.setattr(Starts, "require_latest", permitted)
        try:
            self.old.write_saved(Saved(5, "step-5", 1, 0.0, 1.0))
        except OSError:
            return False
        finally:
            monkeypatch.setattr(Starts, "require_latest", permit)
        return True


MOMENTS = ("before the write", "before the check", "between check and rename", "after the write")


@pytest.mark.parametrize("moment", MOMENTS)
def test_what_an_old_copy_commits_the_new_one_resumes_from(
    tmp_path: Path, moment: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At every moment of the commit: it is either read by the new copy, or it never is there."""
    case = _Commit(tmp_path)
    moments = {name: name == moment for name in MOMENTS}
    if moments["before the write"]:
        case.begin()
    committed = case.commit(moments, monkeypatch)
    if moments["after the write"]:
        case.begin()
    assert case.read_by_new == (5 if committed else 0)
    assert committed == moments["after the write"]
    assert (_saved(tmp_path) or 0) == case.read_by_new
    assert not list((tmp_path / ".shuntyard").glob("*.trainer-tmp"))


def test_in_no_order_of_the_protocol_is_a_commit_lost_or_unseen() -> None:
    """Brute force over all orders of the directory operations of both copies."""
    old, new = ("temp", "check", "rename"), ("start", "clean", "read")
    orders = {o for o in permutations(old + new) if _in_order(o, old) and _in_order(o, new)}
    assert len(orders) == 20
    for order in orders:
        committed, seen = _play(order)
        assert committed == seen, order


def _in_order(order: tuple[str, ...], steps: tuple[str, ...]) -> bool:
    return tuple(step for step in order if step in steps) == steps


def _play(order: tuple[str, ...]) -> tuple[bool, bool]:
    """Return whether the old copy committed, and whether the new one read that."""
    temporary = started = committed = refused = seen = False
    for step in order:
        if step == "temp":
            temporary = True
        elif step == "check":
            refused = started
        elif step == "rename":
            committed = temporary and not refused
        elif step == "start":
            started = True
        elif step == "clean":
            temporary = False
        else:
            seen = committed
    return committed, seen


def test_a_frozen_process_that_wakes_after_its_successor_began_commits_nothing(
    tmp_path: Path,
) -> None:
    old = start(COUNT, tmp_path, 100000, "slow-step", SHUNTYARD_GENERATION="1")
    wait_until_it_trains(tmp_path)
    old.send_signal(signal.SIGSTOP)
    new = start(COUNT, tmp_path, 40, SHUNTYARD_GENERATION="2", SHUNTYARD_POD_UID=NEW)
    assert finish(new) == (0, "")
    before = {p.name: p.read_text() for p in (tmp_path / ".shuntyard").iterdir()}
    old.send_signal(signal.SIGCONT)
    code, output = finish(old)
    assert code == 143
    assert "another copy of this training has begun" in output
    assert {p.name: p.read_text() for p in (tmp_path / ".shuntyard").iterdir()} == before


def test_a_process_that_was_frozen_in_a_save_commits_nothing(tmp_path: Path) -> None:
    old = start(COUNT, tmp_path, 3, "slow-save", SHUNTYARD_GENERATION="1")
    wait_for((tmp_path / "saving").exists)
    new = start(COUNT, tmp_path, 5, SHUNTYARD_GENERATION="2", SHUNTYARD_POD_UID=NEW)
    assert finish(new) == (0, "")
    (tmp_path / "save-on").touch()
    code, output = finish(old)
    assert code != 0
    assert "another copy of this training has begun" in output
    assert _saved(tmp_path) == 5


def test_the_error_names_the_start_and_the_directory(tmp_path: Path) -> None:
    old = Mailbox(tmp_path, OLD, HandClock(), 3)
    Mailbox(tmp_path, NEW, HandClock(), 4)
    with pytest.raises(StaleCopyError, match=r"start 1 of generation 3 .* in .*\.shuntyard"):
        old.write_done(1)
