"""Laws of the slot world that hold for every policy and every workload."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from extender.core.parameters.combined import CoreParameters
from simulator.experiments.oasis.contest import RUNNERS
from simulator.experiments.oasis.workload import Setting, draw
from simulator.seeds import generator

SLOW = {"Dorm"}


def small(jobs: int, servers: int) -> Setting:
    return Setting(
        jobs,
        horizon=20,
        worker_servers=servers,
        server_servers=servers,
        step_slots=1,
        steps=12,
        chunks=(2, 30),
        epochs=(20, 80),
    )


@pytest.mark.parametrize("name", RUNNERS)
def test_no_policy_exceeds_a_capacity_or_runs_a_job_before_its_arrival(name: str) -> None:
    """``play`` checks each slot against (3) to (7) and raises."""

    @settings(max_examples=5 if name in SLOW else 20)
    @given(st.integers(1, 10_000), st.integers(1, 12), st.integers(2, 5))
    def holds(seed: int, jobs: int, servers: int) -> None:
        workload = draw(small(jobs, servers), generator(seed, 1))
        past = draw(small(jobs, servers), generator(seed, 2))
        run = RUNNERS[name](workload, past, CoreParameters())
        best = sum(job.utility.of(0) for job in workload.jobs)
        assert 0.0 <= run.utility <= best + 1e-9
        assert 0.0 <= run.gpu_share <= 1.0 + 1e-9
        for job, end in zip(workload.jobs, run.completions, strict=True):
            assert end is None or job.arrival <= end <= 20

    holds()
