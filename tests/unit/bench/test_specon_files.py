"""Files of trainers show two copies at a time and repeated steps."""

import json
from pathlib import Path

import pytest

from bench.specon.files import JobFiles, Life, Step, overlaps, repeated


def life(pid: int, begun_at: float, seen_at: float, *, alone: bool = True) -> Life:
    return Life("it-x", f"uid-{pid}", "n1", pid, alone, begun_at, seen_at)


OVERLAPS: dict[str, tuple[tuple[Life, ...], int]] = {
    "one after the other": ((life(1, 0, 5), life(2, 6, 9)), 0),
    "the second begins before the first was seen last": ((life(1, 0, 5), life(2, 4.9, 9)), 1),
    "the second found the lock taken": ((life(1, 0, 5), life(2, 5.1, 9, alone=False)), 1),
    "no other process": ((life(1, 0, 5),), 0),
}


@pytest.mark.parametrize(("lives", "count"), OVERLAPS.values(), ids=OVERLAPS)
def test_two_copies_at_a_time_are_found(lives: tuple[Life, ...], count: int) -> None:
    assert len(overlaps(lives)) == count


def test_every_repetition_of_a_step_is_counted() -> None:
    done = tuple(Step(step, float(i), 1.0, "it-x") for i, step in enumerate([1, 2, 3, 2, 3, 3]))
    assert repeated(done) == 3


def test_the_files_of_two_pods_are_one_job(tmp_path: Path) -> None:
    _write(tmp_path / "lives/u1-7.jsonl", _first("it-a", 1.0, pid=7), {"time": 3.5})
    _write(tmp_path / "lives/u2-8.jsonl", _first("it-b", 4.0, pid=8))
    _write(tmp_path / "metrics/it-a.jsonl", _line(1, 2.0), _line(2, 3.0))
    _write(tmp_path / "metrics/it-b.jsonl", _line(3, 5.0))
    with (tmp_path / "metrics/it-b.jsonl").open("a") as torn:
        torn.write('{"time": 6.0, "st')
    files = JobFiles(tmp_path)
    assert [(one.pod, one.pid, one.begun_at, one.seen_at) for one in files.lives()] == [
        ("it-a", 7, 1.0, 3.5),
        ("it-b", 8, 4.0, 4.0),
    ]
    assert [(step.step, step.pod) for step in files.steps()] == [
        (1, "it-a"),
        (2, "it-a"),
        (3, "it-b"),
    ]


def test_no_files_are_read_before_the_trainer_began(tmp_path: Path) -> None:
    files = JobFiles(tmp_path)
    result = (files.lives(), files.steps(), files.acks(), files.saved_step(), files.done())
    assert result == ((), (), (), 0, False)
    with pytest.raises(LookupError, match="not complete"):
        files.done_at()


def _first(pod: str, at: float, *, pid: int) -> dict[str, object]:
    return {"time": at, "pid": pid, "uid": f"u{pid}", "alone": True, "pod": pod, "node": "n1"}


def _line(step: int, at: float) -> dict[str, object]:
    return {"time": at, "step": step, "loss": 0.5}


def _write(file: Path, *lines: dict[str, object]) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
