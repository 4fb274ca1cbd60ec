"""The baselines of the OASiS experiments on cases small enough to work out by hand."""

import numpy as np
import pytest

from extender.core.cluster.utility import Sigmoid
from extender.core.pricing.slots import SlotCluster
from extender.core.pricing.training_job import TrainingJob
from simulator.baselines import dorm, drf, slot_order
from simulator.baselines.dorm import Dorm
from simulator.baselines.drf import fluid_shares
from simulator.baselines.slot_order import DensityGreedy, Fifo, ShortestRemaining
from simulator.models.slot_world import SlotPolicy, Unfinished, play
from tests.unit.simulator.slot_cases import cluster, job, workload

URGENT = Sigmoid(10.0, 5.0, 2.0)


def widths(
    policy: SlotPolicy, jobs: list[TrainingJob], slot: int = 1, *, changed: bool = True
) -> dict[int, int]:
    """Return the number of workers of each job; no work is done yet."""
    unfinished = [Unfinished(n, each, each.work) for n, each in enumerate(jobs)]
    result = policy.allocate(slot, unfinished, changed=changed)
    return {index: placement.width for index, placement in result.items()}


def test_fifo_never_starts_a_job_before_an_earlier_one() -> None:
    jobs = [job("a", work=40), job("b", work=40), job("c", work=40)]
    first = Fifo(workload(jobs, cluster([3.0, 2.0], [9.0]), [3, 3, 1]))
    assert widths(first, jobs) == {0: 3}


def test_fifo_passes_over_a_job_that_never_fits() -> None:
    jobs = [job("a", work=40, most=9), job("b", work=40)]
    assert widths(Fifo(workload(jobs, cluster([4.0], [9.0]), [9, 2])), jobs) == {1: 2}


def test_fifo_keeps_running_jobs_in_place() -> None:
    jobs = [job("a", work=3), job("b", work=9, most=3), job("c", work=1, most=1)]
    machines = cluster([3.0, 3.0], [9.0])
    run = play(workload(jobs, machines, [3, 3, 1]), Fifo(workload(jobs, machines, [3, 3, 1])))
    assert run.completions == (1, 3, 2)


def test_drf_gives_equal_dominant_shares() -> None:
    jobs = [job("a", work=99, most=99, cpu=1.0), job("b", work=99, most=99, cpu=2.0)]
    machines = cluster([12.0], [99.0])
    assert widths(drf.Drf(workload(jobs, machines)), jobs) == {0: 6, 1: 3}


def test_drf_counts_the_parameter_servers() -> None:
    """Each of b's workers needs a server: 5 of 8 is beside 9 and then 10 of 15 workers of a."""
    jobs = [job("a", work=99, most=99, ratio=0.001), job("b", work=99, most=99, ratio=1.0)]
    result = widths(drf.Drf(workload(jobs, cluster([15.0], [8.0]))), jobs)
    assert result == {0: 10, 1: 5}


def test_drf_serves_a_hopeless_job_and_the_repaired_one_does_not() -> None:
    jobs = [job("a", work=99, most=1, utility=URGENT), job("b", work=99, most=99)]
    work = workload(jobs, cluster([4.0], [9.0]))
    assert widths(drf.Drf(work), jobs) == {0: 1, 1: 3}
    assert widths(drf.with_drop(work), jobs) == {1: 4}


def test_the_repaired_drf_drops_a_job_when_it_becomes_hopeless() -> None:
    jobs = [job("a", work=2, most=1, utility=URGENT), job("b", work=99, most=99)]
    policy = drf.with_drop(workload(jobs, cluster([4.0], [9.0])))
    assert widths(policy, jobs) == {0: 1, 1: 3}
    assert widths(policy, jobs, 5, changed=False) == {1: 4}


def test_rrh_turns_away_a_job_that_costs_the_others_more_than_its_value() -> None:
    urgent = job("a", work=8, utility=Sigmoid(100.0, 1.0, 2.0))
    cheap = job("b", work=8, utility=Sigmoid(20.0, 0.0, 5.0))
    work = workload([urgent, cheap], cluster([8.0], [9.0]))
    assert widths(slot_order.Rrh(work), [urgent, cheap]) == {0: 4}
    assert widths(slot_order.without_admission(work), [urgent, cheap]) == {0: 4, 1: 4}


def test_rrh_runs_the_job_with_the_larger_reward() -> None:
    small = job("a", work=8, utility=Sigmoid(2.0, 0.0, 5.0))
    large = job("b", work=8, utility=Sigmoid(20.0, 0.0, 5.0))
    result = widths(slot_order.Rrh(workload([small, large], cluster([4.0], [9.0]))), [small, large])
    assert result == {1: 4}


def test_the_shortest_remaining_job_is_as_wide_as_it_can_be() -> None:
    jobs = [job("a", work=9, most=9), job("b", work=2, most=9)]
    policy = ShortestRemaining(workload(jobs, cluster([4.0], [9.0])))
    assert widths(policy, jobs) == {0: 2, 1: 2}


def test_density_is_utility_per_resource() -> None:
    jobs = [
        job("a", work=8, utility=Sigmoid(16.0, 0.0, 5.0)),
        job("b", work=4, utility=Sigmoid(10.0, 0.0, 5.0)),
    ]
    policy = DensityGreedy(workload(jobs, cluster([4.0], [9.0])))
    assert widths(policy, jobs) == {1: 4}


def test_density_puts_a_job_that_is_too_late_last() -> None:
    jobs = [job("a", work=4, utility=Sigmoid(99.0, 6.0, 1.0)), job("b", work=8, most=2)]
    policy = DensityGreedy(workload(jobs, cluster([4.0], [9.0])))
    assert widths(policy, jobs) == {0: 4}
    assert widths(policy, jobs, 9) == {0: 2, 1: 2}


def test_fluid_shares_grow_equally_until_a_resource_is_full() -> None:
    jobs = [job("a", most=2, cpu=1.0), job("b", most=99, cpu=2.0), job("c", most=99, cpu=2.0)]
    shares = fluid_shares(jobs, cluster([10.0], [999.0]))
    assert shares.tolist() == pytest.approx([0.2, 0.4, 0.4])


def test_dorm_fills_the_cluster_and_keeps_running_jobs() -> None:
    jobs = [job("a", work=99, most=3), job("b", work=99, most=99)]
    policy = Dorm(workload(jobs, cluster([7.0], [9.0])))
    first = widths(policy, jobs)
    assert sum(first.values()) == 7
    later = [*jobs, job("c", work=99, most=99)]
    after = widths(policy, later)
    assert sum(after.values()) == 7
    assert sum(after.get(index) != width for index, width in first.items()) <= 1
    assert policy.effort.without == 0


def test_dorm_keeps_and_fills_where_its_program_has_no_solution(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    jobs = [job("a", work=99, most=3), job("b", work=99, most=99)]
    policy = Dorm(workload(jobs, cluster([7.0], [9.0])))
    assert widths(policy, jobs[:1]) == {0: 3}
    monkeypatch.setattr(dorm, "FAIRNESS", -1.0)
    assert widths(policy, jobs) == {0: 3, 1: 4}
    assert policy.effort.without == 1


def test_dorm_runs_in_a_world_without_fragmentation() -> None:
    """Two servers with half a worker's room each can run it together."""
    machines = SlotCluster(np.full((2, 5), 0.5), np.full((2, 5), 5.0), 5)
    run, effort = dorm.run(workload([job("a", work=1, most=1)], machines))
    assert run.completions == (1,)
    assert effort.solved == 1
