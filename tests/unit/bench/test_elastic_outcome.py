"""The outcome of runs is read from the trainers' own files and shown unchanged."""

import argparse
import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from bench import elastic, report, results
from bench.elastic import outcome, picture
from bench.elastic.outcome import JobOutcome, Outcome, Step, row, workers_over_time
from bench.elastic.running import Changes

JOB = JobOutcome("job-1", 2, 0.0, 30.0, 40, 0, 0, 1, ((5.0, 2), (10.0, 3)), 0.5, 0.5)
LAST = JobOutcome("job-4", 1, 10.0, 60.0, 40, 1, 2, 2, ((20.0, 1),), 0.25, 0.5)
RUN = Outcome("ours", "mixed", "async", 1, 0.04, 0.5, 55.0, (JOB, LAST))


def test_steps_are_in_time_order_and_a_torn_line_is_left_out(tmp_path: Path) -> None:
    folder = tmp_path / "metrics"
    folder.mkdir()
    lines = [{"step": n, "time": float(n), "workers": 1.0, "loss": 1 / n} for n in (1, 2, 3)]
    (folder / "b.jsonl").write_text(json.dumps(lines[0]) + "\n")
    (folder / "a.jsonl").write_text("".join(json.dumps(x) + "\n" for x in lines[1:]) + '{"st')
    assert [step.number for step in outcome.steps(tmp_path)] == [1, 2, 3]
    assert outcome.steps(tmp_path)[1] == Step(2, 2.0, 1, 0.5)
    assert not outcome.done(tmp_path)


def test_workers_over_time_has_a_point_for_each_change() -> None:
    steps = [Step(n, 100.0 + n, workers, 0.0) for n, workers in enumerate((1, 2, 2, 1), start=1)]
    assert workers_over_time(steps, 100.0) == ((1.0, 1), (2.0, 2), (4.0, 1))


def test_only_changes_of_a_job_that_is_not_suspended_are_rescales() -> None:
    seen = Changes()
    for suspended, workers in ((True, 3), (False, 2), (False, 2), (False, 4), (False, 2)):
        spec = {"suspend": suspended, "parallelism": workers}
        seen.note({"metadata": {"name": "a"}, "spec": spec})
    assert seen.workers == {"a": [2, 4, 2]}


def test_a_run_has_a_last_end_a_mean_and_a_largest_difference() -> None:
    assert (RUN.makespan, RUN.mean, RUN.urgent, RUN.rescales) == (60.0, 40.0, 50.0, 3)
    assert RUN.loss_difference == pytest.approx(0.25)


def test_rows_can_be_read_again_and_make_a_line_of_the_table() -> None:
    made: Any = msgspec.json.decode(msgspec.json.encode(row(RUN)))
    assert msgspec.convert(made, Outcome) == RUN
    line = list(report.elastic([made]))[-1]
    assert line == "| mixed | 1 | ours | 60.0 s | 55.0 s | 40.0 s | 50.0 s | 3 | 2e-01 | 3 |"


def test_kept_results_are_reported_without_a_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kept, drawn = tmp_path / "elastic.json", tmp_path / "elastic.svg"
    results.write(kept, [row(RUN)], calibration=[])
    parser = argparse.ArgumentParser()
    elastic.add_arguments(parser)
    options = parser.parse_args(["--read", str(kept), "--plot", str(drawn)])
    assert elastic.run(options) == 0
    assert "| mixed | 1 | ours |" in capsys.readouterr().out
    assert drawn.exists()


def test_the_picture_has_a_chart_for_each_run(tmp_path: Path) -> None:
    other = msgspec.structs.replace(RUN, contestant="fixed", experiment="light")
    picture.draw([RUN, other], tmp_path / "a.svg")
    drawn = (tmp_path / "a.svg").read_text()
    assert "ours: makespan 60 s" in drawn
    assert "light: workers" in drawn
    picture.draw([RUN, other], tmp_path / "b.svg")
    assert (tmp_path / "b.svg").read_text() == drawn
