"""The recorded hour has what the simulated cluster did."""

import pytest

from bench.dashboards import recorded, recorded_parkings
from bench.dashboards import samples as hours
from bench.dashboards.recorded import Linear
from bench.dashboards.samples import HOUR_SECONDS, STEP_SECONDS
from extender.core.records.parking import Cause
from monitoring import server
from monitoring.dashboards.teams import TEAMS
from monitoring.queries import filled
from simulator.workload import GPU, Job, Workload, equal_machines
from tests.unit.monitoring.promtool import needs_promtool


def job(team, at, gpus, seconds):
    return Job(
        name=f"{team}-{at:g}",
        namespace=team,
        submitted_at=at,
        workers=gpus,
        worker={GPU: 1, "cpu": 1000},
        work=gpus * seconds,
        speed=Linear(),
    )


@pytest.fixture(scope="module")
def recording():
    machines = equal_machines(1, gpus=4, cpu_milli=64_000, memory=2**30)
    jobs = (job("vision", 0.0, 4, 600.0), job("speech", 60.0, 2, 300.0))
    return recorded.record(Workload(jobs, machines))


def at(recording, name, seconds, **labels):
    words = [f'{label}="{value}"' for label, value in labels.items()]
    found = [
        value
        for series, when, value in recording.samples
        if series.startswith(f"{name}{{") and when == seconds
        if all(word in series for word in words)
    ]
    return found[0] if found else None


def test_a_job_waits_until_the_gpus_are_free(recording):
    assert at(recording, "shuntyard_team_waiting_jobs", 300.0, team="speech") == 1
    assert at(recording, "shuntyard_team_gpus", 300.0, team="vision") == 4
    assert at(recording, "shuntyard_team_waiting_jobs", 630.0, team="speech") == 0
    assert at(recording, "shuntyard_team_gpus", 630.0, team="speech") == 2
    assert at(recording, "shuntyard_gpus", 630.0, state="free") == 2


def test_used_free_and_stranded_are_all_gpus_at_every_time(recording):
    times = {when for _, when, _ in recording.samples}
    for when in times:
        states = ("used", "free", "stranded")
        assert sum(at(recording, "shuntyard_gpus", when, state=one) for one in states) == 4


def test_gpu_seconds_are_those_that_the_jobs_ran(recording):
    last = max(when for _, when, _ in recording.samples)
    name = "shuntyard_team_gpu_seconds_total"
    for team, ran in (("vision", 4 * 600.0), ("speech", 2 * 300.0)):
        held = at(recording, name, last, team=team)
        assert held == pytest.approx(ran, abs=4 * STEP_SECONDS), "a look every 15 s"


def test_the_hour_of_the_page_has_waiting_jobs_of_every_team_and_stranded_gpus():
    work = recorded.workload()
    assert {one.namespace for one in work.jobs} == set(recorded._TEAMS)
    assert recorded.workload() == work
    assert max(one.submitted_at for one in work.jobs) < HOUR_SECONDS


@needs_promtool
def test_prometheus_answers_the_page_from_the_samples(recording, tmp_path):
    begin = 1_700_000_000.0
    file = tmp_path / "hour.txt"
    file.write_text("".join(hours.lines(recording.samples, begin)))
    server.fill(tmp_path, file)
    assert list((tmp_path / "data").iterdir()), "a block"
    assert all(filled(q, TEAMS, rate="1m", window="1h") for p in TEAMS.panels for q in p.queries)


@pytest.fixture(scope="module")
def parking_hour():
    return recorded_parkings.record(recorded_parkings.workload(recorded.workload()))


def test_jobs_leave_for_every_cause_that_the_extender_searches_for(parking_hour):
    name = "shuntyard_parkings_total"
    for cause in (Cause.SHARE, Cause.PRIORITY, Cause.ORDER, Cause.DRAIN, Cause.MOVE):
        ended = at(parking_hour, name, HOUR_SECONDS - STEP_SECONDS, cause=cause, outcome="Resumed")
        assert ended is not None
        assert ended > 0, cause


def test_every_job_that_was_parked_runs_again_or_is_counted_as_parked(parking_hour):
    last = HOUR_SECONDS - STEP_SECONDS
    restarts = sum(
        value
        for series, when, value in parking_hour.samples
        if series.startswith("shuntyard_parking_restarts_total") and when == last
    )
    ended = sum(
        value
        for series, when, value in parking_hour.samples
        if series.startswith("shuntyard_parkings_total") and when == last
    )
    assert 0 < restarts <= ended
