"""The sources of a pod's values, as files come and go."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from agent.tailing.chunk import Limits, OpenFiles
from agent.tracking.allowance import Allowance
from agent.tracking.sources import NodeContext, Sources, path_variables
from shared import places
from shared.convergence.parameters import RECOMMENDED
from tests.fakes.extender import place
from tests.unit.agent.tracking.streams import NOW


class Pod:
    """The pod ``team/train-1`` of the job ``train``, its files and its sources."""

    def __init__(self, directory: Path, annotation: str | None = None, **fields: Any) -> None:
        self.volume, self.logs = directory / "volume", directory / "pods"
        around = NodeContext(
            node="n1",
            volume=self.volume,
            pod_logs=self.logs,
            checkpoint_gid=None,
            limits=Limits(),
            open_files=OpenFiles(8),
            files=3,
            params=RECOMMENDED,
            interval_seconds=1.0,
            checkpoint_seconds=1.0,
            asked_seconds=1.0,
            find_seconds=1.0,
        )
        pod = place("train-1", job="train", metrics=annotation, **fields)
        self.sources = Sources(pod, places.metrics_place(annotation, path_variables(pod)), around)

    def write(self, name: str, *steps: int, at: float = NOW) -> Path:
        """Write lines of these steps to a file of the job."""
        file = self.volume / "team" / "train" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        with file.open("a") as stream:
            stream.writelines(f"{json.dumps({'step': n, 'loss': 1.0 / n})}\n" for n in steps)
        os.utime(file, (at, at))
        return file

    def print(self, container: str, *lines: str) -> None:
        """Have a container print."""
        file = self.logs / "team_train-1_uid-train-1" / container / "0.log"
        file.parent.mkdir(parents=True, exist_ok=True)
        with file.open("a") as stream:
            stream.writelines(f"2026-01-01T00:00:00.1Z stdout F {line}\n" for line in lines)

    def find(self) -> dict[str, float | None]:
        """Look for files and read them; return the step of each source."""
        self.sources.find()
        for source in self.sources.all:
            source.read(NOW, 1.0, Allowance())
        return {source.name: source.step for source in self.sources.all}


LOSSES = tuple(json.dumps({"step": n, "loss": 1.0}) for n in range(1, 5))


def test_files_by_the_convention_are_the_pods_own(tmp_path: Path) -> None:
    pod = Pod(tmp_path)
    for name in ("train-1.jsonl", "train-1-rank0.jsonl", "train-10.jsonl", "train-2.jsonl"):
        pod.write(f"metrics/{name}", 5)
    assert pod.find() == {
        "team/train/metrics/train-1-rank0.jsonl": 5,
        "team/train/metrics/train-1.jsonl": 5,
    }


def test_the_log_is_read_until_there_are_files(tmp_path: Path) -> None:
    pod = Pod(tmp_path)
    pod.print("main", *LOSSES)
    assert pod.find() == {"log of container main": 4}
    pod.write("metrics/train-1.jsonl", 7)
    assert pod.find() == {"team/train/metrics/train-1.jsonl": 7}


def test_of_several_containers_the_first_that_has_values_is_read(tmp_path: Path) -> None:
    pod = Pod(tmp_path)
    pod.print("a-proxy", "ready", "steady")
    pod.print("train", "starting")
    assert pod.find() == {"log of container a-proxy": None, "log of container train": None}
    pod.print("train", *LOSSES)
    pod.find()
    assert pod.find() == {"log of container train": 4}


def test_the_container_can_be_named(tmp_path: Path) -> None:
    pod = Pod(tmp_path, "path=log; container=second")
    pod.print("first", *LOSSES)
    assert pod.find() == {"log of container second": None}
    pod.print("second", *LOSSES)
    assert pod.find() == {"log of container second": 4}


def test_a_file_named_by_the_annotation_may_come_later(tmp_path: Path) -> None:
    pod = Pod(tmp_path, "path=runs/$(POD_NAME).jsonl")
    pod.print("main", *LOSSES)
    assert pod.find() == {}
    expected = "there is no file team/train/runs/train-1.jsonl on the volume yet"
    assert pod.sources.problem == expected
    pod.write("runs/train-1.jsonl", 3)
    assert pod.find() == {"team/train/runs/train-1.jsonl": 3}
    assert pod.sources.problem == ""


def test_of_too_many_files_those_written_last_are_read(tmp_path: Path) -> None:
    pod = Pod(tmp_path, "path=runs/version_*/metrics.jsonl")
    for number in range(8, 13):
        pod.write(f"runs/version_{number}/metrics.jsonl", number, at=NOW + number)
    assert set(pod.find().values()) == {10, 11, 12}
    assert pod.sources.problem == "5 files, of which the latest 3 are read"
    pod.write("runs/version_8/metrics.jsonl", 100, at=NOW + 100)
    assert set(pod.find().values()) == {100, 11, 12}


def test_values_stay_until_another_file_replaces_them(tmp_path: Path) -> None:
    pod = Pod(tmp_path)
    pod.print("main", *LOSSES)
    file = pod.write("metrics/train-1-a.jsonl", 1)
    pod.find()
    file.unlink()
    assert pod.find() == {"team/train/metrics/train-1-a.jsonl": 1}
    pod.write("metrics/train-1-b.jsonl", 9)
    assert pod.find() == {"team/train/metrics/train-1-b.jsonl": 9}


def test_content_of_a_file_at_its_discovery_is_backlog(tmp_path: Path) -> None:
    early, late = Pod(tmp_path / "a"), Pod(tmp_path / "b")
    early.write("metrics/train-1.jsonl", 5, 1, at=NOW - 60)
    early.find()
    late.find()
    late.write("metrics/train-1.jsonl", 5, 1, at=NOW - 60)
    late.find()
    (old,), (new,) = early.sources.all, late.sources.all
    assert (old.last_at, new.last_at) == (NOW - 60, NOW)


def test_the_newest_trainer_state_is_read_as_a_whole(tmp_path: Path) -> None:
    pod = Pod(tmp_path, "path=out/checkpoint-*/trainer_state.json")
    for step in (900, 1000):
        file = pod.write(f"out/checkpoint-{step}/trainer_state.json")
        history = [{"step": n, "loss": 1.0, "epoch": 1.0} for n in range(100, step + 1, 100)]
        file.write_text(json.dumps({"max_steps": 2000, "log_history": history}))
    assert pod.find() == {"team/train/out/checkpoint-*/trainer_state.json": 1000}
    (source,) = pod.sources.all
    assert (source.stream.format, source.total_steps) == ("trainer-state", 2000)


PROBLEMS = {
    "a container that is a path": ("path=log; container=../x", "the name of a container"),
    "a binary format in a log": ("path=log; format=tfevents", "a format of lines"),
    "a pattern that cannot be read": ("path=log; regex=(?P<value>", "a regular expression"),
}


@pytest.mark.parametrize(("annotation", "text"), PROBLEMS.values(), ids=PROBLEMS)
def test_an_unreadable_file_is_a_problem(tmp_path: Path, annotation: str, text: str) -> None:
    pod = Pod(tmp_path, annotation)
    pod.print("main", *LOSSES)
    assert pod.find() == {}
    assert "annotation shuntyard.io/metrics" in pod.sources.problem
    assert text in pod.sources.problem


def test_a_link_in_the_place_of_the_metrics_is_refused(tmp_path: Path) -> None:
    pod = Pod(tmp_path)
    secret = pod.write("../../secret.jsonl", 42)
    link = pod.volume / "team/train/metrics/train-1.jsonl"
    link.parent.mkdir(parents=True)
    link.symlink_to(secret)
    assert pod.find() == {}
    assert "links are not followed" in pod.sources.problem


def test_closing_closes_all_files(tmp_path: Path) -> None:
    pod = Pod(tmp_path)
    pod.write("metrics/train-1.jsonl", 1)
    pod.find()
    pod.sources.close()
    assert pod.sources.all == ()
