"""The experiments on DRS: their workload, the effect of the policy, and their report."""

from dataclasses import replace

import pytest

from extender.core.parameters.elastic import ScalingParameters
from simulator import results
from simulator.experiments import drs_ablation, drs_scaling
from simulator.experiments.drs import scaling_findings, setting
from simulator.experiments.drs.contest import DRAGON, Case, contest, contestants
from simulator.experiments.drs.scaler import Scaler
from simulator.experiments.drs.setting import Assumed
from simulator.experiments.registry import Options
from simulator.models.parameter_server import run
from simulator.numbers import Spread

ONE = Options(seeds=1, processes=1)


def test_arrivals_and_utilities_do_not_depend_on_the_speed():
    drawn = [
        [(j.arrives_at, j.utility) for j in setting.jobs(7, 3, speed)] for speed in setting.SPEEDS
    ]
    assert all(one == drawn[0] for one in drawn)
    assert drawn[0][0][0] == 0.0
    assert drawn[0][3][1] == 10
    assert 200.0 <= drawn[0][3][0] <= 400.0


@pytest.mark.parametrize("experiment", setting.EXPERIMENTS)
def test_a_job_alone_takes_ten_to_thirty_minutes(experiment):
    for speed in setting.SPEEDS:
        for job in setting.jobs(3, experiment, speed):
            assert 600.0 <= job.work / job.speed.rate(job.wanted, 1, near=1.0) <= 1800.0


def test_initial_counts_can_be_changed():
    kinds = {
        wanted: [job.wanted for job in setting.jobs(1, 3, "sync", Assumed(wanted=wanted))]
        for wanted in ("least", "usual", "most")
    }
    assert kinds == {"least": [1, 1, 2, 2], "usual": [2, 2, 3, 3], "most": [4, 4, 6, 6]}


class Forgetful(Scaler):
    """Runs the policy every time."""

    def act(self, site, now):
        self._settled = None
        super().act(site, now)


@pytest.mark.parametrize("speed", setting.SPEEDS)
@pytest.mark.parametrize("experiment", setting.EXPERIMENTS)
def test_skipping_the_policy_without_changes_changes_nothing(speed, experiment):
    jobs = setting.jobs(5, experiment, speed)
    for params in (ScalingParameters(), ScalingParameters(marginal_gain=False, reserve=True)):
        asked = run(jobs, setting.NODES, Forgetful(params))
        assert run(jobs, setting.NODES, Scaler(params)) == asked


def test_all_schedulers_do_all_the_work_of_all_jobs():
    for contestant in contestants(ScalingParameters()):
        jobs = setting.jobs(2, 3, "async")
        done = run(jobs, setting.NODES, contestant.scheduler(ONE.parameters))
        assert sorted(one.job.name for one in done) == [job.name for job in jobs]


def test_gains_are_against_dragon_on_the_same_seed():
    case = Case(contestants(ScalingParameters())[2], "linear", 1)
    result = contest([case], (1, 2), ONE, "test")
    pairs = zip(
        result.values(case, "makespan"),
        result.values(replace(case, contestant=DRAGON), "makespan"),
        strict=True,
    )
    want = [100 * (1 - ours / theirs) for ours, theirs in pairs]
    assert result.gains(case) == pytest.approx(want)
    assert result.share(case, min(want)) == 100.0


def test_distance_is_in_standard_errors_of_the_difference():
    assert scaling_findings.distance(Spread(3, 2, 4), Spread(0, 0, 4)) == pytest.approx(3.0)
    assert scaling_findings.distance(Spread(1, 0, 1), Spread(1, 0, 1)) == 0.0


def test_an_experiment_gives_the_same_bytes_twice(tmp_path):
    for name in ("one", "two"):
        outcome = drs_scaling.run(ONE)
        results.write(outcome, tmp_path / f"{name}.json")
        drs_scaling.draw(results.read(tmp_path / f"{name}.json"), tmp_path / f"{name}.svg")
    for kind in ("json", "svg"):
        one, two = ((tmp_path / f"{name}.{kind}").read_bytes() for name in ("one", "two"))
        assert one == two


def test_the_ablation_compares_every_step(tmp_path):
    outcome = drs_ablation.run(ONE)
    drs_ablation.draw(outcome, tmp_path / "ablation.svg")
    names = [row[0] for row in outcome.tables[0].rows]
    assert names[: len(drs_ablation.STEPS)] == list(drs_ablation.STEPS)
    assert (tmp_path / "ablation.svg").stat().st_size > 0
