"""Metrics of a run, computed by hand, and dominance between runs."""

import msgspec
import pytest

from extender.core.cluster.utility import Steps
from simulator.cluster.records import JobRecord, Run
from simulator.comparison import metrics, verdicts
from simulator.comparison.comparing import Seeded
from simulator.comparison.metrics import Metrics
from simulator.workload import GPU, Workload
from tests.unit.simulator.comparison.small import job, machines

WORTH = Steps(((100.0, 10.0), (500.0, 4.0)))


def _record(name, at, started, completed, **more) -> JobRecord:
    blank = JobRecord(name, at, started, completed, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0)
    return msgspec.structs.replace(blank, **more)


@pytest.fixture
def found() -> Metrics:
    jobs = (
        job("early", 10, 100, 2, worth=WORTH, deadline_seconds=100.0),
        job("late", 20, 50, 1, worth=WORTH, deadline_seconds=100.0),
        job("never", 30, 40, 1),
    )
    records = (
        _record("early", 10, 10, 110, migrations=2),
        _record("late", 20, 110, 320, rescales=1, lost_work=25.0),
        _record("never", 30, None, None, preemptions=0),
    )
    run = Run("", 320, records, (), {GPU: 0.5, "cpu": 0.1}, 3)
    return metrics.measure(Workload(jobs, machines(1)), run, 430.0)


def test_times_count_from_submission_and_uncompleted_jobs_count_to_the_horizon(found):
    assert found.completed == pytest.approx(2 / 3)
    assert found.mean_jct == pytest.approx((100 + 300 + 400) / 3)
    assert found.median_jct == 300
    assert found.makespan == 420
    assert found.queueing == pytest.approx((0 + 90 + 400) / 3)


def test_value_is_the_share_of_the_value_on_an_empty_cluster(found):
    assert found.value == pytest.approx((10 + 4) / (10 + 10))
    assert found.deadline_hits == pytest.approx(1 / 2)


def test_rho_is_the_time_divided_by_the_time_alone(found):
    assert found.rho_mean == pytest.approx((1 + 6 + 10) / 3)


def test_utilisation_is_of_the_gpus_until_the_horizon(found):
    assert found.utilisation == pytest.approx(0.5 * (320 - 10) / 420)


def test_costs_are_sums_and_lost_work_is_in_seconds(found):
    assert (found.migrations, found.rescales, found.preemptions) == (2, 1, 0)
    assert found.lost_seconds == pytest.approx(25.0 / 50.0 * 50.0)


def test_a_workload_without_utilities_has_no_value():
    jobs = (job("a", 0, 10),)
    run = Run("", 10, (_record("a", 0, 0, 10),), (), {}, 1)
    result = metrics.measure(Workload(jobs, machines(1)), run, 10.0)
    assert result.value is None
    assert result.deadline_hits is None


def test_the_horizon_is_the_last_completion_of_any_run():
    one = Run("", 0, (_record("a", 0, 0, 10), _record("b", 0, 0, None)), (), {}, 1)
    other = Run("", 0, (_record("a", 0, 0, 70),), (), {}, 1)
    assert metrics.horizon([one, other]) == 70
    assert metrics.horizon([]) == 0


def _seeded(seed: int, found: Metrics, **times: tuple[float, float, float]) -> Seeded:
    def with_times(value: float, mean: float, makespan: float) -> Metrics:
        return msgspec.structs.replace(found, value=value, mean_jct=mean, makespan=makespan)

    return Seeded(seed, 3, 1, {name: with_times(*numbers) for name, numbers in times.items()})


def test_one_dominates_if_it_is_nowhere_worse_and_somewhere_better(found):
    seeds = [_seeded(1, found, a=(0.9, 10, 100), b=(0.9, 20, 100), c=(1.0, 30, 90))]
    assert verdicts.dominates(seeds, "a", "b")
    assert not verdicts.dominates(seeds, "b", "a")
    assert not verdicts.dominates(seeds, "a", "a")
    assert not verdicts.dominates(seeds, "a", "c")
    assert verdicts.front(seeds, ("a", "b", "c")) == ("a", "c")


def test_a_difference_is_paired_positive_for_better_and_clear_beyond_two_errors(found):
    clear = [_seeded(i, found, a=(1, 10 + i, 1), b=(1, 20 + i + i % 2, 1)) for i in range(6)]
    gap = verdicts.difference(clear, "a", "b", "mean")
    assert gap is not None
    assert gap.mean == pytest.approx(10.5)
    assert verdicts.clearly(gap) == 1
    assert verdicts.clearly(verdicts.difference(clear, "b", "a", "mean")) == -1
    noise = [_seeded(i, found, a=(1, 10, 1), b=(1, 10 + (-9) ** i, 1)) for i in range(4)]
    assert verdicts.clearly(verdicts.difference(noise, "a", "b", "mean")) == 0


def test_one_seed_gives_no_clear_difference(found):
    seeds = [_seeded(1, found, a=(1, 10, 1), b=(1, 99, 1))]
    assert verdicts.clearly(verdicts.difference(seeds, "a", "b", "mean")) == 0


def test_without_utilities_the_front_is_on_the_two_times(found):
    one = _seeded(1, found, a=(1, 10, 1), b=(1, 99, 1))
    plain = {n: msgspec.structs.replace(m, value=None) for n, m in one.found.items()}
    assert verdicts.objectives([Seeded(1, 3, 1, plain)], ("a", "b")) == ("mean", "makespan")
