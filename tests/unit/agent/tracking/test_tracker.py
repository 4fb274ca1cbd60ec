"""All pods of the node: the order of readings, and the outcome of commands."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from agent.checkpoint.rules import Outcome
from agent.tailing.chunk import Limits, OpenFiles
from agent.tracking.allowance import Allowance
from agent.tracking.pod import STEADY_SECONDS
from agent.tracking.sources import NodeContext
from agent.tracking.tracker import Tracker, Turn
from shared.convergence.parameters import RECOMMENDED
from shared.model import Uid
from shared.wire import CheckpointCancel, CheckpointRequest, Command, PodPlace
from tests.fakes.extender import place

A = Uid("uid-a")
START = 1_000_000.0
ASK = CheckpointRequest(id="m1", uid=A, deadline=2 * START, hold_deadline=2 * START)


class Yard:
    """A tracker on a volume, with a clock that the test turns."""

    def __init__(self, root: Path, *, cpu_seconds: float = 10.0, **changes: Any) -> None:
        self.root = root
        self.seconds = START
        defaults = {
            "node": "n1",
            "volume": root,
            "pod_logs": root / "pods",
            "checkpoint_gid": None,
            "limits": Limits(),
            "open_files": OpenFiles(8),
            "files": 4,
            "params": RECOMMENDED,
            "interval_seconds": 3.0,
            "checkpoint_seconds": 5.0,
            "asked_seconds": 1.0,
            "find_seconds": 10.0,
        }
        around = NodeContext(**{**defaults, **changes})
        self.tracker = Tracker(around, self, cpu_seconds=cpu_seconds)

    def now(self) -> float:
        return self.seconds

    monotonic = now

    def turn(self, *pods: PodPlace, commands: tuple[Command, ...] = ()) -> Turn:
        return self.tracker.turn({Uid(pod.uid): pod for pod in pods}, commands)

    def train(self, name: str, *steps: int) -> None:
        file = self.root / "team" / name / "metrics" / f"{name}.jsonl"
        file.parent.mkdir(parents=True, exist_ok=True)
        with file.open("a") as stream:
            stream.writelines(f"{json.dumps({'step': n, 'loss': 1.0 / n})}\n" for n in steps)

    def open(self, name: str) -> Path:
        inner = self.root / "team" / name / "checkpoints" / ".shuntyard"
        inner.mkdir(parents=True)
        trainer = {"version": 1, "started_at": 1.0, "pod_uid": f"uid-{name}"}
        (inner / "trainer.json").write_text(json.dumps(trainer))
        return inner


@pytest.fixture
def yard(tmp_path: Path) -> Yard:
    return Yard(tmp_path)


def step(turn: Turn, uid: Uid = A) -> int | None:
    progress = turn.reports[uid].progress
    return progress.step if progress else None


def test_a_new_pod_is_read_at_once_and_then_at_intervals(yard: Yard) -> None:
    pod = place("a")
    yard.train("a", 1)
    assert step(yard.turn(pod)) == 1
    yard.train("a", 2)
    seen = []
    for _ in range(4):
        seen.append(step(yard.turn(pod)))
        yard.seconds += 1.0
    assert (seen[0], seen[-1]) == (1, 2)


def readings(yard: Yard, pod: PodPlace, seconds: int) -> int:
    """Return how often the pod is read in so many seconds."""
    count = 0
    for _ in range(seconds):
        yard.seconds += 1.0
        count += len(yard.turn(pod).counts)
    return count


def test_an_old_run_is_read_half_as_often_unless_a_checkpoint_is_asked_for(yard: Yard) -> None:
    pod, _ = place("a", checkpoint=""), yard.open("a")
    yard.seconds = 6.0 * START
    yard.train("a", 1, 2, 3)
    yard.turn(pod)
    assert readings(yard, pod, 12) == 4
    yard.seconds += STEADY_SECONDS
    yard.turn(pod)
    assert readings(yard, pod, 12) == 2
    assert len(yard.turn(pod, commands=(replace(ASK, deadline=9 * START),)).counts) == 1
    assert readings(yard, pod, 12) == 4


def test_a_log_without_values_is_read_half_as_often_once_it_is_old(tmp_path: Path) -> None:
    folder = tmp_path / "pods" / "team_a_uid-a" / "main"
    folder.mkdir(parents=True)
    log = folder / "0.log"
    stamp = datetime.fromtimestamp(START - STEADY_SECONDS + 60.0, UTC).isoformat()
    log.write_text(f"{stamp} stdout F loading the data\n")
    yard, pod = Yard(tmp_path), place("a")
    yard.turn(pod)
    assert readings(yard, pod, 12) == 4
    yard.seconds += 60.0
    yard.turn(pod)
    assert readings(yard, pod, 12) == 2
    with log.open("a") as stream:
        stream.writelines(f"{stamp} stdout F step {n} loss 0.5\n" for n in range(4))
    yard.seconds += 6.0
    assert step(yard.turn(pod)) == 3


def test_all_pods_are_read_in_the_same_turn_whenever_they_came(tmp_path: Path) -> None:
    yard = Yard(tmp_path, interval_seconds=10.0)
    pods = [place("a"), place("b")]
    for pod in pods:
        yard.train(pod.name, 1)
    yard.turn(pods[0])
    yard.seconds += 4.0
    yard.turn(*pods)
    read = []
    for _ in range(20):
        yard.seconds += 1.0
        read.append(len(yard.turn(*pods).counts))
    assert sorted(read)[-3:] == [0, 2, 2]


@pytest.fixture
def short_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each reading takes one part of each file, and costs as much as every other."""
    monkeypatch.setattr(Allowance, "is_used", lambda _: True)
    monkeypatch.setattr(Allowance, "is_ordinary", True)


@pytest.mark.usefixtures("short_turns")
def test_lines_beyond_a_limit_are_read_in_the_next_turn(tmp_path: Path) -> None:
    yard = Yard(tmp_path, limits=Limits(lines_per_poll=2))
    yard.train("a", *range(1, 6))
    assert [step(yard.turn(place("a"))) for _ in range(3)] == [2, 4, 5]


def test_a_long_turn_continues_in_the_next(tmp_path: Path) -> None:
    yard = Yard(tmp_path, cpu_seconds=0.0)
    pods = [place(f"p{n}", checkpoint="") for n in range(3)]
    for pod in pods:
        yard.train(pod.name, 1)
        yard.open(pod.name)
    read = []
    for _ in range(4):
        turn = yard.turn(*pods)
        read.append([report.uid for report in turn.reports.values() if report.progress])
        assert all(report.checkpoint for report in turn.reports.values())
    assert [sorted(uids) for uids in read] == [
        ["uid-p0"],
        ["uid-p0", "uid-p1"],
        ["uid-p0", "uid-p1", "uid-p2"],
        ["uid-p0", "uid-p1", "uid-p2"],
    ]


def test_lines_beyond_a_limit_are_read_in_the_same_turn_while_there_is_time(tmp_path: Path) -> None:
    yard = Yard(tmp_path, limits=Limits(lines_per_poll=2))
    yard.train("a", *range(1, 6))
    assert step(yard.turn(place("a"))) == 5


@pytest.mark.usefixtures("short_turns")
def test_pods_that_have_much_to_read_take_turns(tmp_path: Path) -> None:
    yard = Yard(tmp_path, cpu_seconds=0.0, limits=Limits(lines_per_poll=2))
    pods = [place("a"), place("b")]
    for pod in pods:
        yard.train(pod.name, *range(1, 7))
    steps = []
    for _ in range(6):
        turn = yard.turn(*pods)
        steps.append((step(turn), step(turn, Uid("uid-b"))))
    assert steps == [(2, None), (2, 2), (4, 2), (4, 4), (6, 4), (6, 6)]


def test_a_deleted_pod_is_dropped_and_a_changed_one_restarts(yard: Yard) -> None:
    yard.train("a", 1)
    assert step(yard.turn(place("a"))) == 1
    assert yard.turn().reports == {}
    changed = place("a", metrics="path=other.jsonl")
    assert step(yard.turn(changed)) is None


def test_an_unchanged_report_stays_the_same_object(yard: Yard) -> None:
    yard.train("a", 1)
    first = yard.turn(place("a")).reports[A]
    yard.seconds += 60.0
    assert yard.turn(place("a")).reports[A] is first


def test_a_pod_without_files_has_an_empty_report(yard: Yard) -> None:
    report = yard.turn(place("a")).reports[A]
    assert (report.progress, report.checkpoint, report.problem) == (None, None, "")


def test_a_command_is_carried_out_and_seen_in_the_same_turn(yard: Yard) -> None:
    pod, _ = place("a", checkpoint=""), yard.open("a")
    yard.turn(pod)
    turn = yard.turn(pod, commands=(ASK,))
    checkpoint = turn.reports[A].checkpoint
    assert checkpoint is not None
    assert (turn.outcomes, checkpoint.phase, turn.urgent) == ((Outcome.WRITTEN,), "asked", True)
    cancel = CheckpointCancel(id="m1", uid=A)
    assert yard.turn(pod, commands=(ASK, cancel)).outcomes == (Outcome.REPEATED, Outcome.WRITTEN)


def test_a_directory_is_read_more_often_during_a_checkpoint_request(yard: Yard) -> None:
    pod, inner = place("a", checkpoint=""), yard.open("a")
    yard.turn(pod, commands=(ASK,))
    (inner / "ack-m1.json").write_text('{"version": 1, "id": "m1", "ok": true, "step": 5}')
    yard.seconds += 1.0
    turn = yard.turn(pod)
    checkpoint = turn.reports[A].checkpoint
    assert checkpoint is not None
    assert (checkpoint.phase, checkpoint.acked_step, turn.urgent) == ("acked", 5, True)


NOWHERE = {
    "a pod that is not here": replace(ASK, uid="uid-b"),
    "a pod that has not asked for it": ASK,
}


@pytest.mark.parametrize("command", NOWHERE.values(), ids=NOWHERE)
def test_a_command_that_cannot_be_carried_out_is_refused_and_logged_once(
    yard: Yard, caplog: pytest.LogCaptureFixture, command: Command
) -> None:
    for _ in range(3):
        assert yard.turn(place("a"), commands=(command,)).outcomes == (Outcome.REFUSED,)
    assert len(caplog.records) == 1


def test_a_limited_number_of_logged_commands_is_kept(yard: Yard) -> None:
    for number in range(600):
        yard.turn(commands=(replace(ASK, id=f"m{number}"),))
    assert len(yard.tracker._logged) < 300


def test_the_next_turn_comes_when_something_is_due(yard: Yard) -> None:
    pod, _ = place("a", checkpoint=""), yard.open("a")
    assert yard.tracker.pause_seconds() == 5.0
    yard.seconds = 30.0
    yard.turn(pod)
    assert yard.tracker.pause_seconds() == 3.0
    yard.seconds = 32.9
    assert yard.tracker.pause_seconds() == 1.0
    yard.seconds = 33.0
    yard.turn(pod, commands=(ASK,))
    assert yard.tracker.pause_seconds() == 1.0


@pytest.mark.usefixtures("short_turns")
def test_turns_pause_even_if_much_is_left(tmp_path: Path) -> None:
    yard = Yard(tmp_path, limits=Limits(lines_per_poll=1))
    yard.train("a", *range(1, 100))
    yard.turn(place("a"))
    assert yard.tracker.pause_seconds() == 1.0
