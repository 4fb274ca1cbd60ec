"""Each baseline scheduler on a case where the others would decide otherwise."""

import pytest

from extender.core.cluster.utility import Steps
from simulator.baselines.estimates import Estimates
from simulator.baselines.kubernetes import DefaultSpread, Volcano
from simulator.baselines.marginal_gain import Optimus, SlaqLike
from simulator.baselines.preemptive import (
    DensityGreedy,
    ShortestRemaining,
    Tiresias,
    TiresiasParameters,
)
from simulator.traces.shapes import Exponential
from tests.unit.simulator.comparison.small import job, machines, order_of_starts, run

EXACT = Estimates(error=0.0)
ONE = machines(1, gpus=4)


def test_shortest_preempts_a_long_job_for_a_short_one_and_loses_no_work():
    result = run(ShortestRemaining(EXACT), [job("long", 0, 1000, 4), job("short", 100, 50, 4)], ONE)
    assert result["short"].completed_at == pytest.approx(150)
    assert result["long"].preemptions == 1
    assert result["long"].lost_work == 0
    assert result["long"].completed_at == pytest.approx(1000 + 50 + 5)  # and its pause


def test_shortest_leaves_a_job_alone_that_writes_no_checkpoint():
    jobs = [job("long", 0, 1000, 4, movable=False), job("short", 100, 50, 4)]
    result = run(ShortestRemaining(EXACT), jobs, ONE)
    assert result["long"].completed_at == pytest.approx(1000)
    assert result["short"].completed_at == pytest.approx(1050)


def test_density_runs_the_job_with_the_most_value_per_resource():
    jobs = [
        job("cheap", 0, 100, 4, worth=Steps(((1000.0, 1.0),))),
        job("dear", 0, 100, 4, worth=Steps(((1000.0, 50.0),))),
        job("nothing", 0, 10, 4),
    ]
    assert order_of_starts(run(DensityGreedy(EXACT), jobs, ONE)) == ["dear", "cheap", "nothing"]


def test_density_gives_up_a_job_whose_deadline_has_passed():
    jobs = [
        job("lost", 0, 100, 4, worth=Steps(((50.0, 1000.0),))),
        job("kept", 0, 100, 4, worth=Steps(((150.0, 1.0),))),
    ]
    assert order_of_starts(run(DensityGreedy(EXACT), jobs, ONE)) == ["kept", "lost"]


def test_tiresias_demotes_a_job_after_its_service_and_needs_no_lengths():
    decider = Tiresias(TiresiasParameters(demotion_seconds=400.0, every_seconds=10.0))
    result = run(decider, [job("first", 0, 1000, 4), job("second", 20, 80, 4)], ONE)
    assert result["second"].started_at == pytest.approx(100)  # 4 workers for 100 s are 400
    assert result["second"].completed_at == pytest.approx(180)
    assert result["first"].preemptions == 1


def test_volcano_takes_the_higher_class_then_the_older_job_and_skips_one_that_does_not_fit():
    jobs = [
        job("runs", 0, 100, 3),
        job("old", 1, 100, 4),
        job("fits", 2, 10, 1),
        job("important", 3, 100, 4, class_value=1000),
    ]
    assert order_of_starts(run(Volcano(), jobs, ONE)) == ["runs", "fits", "important", "old"]


def test_the_default_scheduler_spreads_a_gang_that_one_node_could_hold():
    result = run(DefaultSpread(), [job("pair", 0, 100, 2)], machines(2))
    assert result["pair"].nodes == 2
    assert run(Tiresias(), [job("pair", 0, 100, 2)], machines(2))["pair"].nodes == 1


def test_two_half_gangs_of_the_default_scheduler_wait_for_each_other_forever():
    jobs = [
        job("one", 0, 100, 2),
        job("two", 0, 150, 2),
        job("a", 10, 100, 4, class_value=10),
        job("b", 110, 100, 4, class_value=90),
    ]
    result = run(DefaultSpread(), jobs, ONE)
    assert result["two"].completed_at == pytest.approx(150)
    assert result["a"].completed_at is None  # it was bound to two GPUs at 100, b to two at 150
    assert result["b"].completed_at is None
    whole = run(Volcano(), jobs, ONE)
    assert all(record.completed_at is not None for record in whole.values())


def test_optimus_gives_the_next_worker_to_the_job_that_saves_most():
    jobs = [
        job("long", 0, 1000, least_workers=1, most_workers=4),
        job("short", 0, 100, least_workers=1, most_workers=4),
    ]
    result = run(Optimus(EXACT), jobs, ONE)
    assert result["long"].workers == 3
    assert result["short"].workers == 1


def test_slaq_gives_the_next_worker_to_the_job_whose_loss_still_falls():
    def curve(speed: float) -> dict:
        elastic = {"least_workers": 1, "most_workers": 4}
        return {"curve": Exponential(speed), **elastic}

    jobs = [job("steep", 0, 9000, **curve(20.0)), job("flat", 0, 9000, **curve(0.5))]
    result = run(SlaqLike(EXACT), jobs, ONE)
    assert result["steep"].workers == 3
    assert result["flat"].workers == 1


DECIDERS = {
    "shortest": lambda: ShortestRemaining(Estimates(seed=4)),
    "density": lambda: DensityGreedy(Estimates(seed=4)),
    "optimus": lambda: Optimus(Estimates(seed=4)),
    "slaq": lambda: SlaqLike(Estimates(seed=4)),
    "tiresias": Tiresias,
    "volcano": Volcano,
}


@pytest.mark.parametrize("make", DECIDERS.values(), ids=DECIDERS)
def test_every_job_completes_and_no_work_is_lost(make):
    jobs = [
        job(f"j{i}", 7.0 * i, 40.0 + 13 * (i % 5), 1 + i % 4, most_workers=1 + i % 4 + i % 3)
        for i in range(20)
    ]
    result = run(make(), jobs, machines(2))
    assert all(record.completed_at is not None for record in result.values())
    assert all(record.lost_work == 0 for record in result.values())
    for one in jobs:
        assert result[one.name].work_done == pytest.approx(one.work)


def test_estimates_have_a_bounded_error_equal_for_all_schedulers():
    rough = Estimates(seed=3, error=0.15)
    errors = []

    class Looks:
        oracle = True

        def decide(self, view):
            for one in view.waiting:
                errors.append(rough.work(one) / one.truth.work - 1.0)
                assert rough.work(one) == Estimates(seed=3, error=0.15).work(one)
                assert EXACT.work(one) == one.truth.work
            return []

        def wakes_at(self, now):
            return None

    run(Looks(), [job(f"j{i}", 0, 100) for i in range(50)], ONE)
    assert max(map(abs, errors)) <= 0.15
    assert min(errors) < -0.1 < 0.1 < max(errors)
