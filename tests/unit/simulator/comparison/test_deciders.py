"""The policies as schedulers of the cluster model: the effect of each, and that all jobs finish."""

import pytest

from extender.core.cluster.utility import Steps
from extender.core.parameters.queue import ServiceParameters
from simulator.baselines.estimates import Estimates
from simulator.cluster.run import simulate
from simulator.comparison.deciders.combined import Combined, CombinedParameters
from simulator.comparison.deciders.count_balancing import CountBalancing
from simulator.comparison.deciders.drs import Drs
from simulator.comparison.deciders.oasis import Oasis, Slotted
from simulator.comparison.deciders.specon import SpeCon
from simulator.comparison.mixed import mixed
from simulator.comparison.policies import POLICIES, Setting
from simulator.traces.shapes import Exponential, Measured
from simulator.workload import GIB
from tests.unit.simulator.comparison.small import (
    by_name,
    job,
    machines,
    order_of_starts,
    run,
)

ONE = machines(1, gpus=4)
CPU = {"cpu": 2000, "memory": GIB}


def _exact() -> Estimates:
    """True durations, from a run of their own."""
    return Estimates(error=0.0)


def _container(name, at, seconds, **more):
    return job(name, at, seconds, worker=CPU, demand_milli=16_000, **more)


def _uneven(**more):
    """Two short ones meet on one host when those of the other host have ended."""
    ends = [("a", 100), ("b", 900), ("c", 100), ("d", 900)]
    return [_container(name, 0.1 * i, s, **more) for i, (name, s) in enumerate(ends)]


def test_count_balancing_moves_a_container_to_the_emptier_host():
    result = run(CountBalancing(), _uneven(), machines(2))
    assert sum(record.migrations for record in result.values()) == 1
    plain = run(POLICIES["volcano"].make(Setting(1)), _uneven(), machines(2))
    assert max(r.completed_at for r in result.values()) < max(
        r.completed_at for r in plain.values()
    )


def test_specon_moves_only_what_has_converged():
    never = run(SpeCon(), _uneven(), machines(2))  # they report nothing
    assert sum(record.migrations for record in never.values()) == 0
    steep, flat = Exponential(20.0, 0.1), Exponential(0.5, 0.1)
    ends = [("a", 100, flat), ("b", 900, steep), ("c", 100, flat), ("d", 900, flat)]
    jobs = [_container(name, 0.1 * i, s, curve=curve) for i, (name, s, curve) in enumerate(ends)]
    result = run(SpeCon(), jobs, machines(2))
    assert [name for name, record in result.items() if record.migrations] == ["b"]


def test_drs_lets_a_job_grow_and_shrinks_it_for_a_more_important_one():
    speeds = Measured(tuple(range(1, 5)), (1.0, 1.9, 2.7, 3.4))
    elastic = {"least_workers": 1, "most_workers": 4, "speed": speeds}
    jobs = [
        job("grows", 0, 2000, 2, **elastic),
        job("important", 300, 200, 2, class_value=1000, namespace="b", user_priority=9),
    ]
    result = run(Drs(_exact()), jobs, ONE)
    assert result["grows"].rescales >= 2
    assert result["important"].started_at < 330


def test_oasis_admits_paying_jobs_and_turns_the_rest_away():
    worth = Steps(((400.0, 10.0),))
    history = [job(f"h{i}", 0, 100, 4, worth=worth) for i in range(5)]
    jobs = [job(f"j{i}", float(i), 100, 4, worth=worth) for i in range(8)]
    result = run(Oasis(Slotted(history), _exact()), jobs, ONE)
    done = [record for record in result.values() if record.completed_at is not None]
    assert 1 <= len(done) < len(jobs)
    assert all(record.completion_seconds <= 400 for record in done)
    assert {record.started_at for record in result.values() if record not in done} == {None}


def test_combined_runs_an_urgent_job_before_shorter_ones_and_rejects_no_job():
    worth = Steps(((130.0, 10.0),))
    history = [job("h", 0, 100, 4, worth=worth)]
    jobs = [
        job("urgent", 0, 100, 4, worth=worth),
        job("short", 0, 20, 4),
        job("hopeless", 0, 300, 4, worth=worth),
    ]
    result = run(Combined(Slotted(history), _exact()), jobs, ONE)
    assert order_of_starts(result)[0] == "urgent"
    assert result["urgent"].completion_seconds <= 130
    assert all(record.completed_at is not None for record in result.values())


def test_combined_lets_a_job_with_time_to_spare_wait_for_a_shorter_one():
    worth = Steps(((1000.0, 10.0),))
    history = [job("h", 0, 100, 4, worth=worth)]
    jobs = [job("patient", 0, 100, 4, worth=worth), job("short", 0, 20, 4)]
    result = run(Combined(Slotted(history), _exact()), jobs, ONE)
    assert order_of_starts(result) == ["short", "patient"]


def test_combined_does_not_preempt_an_urgent_job_as_soon_as_it_has_caught_up():
    worth = Steps(((130.0, 10.0),))
    history = [job("h", 0, 100, 4, worth=worth)]
    jobs = [job("urgent", 0, 100, 4, worth=worth), job("short", 50, 30, 4)]
    result = run(Combined(Slotted(history), _exact()), jobs, ONE)
    assert (result["urgent"].preemptions, result["short"].started_at) == (0, 100)
    at_once = CombinedParameters(order=ServiceParameters(held=1.0))
    result = run(Combined(Slotted(history), _exact(), at_once), jobs, ONE)
    assert (result["urgent"].preemptions, result["short"].started_at) == (2, 50)


def test_combined_prefers_the_more_important_job_by_cps():
    jobs = [
        job("plain", 0, 100, 4, namespace="a", user_priority=1),
        job("hp", 0, 110, 4, namespace="b", user_priority=9, class_value=1000),
    ]
    result = run(Combined(Slotted(()), _exact()), jobs, ONE)
    assert order_of_starts(result) == ["hp", "plain"]
    none = CombinedParameters(order=ServiceParameters(cps_weight=0.0))
    result = run(Combined(Slotted(()), _exact(), none), jobs, ONE)
    assert order_of_starts(result) == ["plain", "hp"]


def test_combined_starts_the_job_first_that_all_would_wait_for():
    jobs = [job("long", 0, 1000, 1), *[job(f"s{i}", 0, 20, 1) for i in range(4)]]
    result = run(Combined(Slotted(()), _exact()), jobs, ONE)
    assert result["long"].started_at == 0
    assert max(record.completed_at for record in result.values()) == pytest.approx(1000)


def test_combined_gives_cpu_to_the_container_nearest_its_end():
    jobs = [_container("long", 0, 900), _container("short", 0, 100)]
    result = run(Combined(Slotted(()), _exact()), jobs, machines(1))
    even = run(CountBalancing(), jobs, machines(1))
    assert result["short"].completed_at < even["short"].completed_at


@pytest.mark.parametrize("name", [name for name in POLICIES if name not in {"oasis", "spread"}])
def test_every_job_of_a_mixed_workload_completes(name):
    workload = mixed(5, jobs=18, seconds=900.0)
    history = mixed(1, jobs=18, seconds=900.0).jobs
    result = by_name(simulate(workload, POLICIES[name].make(Setting(5, history=history))))
    assert all(record.completed_at is not None for record in result.values())
    assert all(record.lost_work == 0 for record in result.values())


@pytest.mark.parametrize("name", ["combined", "oasis", "drs"])
def test_the_same_seed_is_the_same_run_byte_by_byte(name):
    workload = mixed(6, jobs=12, seconds=600.0)
    setting = Setting(6, history=mixed(1, jobs=12, seconds=600.0).jobs)
    one, again = (simulate(workload, POLICIES[name].make(setting)) for _ in range(2))
    assert one.to_json() == again.to_json()
