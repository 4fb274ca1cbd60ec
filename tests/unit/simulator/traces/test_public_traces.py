"""The public traces are read in full: every line, without a fault."""

import pytest

from simulator.traces.opening import open_trace
from tests.unit.simulator.traces.places import public

COUNTS = {
    "Chronus": ("chronus/trace_job_Philly_MIX1.csv", 30940, 75, 21724),
    "AdaptDL 1": ("adaptdl/workload-1.csv", 160, 16, 0),
    "AdaptDL 2": ("adaptdl/workload-2.csv", 160, 16, 0),
    "AdaptDL 3": ("adaptdl/workload-3.csv", 160, 16, 0),
    "AdaptDL 4": ("adaptdl/workload-4.csv", 160, 16, 0),
    "openb": ("openb/openb_pod_list_default.csv", 8152, 1213, 0),
}


@pytest.mark.parametrize(("file", "jobs", "machines", "worths"), COUNTS.values(), ids=COUNTS)
def test_a_public_trace_is_read_in_full(file, jobs, machines, worths):
    workload = open_trace(public(file))
    assert len(workload.jobs) == jobs
    assert len(workload.machines) == machines
    assert sum(job.worth is not None for job in workload.jobs) == worths
    assert len({job.name for job in workload.jobs}) == jobs


def test_chronus_deadlines_leave_every_job_at_least_a_tenth_of_slack():
    jobs = open_trace(public("chronus/trace_job_Philly_MIX1.csv")).jobs
    slack = [j.deadline_seconds * j.workers / j.work for j in jobs if j.deadline_seconds]
    assert 1.1 <= min(slack) <= max(slack) <= 5


def test_adaptdl_jobs_are_elastic_and_report_curves():
    jobs = open_trace(public("adaptdl/workload-1.csv")).jobs
    assert all(job.curve is not None and job.most_workers > 1 for job in jobs)
    assert all(job.speed.rate(w, n) > 0 for job in jobs for w in (1, 3, 64) for n in (1, 2, 16))
