"""A bad line is named, and never dropped silently."""

import shutil
from pathlib import Path

import pytest

from simulator.traces.errors import TraceError
from simulator.traces.faults import Faults
from simulator.traces.opening import open_trace
from tests.unit.simulator.traces.places import FIXTURES

REPLACED = {
    "chronus: a count that is no number": (
        "chronus/trace.csv",
        "1,vc_a,4,",
        "1,vc_a,four,",
        "trace.csv:3: num_gpu: 'four' is not a whole number of at least 0",
    ),
    "chronus: a model without a locality": (
        "chronus/trace.csv",
        "vgg16,200",
        "gpt,200",
        "trace.csv:3: model_name: 'gpt' is not a model of model_info.json: alexnet, vgg16",
    ),
    "chronus: fewer values than deadlines": (
        "chronus/trace.csv",
        "10-4",
        "10",
        "trace.csv:3: expect_value_list: '10' is not as many values as there are deadlines (2)",
    ),
    "chronus: a line with a field too few": (
        "chronus/trace.csv",
        ",0,soft",
        ",0",
        "trace.csv:3: fields: '1,vc_a,4,10,100,vgg16,200,10,300-500,10-4,0' is not 12 fields",
    ),
    "adaptdl: a batch without a measured curve": (
        "adaptdl/workload.csv",
        "toy,2,64",
        "toy,2,65",
        "workload.csv:2: batch_size: '65' is not a measured batch: 64",
    ),
    "adaptdl: an application without measurements": (
        "adaptdl/workload.csv",
        "toy,2,64",
        "tiger,2,64",
        "workload.csv:2: application: 'tiger' is not a folder with measurements",
    ),
    "openb: deleted before it was scheduled": (
        "openb/pods.csv",
        "100,700,150",
        "100,140,150",
        "pods.csv:2: deletion_time: '140' is not a time not before scheduled_time",
    ),
    "ours: a duration of nothing": (
        "own/jobs.csv",
        "plain,0,1,60",
        "plain,0,1,0",
        "jobs.csv:3: duration_s: '0' is not a number above 0",
    ),
    "ours: a utility that rises": (
        "own/jobs.csv",
        "steps:900=10;1800=4",
        "steps:900=4;1800=10",
        "jobs.csv:2: utility: 'steps:900=4;1800=10' is not sigmoid:",
    ),
    "ours: fewer workers at most than asked for": (
        "own/jobs.csv",
        "600,1,4,",
        "600,1,1,",
        "jobs.csv:2: workers: '2' is not a job (resnet-50: least_workers 2, workers 2",
    ),
    "ours: not finite": (
        "own/jobs.csv",
        "plain,0,",
        "plain,inf,",
        "jobs.csv:3: submitted_s: 'inf' is not a number of at least 0",
    ),
    "ours: neither true nor false": (
        "own/jobs.csv",
        ",true",
        ",yes",
        "jobs.csv:2: movable: 'yes' is not true or false",
    ),
    "ours, JSON: no object": (
        "own/lines.jsonl",
        '{"name": "plain"',
        '["plain"',
        "lines.jsonl:2: line: ",
    ),
    "ours, JSON: an unknown key": (
        "own/lines.jsonl",
        '"max_wait_s"',
        '"max_wait"',
        "lines.jsonl:3: column: 'max_wait' is not one of name,",
    ),
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return Path(shutil.copytree(FIXTURES, tmp_path / "traces"))


def _replaced(folder: Path, file: str, old: str, new: str) -> Path:
    path = folder / file
    text = path.read_text()
    assert text.count(old) == 1
    path.write_text(text.replace(old, new))
    return path


@pytest.mark.parametrize(("file", "old", "new", "text"), REPLACED.values(), ids=REPLACED)
def test_a_bad_line_names_file_line_field_and_expectation(folder, file, old, new, text):
    path = _replaced(folder, file, old, new)
    with pytest.raises(TraceError) as caught:
        open_trace(path)
    assert text in str(caught.value)
    assert str(path) in str(caught.value)


@pytest.mark.parametrize(("file", "old", "new", "text"), REPLACED.values(), ids=REPLACED)
def test_bad_lines_are_skipped_on_request_and_counted(folder, file, old, new, text):
    whole = len(open_trace(folder / file).jobs)
    path = _replaced(folder, file, old, new)
    faults = Faults(skip=True)
    assert len(open_trace(path, faults=faults).jobs) == whole - 1
    assert [text in str(error) for error in faults.skipped] == [True]


def test_a_missing_column_is_reported_before_any_line(folder):
    path = _replaced(folder, "own/jobs.csv", "duration_s", "duration")
    with pytest.raises(TraceError, match="a head line of chronus"):
        open_trace(path)
    with pytest.raises(TraceError, match="a head line with duration_s"):
        open_trace(path, "own")


def test_one_name_for_two_jobs_is_refused(folder):
    path = _replaced(folder, "own/jobs.csv", "plain,", "late,")
    with pytest.raises(TraceError, match="'late' is not a name that only one job has"):
        open_trace(path)


MISSING = {
    "the trace": ("own/nothing.csv", None, "a file or folder that exists"),
    "the machines of ours": ("own/jobs.csv", "own/jobs.machines.csv", "the machines beside"),
    "the nodes of openb": ("openb/pods.csv", "openb/openb_node_list_gpu_node.csv", "list of nodes"),
    "the localities of chronus": ("chronus/trace.csv", "chronus/model_info.json", "locality table"),
}


@pytest.mark.parametrize(("file", "removed", "text"), MISSING.values(), ids=MISSING)
def test_a_missing_file_is_named(folder, file, removed, text):
    if removed:
        (folder / removed).unlink()
    with pytest.raises(TraceError, match=text):
        open_trace(folder / file)


def test_an_unknown_format_is_refused_with_the_known_ones():
    with pytest.raises(TraceError, match="'philly' is not one of chronus, adaptdl, openb, own"):
        open_trace(FIXTURES / "own" / "jobs.csv", "philly")
