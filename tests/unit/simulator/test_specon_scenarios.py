"""The paper's workloads, drawn."""

import pytest

from simulator.experiments.specon.measures import Times, compared
from simulator.experiments.specon.rules import Tally
from simulator.experiments.specon.scenarios import (
    FIXED,
    IN_300,
    IN_1200,
    MODELS,
    NEW,
    PRINTED,
    Scenario,
    SharingModel,
    T,
    W,
    tasks,
)


def test_the_fixed_workload_arrives_every_50_seconds_in_turn():
    jobs = tasks(FIXED, W, 1)
    assert [job.arrives_at for job in jobs] == [50.0 * i for i in range(20)]
    assert [job.host for job in jobs[:5]] == ["w1", "w2", "w3", "w4", "w1"]


@pytest.mark.parametrize("scenario", [*PRINTED, *NEW], ids=lambda scenario: scenario.name)
def test_jobs_arrive_in_order_within_the_window(scenario: Scenario):
    jobs = tasks(scenario, W, 1)
    arrivals = [job.arrives_at for job in jobs]
    last = scenario.window_seconds or 50.0 * scenario.jobs
    assert arrivals == sorted(arrivals)
    assert arrivals[0] >= 0
    assert arrivals[-1] <= last
    assert len(jobs) == scenario.jobs
    assert len({job.host for job in jobs}) == scenario.hosts


@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
def test_a_vae_is_as_long_as_its_model_framework_and_seed_give(model: SharingModel):
    mean, spread = model.work["VAE"], model.framework_spread
    for job in tasks(FIXED, model, 3):
        assert any(0.9 <= job.work / (mean * (1 + sign * spread)) <= 1.1 for sign in (-1, 1))


def test_both_frameworks_and_all_classes_occur():
    jobs = tasks(IN_1200, W, 1)
    assert len({job.curve.floor for job in jobs}) == 2
    assert max(job.work for job in jobs) > 4 * min(job.work for job in jobs)


def test_a_seed_gives_the_same_jobs_again_and_another_seed_others():
    assert tasks(IN_300, W, 7) == tasks(IN_300, W, 7)
    assert tasks(IN_300, W, 7) != tasks(IN_300, W, 8)


def test_models_meet_the_same_arrivals_and_losses():
    wide, threads = tasks(IN_300, W, 7), tasks(IN_300, T, 7)
    assert [(a.arrives_at, a.reported) for a in wide] == [
        (b.arrives_at, b.reported) for b in threads
    ]
    assert [a.work for a in wide] != [b.work for b in threads]


def test_noise_changes_only_reported_values():
    quiet, noisy = tasks(IN_300, W, 7, 0.0), tasks(IN_300, W, 7, 0.01)
    assert [(a.arrives_at, a.work, a.curve) for a in quiet] == [
        (b.arrives_at, b.work, b.curve) for b in noisy
    ]
    clean = quiet[0]
    assert clean.reported[-1] == pytest.approx(clean.curve.floor)
    assert clean.reported != noisy[0].reported


def test_the_effect_of_a_rule_is_measured_against_the_default_scheduler():
    before = Times({"a": 100.0, "b": 200.0, "c": 50.0}, {"a": 50.0, "b": 100.0, "c": 25.0}, 400.0)
    after = Times({"a": 60.0, "b": 220.0, "c": 50.0}, {"a": 50.0, "b": 75.0, "c": 15.0}, 300.0)
    result = compared(before, after, Tally(requests=3, moves=2, stays=1))
    assert result.mean == pytest.approx(100 * (1 - 330 / 350))
    assert result.makespan == pytest.approx(25.0)
    assert (result.faster, result.slower) == pytest.approx((100 / 3, 100 / 3))
    assert (result.best, result.winners, result.losers) == pytest.approx((40.0, 40.0, 10.0))
    assert result.nearly == pytest.approx(20.0)
    assert (result.requests, result.moves, result.stays, result.balances) == (3, 2, 1, 0)
