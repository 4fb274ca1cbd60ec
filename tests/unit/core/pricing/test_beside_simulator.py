"""The testbed of the paper, twelve jobs in ten slots: the core beside the simulator.

In the core no pod moves from slot to slot, and parameter servers stay on their nodes. If the
paper's schedule would move a pod, the plan is another one, but the same jobs are admitted.
"""

import pytest

from tests.unit.core.pricing.testbed_cluster import live, simulated, workload


@pytest.mark.parametrize("seed", [0, 1, 2, 3, 6, 7])
@pytest.mark.parametrize("servers", [0, 1])
def test_the_same_jobs_are_admitted_into_the_same_slots(seed, servers):
    jobs = workload(seed, servers=servers)
    expected = simulated(jobs)
    assert live(jobs) == expected
    assert len(expected) >= 8


@pytest.mark.parametrize(("servers", "seed"), [(0, 4), (0, 20), (0, 23), (1, 4), (1, 8), (1, 19)])
def test_the_same_jobs_are_admitted_if_a_pod_would_have_to_move(servers, seed):
    jobs = workload(seed, servers=servers)
    planned, expected = live(jobs), simulated(jobs)
    assert planned != expected
    assert set(planned) == set(expected)
