"""The extender with the order `service` in the simulator: which job leaves, and what it costs."""

from dataclasses import replace

import pytest

from extender.core.parameters.queue import Order
from simulator.baselines.estimates import Estimates
from simulator.cluster.engine_decider import EngineDecider
from simulator.comparison.comparing import Comparison, MixedSource, run_seed
from simulator.comparison.deciders.service import Service
from simulator.comparison.policies import Setting
from simulator.traces.shapes import Exponential
from simulator.workload import Workload
from tests.unit.simulator.comparison.small import job, machines, run

ONE = machines(1, gpus=4)
LONG, SHORT = 7200.0, 60.0
CURVE = Exponential(5.0, 0.2)


def _service(**more) -> Service:
    return replace(Setting(1, error=0.0).service(), **more)


def _stated(name, at, seconds, workers, **more):
    return job(name, at, seconds, workers, expected_seconds=seconds, curve=CURVE, **more)


def test_a_long_job_leaves_for_a_short_one_and_loses_its_pause_alone():
    jobs = [_stated("long", 0, LONG, 4), _stated("short", 600, SHORT, 4)]
    found = run(_service(), jobs, ONE)
    assert found["long"].preemptions == 1
    assert 600 + 30 <= found["short"].started_at <= 600 + 60  # it waits first; then the next tick
    pause = jobs[0].pause_seconds
    assert found["long"].completed_at == pytest.approx(LONG + SHORT + pause)
    assert found["long"].lost_work == 0


@pytest.mark.parametrize(
    ("long", "at"),
    [
        pytest.param({"movable": False}, 600, id="it writes no checkpoint"),
        pytest.param({}, 200, id="it has just started"),
        pytest.param({"class_value": 100}, 600, id="it is more important"),
    ],
)
def test_a_running_job_stays(long, at):
    jobs = [_stated("long", 0, 400.0, 4, **long), _stated("short", at, SHORT, 4)]
    assert run(_service(), jobs, ONE)["long"].preemptions == 0


def test_a_job_rests_before_it_leaves_again():
    shorts = [_stated(f"short{i}", 600 + 200 * i, SHORT, 4) for i in range(6)]
    found = run(_service(), [_stated("long", 0, 3000.0, 4), *shorts], ONE)
    assert found["long"].preemptions == 2  # most_per_hour; each rests for 600 s before


def test_the_room_is_free_only_after_the_time_to_leave():
    jobs = [_stated("long", 0, LONG, 4), _stated("short", 600, SHORT, 4)]
    at_once, later = (run(_service(leaving_seconds=s), jobs, ONE) for s in (0.0, 20.0))
    assert later["short"].started_at == at_once["short"].started_at + 20
    assert later["long"].completed_at == pytest.approx(at_once["long"].completed_at)


def test_without_preemption_nothing_leaves():
    engine = _service().engine
    calm = replace(engine.parameters, order=Order.SERVICE, preemption=Setting(1).engine.preemption)
    decider = Service(EngineDecider(calm, rests=False), Estimates(1, 0.0))
    jobs = [_stated("long", 0, LONG, 4), _stated("short", 600, SHORT, 4)]
    assert run(decider, jobs, ONE)["long"].preemptions == 0


def test_it_reads_the_lengths_that_owners_state_with_the_error_of_the_estimates():
    workload = Workload((_stated("a", 0, 100.0, 1), job("b", 0, 100.0)), ONE)
    stated = Estimates(seed=3, error=0.15).misstated(workload).jobs
    assert 85 <= stated[0].expected_seconds <= 115 != stated[0].expected_seconds
    assert stated[1].expected_seconds is None
    assert [one.work for one in stated] == [one.work for one in workload.jobs]


def test_on_the_mixed_workload_every_job_completes():
    found = run_seed(Comparison(MixedSource(20, 1200.0), ("cps", "service")), 1).found
    assert found["service"].completed == 1.0
    assert found["service"].preemptions > 0
    assert found["service"].lost_seconds == 0
