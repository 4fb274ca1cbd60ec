"""Each format gives the workload that its file describes."""

from pathlib import Path

import pytest

from extender.core.cluster.utility import Sigmoid, Steps
from simulator.traces.faults import Faults
from simulator.traces.opening import detected, open_trace
from simulator.workload import GPU, Job, Workload
from tests.unit.simulator.traces.places import FIXTURES


def _jobs(workload: Workload) -> dict[str, Job]:
    return {job.name: job for job in workload.jobs}


@pytest.fixture
def chronus() -> dict[str, Job]:
    return _jobs(open_trace(FIXTURES / "chronus" / "trace.csv"))


FORMATS = {
    "chronus": "chronus/trace.csv",
    "adaptdl": "adaptdl/workload.csv",
    "openb": "openb/pods.csv",
    "own": "own/jobs.csv",
}


@pytest.mark.parametrize(("name", "file"), FORMATS.items(), ids=FORMATS)
def test_the_head_line_identifies_the_format(name: str, file: str) -> None:
    assert detected(FIXTURES / file) == name


def test_json_lines_are_our_own_format() -> None:
    assert detected(FIXTURES / "own" / "lines.jsonl") == "own"


@pytest.mark.parametrize("file", FORMATS.values(), ids=FORMATS)
def test_jobs_come_in_the_order_of_submission_and_fit_a_machine(file: str) -> None:
    workload = open_trace(FIXTURES / file)
    times = [job.submitted_at for job in workload.jobs]
    assert times == sorted(times)
    for job in workload.jobs:
        assert any(
            all(machine.allocatable.get(name, 0) >= amount for name, amount in job.worker.items())
            for machine in workload.machines
        )


def test_chronus_a_worker_is_a_gpu_and_a_job_without_one_has_cpu_alone(chronus) -> None:
    assert chronus["chronus-1"].workers == 4
    assert chronus["chronus-1"].worker[GPU] == 1
    assert chronus["chronus-3"].workers == 1
    assert GPU not in chronus["chronus-3"].worker


def test_chronus_deadlines_count_from_the_submission_and_best_effort_has_none(chronus) -> None:
    assert chronus["chronus-0"].worth == Steps(((600.0, 10.0),))
    assert chronus["chronus-0"].deadline_seconds == 600
    assert chronus["chronus-1"].worth == Steps(((300.0, 10.0), (500.0, 4.0)))
    assert chronus["chronus-2"].worth is None
    assert chronus["chronus-2"].deadline_seconds is None


def test_chronus_a_job_on_one_node_takes_its_duration_and_longer_where_it_is_spread(
    chronus,
) -> None:
    job = chronus["chronus-1"]
    assert job.work / job.speed.rate(4, 1) == pytest.approx(200)
    assert job.work / job.speed.rate(4, 2) == pytest.approx(400)
    assert job.work / job.speed.rate(4, 3) == pytest.approx(200 / 0.375)


def test_chronus_a_job_larger_than_a_machine_is_fastest_on_the_fewest(chronus) -> None:
    job = chronus["chronus-2"]
    assert job.work / job.speed.rate(16, 2) == pytest.approx(100)
    assert job.work / job.speed.rate(16, 3) == pytest.approx(250)


def test_adaptdl_speed_is_the_measured_one() -> None:
    job = _jobs(open_trace(FIXTURES / "adaptdl" / "workload.csv"))["toy-0"]
    assert job.speed.rate(2, 1) == pytest.approx(1 / 0.8)  # 2 workers with 32 of 64 samples
    assert job.speed.rate(2, 2) == pytest.approx(1 / 1.2)
    assert job.speed.rate(4, 4) == pytest.approx(1 / 1.0)
    assert job.speed.rate(3, 2) == pytest.approx(1 / 1.5)  # two passes of 12 and of 21, in the mean


def test_adaptdl_a_share_that_does_not_fit_takes_passes_with_one_synchronisation() -> None:
    job = _jobs(open_trace(FIXTURES / "adaptdl" / "workload.csv"))["toy-0"]
    assert job.speed.rate(1, 1) == pytest.approx(1 / (0.7 + 0.6))


def test_adaptdl_work_is_the_measured_iterations_and_the_curve_what_the_score_lacks() -> None:
    job = _jobs(open_trace(FIXTURES / "adaptdl" / "workload.csv"))["toy-1"]
    assert job.work == 400
    assert job.curve is not None
    assert job.curve.loss(1.0) == pytest.approx(0.2)
    assert job.curve.loss(0.5) == pytest.approx(0.4)
    assert job.curve.loss(0.0) == pytest.approx(1.2)
    assert (job.least_workers, job.workers, job.most_workers) == (1, 2, 4)


def test_openb_a_pod_runs_from_scheduling_to_deletion_and_a_part_of_a_gpu_is_one() -> None:
    faults = Faults()
    jobs = _jobs(open_trace(FIXTURES / "openb" / "pods.csv", faults=faults))
    assert jobs["pod-0"].work == 550
    assert jobs["pod-0"].worker[GPU] == 1
    assert jobs["pod-1"].work == 40
    assert jobs["pod-2"].work == 1
    assert faults.notes == ["pod-1: never scheduled; taken to run for its whole life"]


def test_our_format_is_the_same_as_csv_and_as_json_lines() -> None:
    csv = open_trace(FIXTURES / "own" / "jobs.csv")
    lines = open_trace(FIXTURES / "own" / "lines.jsonl")
    assert csv.jobs == lines.jobs
    assert csv.machines == lines.machines


def test_our_format_has_utilities_speeds_curves_and_defaults() -> None:
    jobs = _jobs(open_trace(FIXTURES / "own" / "jobs.csv"))
    rich, plain = jobs["resnet-50"], jobs["plain"]
    assert rich.worth == Steps(((900.0, 10.0), (1800.0, 4.0)))
    assert jobs["late"].worth == Sigmoid(100.0, 0.01, 3600.0)
    assert rich.work / rich.speed.rate(2, 1) == pytest.approx(600)
    assert rich.work / rich.speed.rate(1, 1) == pytest.approx(600 * 1.8)
    assert (rich.least_workers, rich.most_workers, rich.movable) == (2, 4, True)
    assert rich.curve is not None
    assert (rich.curve.loss(0.0), rich.curve.loss(1.0)) == (pytest.approx(1), pytest.approx(0.2))
    assert plain.worker == {"cpu": 1000, "memory": 2**30}
    assert (plain.user_priority, plain.movable, plain.worth) == (5, False, None)


def test_the_same_file_is_the_same_workload() -> None:
    path: Path = FIXTURES / "own" / "jobs.csv"
    assert open_trace(path) == open_trace(path)
