"""Lines of metrics: whole, in order, whatever happens."""

from __future__ import annotations

import json
import logging
import math
import os
import subprocess
import sys
from pathlib import Path

import pytest

from shuntyard_trainer import Environment, MetricsWriter
from tests.unit.trainer.hand_clock import HandClock
from tests.unit.trainer.processes import ROOT

HALF_LINES = {
    "half a line is ended first": ('{"time": 1, "st', '{"time": 1, "st\n'),
    "a line without its end is ended first": ('{"time": 1}', '{"time": 1}\n'),
    "a whole line stays as it is": ('{"time": 1}\n', '{"time": 1}\n'),
    "an empty file stays empty": ("", ""),
}


class Scalar:
    """As a tensor of one element."""

    def __float__(self) -> float:
        return 0.25


def _write(path: Path, step: int, **values: object) -> str:
    with MetricsWriter(path, clock=HandClock()) as metrics:
        metrics.write(step, **values)
    return path.read_text()


def test_a_line_byte_by_byte(tmp_path: Path) -> None:
    line = _write(tmp_path / "m.jsonl", 3, loss=0.5, accuracy=Scalar(), total_steps=9)
    assert line == (
        '{"time": 1800000000.0, "step": 3, "loss": 0.5, "accuracy": 0.25, "total_steps": 9}\n'
    )


def test_nan_and_infinity_are_kept(tmp_path: Path) -> None:
    line = _write(tmp_path / "m.jsonl", 3, a=math.nan, b=math.inf, c=-math.inf)
    assert '"a": NaN, "b": Infinity, "c": -Infinity' in line
    assert math.isnan(json.loads(line)["a"])


def test_a_name_with_a_slash_is_given_as_a_mapping(tmp_path: Path) -> None:
    assert json.loads(_write(tmp_path / "m.jsonl", 1, **{"eval/loss": 1}))["eval/loss"] == 1.0


@pytest.mark.parametrize(("before", "after"), HALF_LINES.values(), ids=HALF_LINES)
def test_what_an_earlier_life_left(tmp_path: Path, before: str, after: str) -> None:
    path = tmp_path / "m.jsonl"
    path.write_text(before)
    text = _write(path, 1, loss=1)
    assert text.startswith(after)
    assert json.loads(text[len(after) :])["loss"] == 1.0


def test_directories_are_made(tmp_path: Path) -> None:
    assert _write(tmp_path / "a" / "b" / "m.jsonl", 1, loss=1)


@pytest.mark.parametrize("name", ["", "1loss", "lo ss", "time", "total_steps", "l" * 101, "lo\nss"])
def test_a_name_that_cannot_be_used_is_refused(tmp_path: Path, name: str) -> None:
    with MetricsWriter(tmp_path / "m.jsonl") as metrics, pytest.raises((ValueError, TypeError)):
        metrics.write(1, **{name: 1.0})
    assert (tmp_path / "m.jsonl").read_text() == ""


REFUSED = {
    "no value": ((1,), {}, ValueError),
    "a step below 0": ((-1,), {"loss": 1}, ValueError),
    "a step that is no integer": ((1.5,), {"loss": 1}, TypeError),
    "a value that is a text": ((1,), {"loss": "0.5"}, TypeError),
    "a value that is no number": ((1,), {"loss": [1]}, TypeError),
    "a total below 0": ((1,), {"loss": 1, "total_steps": -1}, ValueError),
}


@pytest.mark.parametrize(("given", "named", "error"), REFUSED.values(), ids=REFUSED)
def test_a_line_is_refused_with(
    tmp_path: Path, given: tuple[object, ...], named: dict[str, object], error: type[Exception]
) -> None:
    with MetricsWriter(tmp_path / "m.jsonl") as metrics, pytest.raises(error):
        metrics.write(*given, **named)
    assert (tmp_path / "m.jsonl").read_text() == ""


def test_a_closed_writer_raises(tmp_path: Path) -> None:
    metrics = MetricsWriter(tmp_path / "m.jsonl")
    metrics.close()
    metrics.close()
    with pytest.raises(ValueError, match="closed"):
        metrics.write(1, loss=1)


def test_a_line_is_one_write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    writes: list[bytes] = []
    write = os.write
    monkeypatch.setattr(os, "write", lambda fd, data: (writes.append(data), write(fd, data))[1])
    (tmp_path / "m.jsonl").write_text("torn")
    _write(tmp_path / "m.jsonl", 1, loss=1, accuracy=2)
    assert len(writes) == 1


def test_several_processes_do_not_mix_their_lines(tmp_path: Path) -> None:
    program = (
        "import sys; from shuntyard_trainer import MetricsWriter\n"
        "metrics = MetricsWriter(sys.argv[1])\n"
        "for step in range(300): metrics.write(step, **{sys.argv[2] * 50: 1.0})\n"
    )
    command = [sys.executable, "-c", program, str(tmp_path / "m.jsonl")]
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "trainer")}
    processes = [subprocess.Popen([*command, name], env=environment) for name in "abc"]
    assert [process.wait(60) for process in processes] == [0, 0, 0]
    lines = [json.loads(line) for line in (tmp_path / "m.jsonl").read_text().splitlines()]
    assert len(lines) == 900


def test_a_failing_write_is_counted_and_logged_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def full(_descriptor: int, _data: bytes) -> int:
        raise OSError(28, "No space left on device")

    metrics = MetricsWriter(tmp_path / "m.jsonl")
    with monkeypatch.context() as patch, caplog.at_level(logging.WARNING):
        patch.setattr(os, "write", full)
        metrics.write(1, loss=1)
        metrics.write(2, loss=1)
    metrics.write(3, loss=1)
    metrics.close()
    assert metrics.lost_lines == 2
    assert caplog.text.count("No space left") == 1
    assert json.loads((tmp_path / "m.jsonl").read_text())["step"] == 3


def test_after_a_short_write_the_next_line_begins_on_a_line_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = os.write
    metrics = MetricsWriter(tmp_path / "m.jsonl")
    with monkeypatch.context() as patch:
        patch.setattr(os, "write", lambda fd, data: write(fd, data[:9]))
        metrics.write(1, loss=1)
    metrics.write(2, loss=1)
    metrics.close()
    _, whole = (tmp_path / "m.jsonl").read_text().splitlines()
    assert (json.loads(whole)["step"], metrics.lost_lines) == (2, 1)


def test_without_a_file_lines_are_thrown_away_but_checked() -> None:
    metrics = MetricsWriter.from_environment(Environment())
    metrics.write(1, loss=1)
    with pytest.raises(ValueError, match="name of a metric"):
        metrics.write(1, time=1)


def test_the_first_process_of_a_pod_writes(tmp_path: Path) -> None:
    for local_rank in (0, 1):
        here = Environment(metrics_file=tmp_path / "m.jsonl", local_rank=local_rank)
        with MetricsWriter.from_environment(here) as metrics:
            metrics.write(local_rank, loss=1)
    assert len((tmp_path / "m.jsonl").read_text().splitlines()) == 1


def test_a_file_that_cannot_be_opened_raises_at_once(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="directory"):
        MetricsWriter(tmp_path)
