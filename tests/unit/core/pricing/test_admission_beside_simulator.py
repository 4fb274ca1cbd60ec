"""The testbed of the paper, twelve jobs in ten slots: the live core beside the simulator.

Live nobody moves from slot to slot, and parameter servers stay where they are. Where the paper's
schedule would have somebody move, the plan is another one; who is admitted is the same.
"""

import pytest

from tests.unit.core.pricing.testbed_live import live, simulated, workload


@pytest.mark.parametrize("seed", [0, 1, 2, 3, 6, 7])
@pytest.mark.parametrize("servers", [0, 1])
def test_the_same_jobs_are_admitted_into_the_same_slots(seed, servers):
    jobs = workload(seed, servers=servers)
    found = simulated(jobs)
    assert live(jobs) == found
    assert len(found) >= 8


@pytest.mark.parametrize(("servers", "seed"), [(0, 4), (0, 20), (0, 23), (1, 4), (1, 8), (1, 19)])
def test_where_somebody_would_have_to_move_the_same_jobs_are_admitted(servers, seed):
    jobs = workload(seed, servers=servers)
    ours, theirs = live(jobs), simulated(jobs)
    assert ours != theirs
    assert set(ours) == set(theirs)
