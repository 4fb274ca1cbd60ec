"""The live jobs equal the simulator's in speed with every number of workers, length, arrival."""

from itertools import product

import pytest

from bench.elastic import scenario
from bench.elastic.scenario import EXPERIMENTS
from simulator.experiments.drs import setting

SCALE = 0.04


@pytest.mark.parametrize(("experiment", "speed"), [*product(EXPERIMENTS, setting.SPEEDS)])
def test_a_job_takes_as_long_as_in_the_simulator_whatever_its_workers(
    experiment: str, speed: str
) -> None:
    for job in scenario.jobs(experiment, speed, seed=3, scale=SCALE):
        there = job.simulated
        for workers in range(there.least, there.most + 1):
            simulated = there.work / there.speed.rate(workers, there.servers)
            here = job.steps * job.pace.seconds(workers)
            assert here == pytest.approx(simulated * SCALE, rel=0.02)


def test_all_jobs_arrive_within_the_run_and_the_important_one_late() -> None:
    result = {job.name: job for job in scenario.jobs("mixed", "async", seed=1, scale=SCALE)}
    late = result.pop(scenario.URGENT)
    assert late.simulated.utility > max(job.simulated.utility for job in result.values())
    assert 200 * SCALE <= late.at_seconds <= 400 * SCALE
    assert all(0 <= job.at_seconds <= 120 * SCALE for job in result.values())
    assert len({job.seed for job in result.values()} | {late.seed}) == 4


def test_steps_are_short_at_the_workers_a_job_starts_with() -> None:
    for job in scenario.jobs("heavy", "sync", seed=1, scale=SCALE):
        assert job.pace.seconds(job.simulated.wanted) == pytest.approx(scenario.STEP_SECONDS)
