"""The extender's own scheduler in the simulated cluster."""

from dataclasses import replace

import pytest

from extender.core.parameters.combined import PUBLISHED
from extender.core.parameters.queue import Order
from shared import labels
from simulator.cluster.engine_decider import EngineDecider
from simulator.cluster.run import simulate
from tests.unit.simulator.cluster.workloads import job, workload


def run(*jobs, cpus=(4, 4), order=Order.CPS, **fields):
    decider = EngineDecider(replace(PUBLISHED, order=order))
    return simulate(workload(*jobs, cpus=cpus), decider, **fields), decider


def started(run_):
    return {record.name: record.started_at for record in run_.jobs}


def test_a_gang_that_does_not_fit_waits_whole():
    result, _ = run(job("first", workers=5, seconds=10), job("second", workers=4, seconds=10))
    assert started(result) == {"first": 0, "second": 10}
    assert all(len(placed.workers) >= 4 for placed in result.placements)


def test_the_job_of_the_higher_class_goes_first():
    jobs = [
        job("now", workers=8, seconds=10),
        job("low", at=1, workers=8, class_value=-1),
        job("high", at=2, workers=8, class_value=1000),
    ]
    assert started(run(*jobs)[0]) == {"now": 0, "high": 10, "low": 20}
    assert started(run(*jobs, order=Order.CREATION)[0]) == {"now": 0, "low": 10, "high": 20}


def test_servers_and_workers_are_coupled_as_their_owner_wants():
    notes = {labels.AFFINITY: "ps,worker", labels.ANTI_AFFINITY: "ps"}
    one = job(workers=4, servers=2, server={"cpu": 1000}, annotations=notes)
    (placed,) = run(one)[0].placements
    assert len(set(placed.servers)) == 2
    assert [placed.workers.count(node) for node in placed.servers] == [2, 2]


def test_room_is_kept_for_a_job_that_has_waited_too_long():
    def jobs(most):
        return [
            job("runs", workers=4, seconds=100, expected_seconds=100),
            job("wide", at=1, workers=8, seconds=10, max_wait_seconds=most),
            *(job(f"narrow-{i}", at=50 + i, workers=4, seconds=200) for i in range(3)),
        ]

    patient, _ = run(*jobs(None))
    impatient, decider = run(*jobs(20))
    assert started(patient)["narrow-0"] == 50
    assert started(impatient)["wide"] == 100
    assert started(impatient)["narrow-0"] == 110
    assert decider.last is not None


def test_the_duration_of_a_job_predicts_the_next_of_its_name():
    jobs = [
        job("night-1", seconds=30),
        job("holds", at=40, workers=4, seconds=60, expected_seconds=60),
        job("wide", at=41, workers=8, seconds=10, max_wait_seconds=2),
        job("night-2", at=50, seconds=30),  # 30 s, known by the run before: over before wide starts
        job("stranger-2", at=51, seconds=30),
    ]
    result, decider = run(*jobs)
    assert started(result) == {
        "night-1": 0, "holds": 40, "wide": 100, "night-2": 50, "stranger-2": 110,
    }  # fmt: skip
    assert decider.last is not None
    assert decider.last.state.runs["default/group/night"] == (30.0, 30.0)


def test_an_elastic_gang_starts_with_what_fits_and_gets_the_rest_later():
    jobs = [
        job("holds", workers=5, seconds=20),
        job("grows", at=1, workers=4, least_workers=2, seconds=40, pause_seconds=2),
    ]
    result, _ = run(*jobs)
    grown = [p for p in result.placements if p.job == "grows"]
    assert [(p.at, p.by, len(p.workers)) for p in grown] == [(1, "start", 3), (20, "scale", 4)]
    assert result.jobs[1].rescales == 1
    assert result.jobs[1].completed_at == pytest.approx(20 + 2 + (160 - 19 * 3) / 4)


def test_a_job_that_comes_to_a_full_cluster_is_decided_without_the_others():
    cycles = []

    class Counting(EngineDecider):
        def decide(self, view):
            before = self.last
            actions = super().decide(view)
            cycles.append((view.now, self.last is not before))
            return actions

    jobs = [
        job("holds", workers=8, seconds=50),
        job("waits", at=1, workers=2),
        job("too", at=2, workers=2),
        job("hurries", at=3, workers=1, max_wait_seconds=4),
    ]
    result = simulate(workload(*jobs, cpus=(4, 4)), Counting())
    assert cycles == [(0, True), (1, True), (2, False), (3, False), (7, True), (50, True)]
    assert started(result) == {"holds": 0, "waits": 50, "too": 50, "hurries": 50}
    assert result.placements[1].job == "hurries"


def test_the_same_workload_gives_the_same_bytes():
    jobs = [job(f"j{i}", at=i % 7, workers=1 + i % 5, seconds=10 + i) for i in range(40)]
    first, second = (run(*jobs)[0].to_json() for _ in range(2))
    assert first == second


def test_cycles_repeat_as_in_the_live_loop():
    result, _ = run(job("j", at=1.0), job("k", at=1.1, class_value=1000), settle_seconds=0.2)
    assert [p.job for p in result.placements] == ["k", "j"]
    assert {p.at for p in result.placements} == {1.2}
