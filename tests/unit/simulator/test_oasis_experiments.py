"""The experiments of OASiS: their workload, the exact optimum, and that runs repeat."""

from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from extender.core.parameters.combined import CoreParameters
from extender.core.parameters.pricing import AdmissionParameters, Replanning
from extender.core.pricing.training_job import TrainingJob
from simulator import results
from simulator.experiments import (
    oasis_bounds,
    oasis_optimum,
    oasis_steps,
    oasis_testbed,
    oasis_timeliness,
    oasis_utility,
    registry,
)
from simulator.experiments.oasis import contest, testbed
from simulator.experiments.oasis.contest import (
    ADMITTED_FIRST,
    COLOCATED,
    DORM,
    OASIS,
    RUNNERS,
    kappa,
    printed,
)
from simulator.experiments.oasis.lateness import sigmoid
from simulator.experiments.oasis.optimum import optimum
from simulator.experiments.oasis.paper import BEST_OTHER, JOBS, UTILITY
from simulator.experiments.oasis.planned import Planned
from simulator.experiments.oasis.workload import Setting, draw
from simulator.experiments.registry import Options
from simulator.models.slot_world import SlotWorkload, play
from simulator.seeds import generator
from tests.unit.simulator.slot_cases import cluster, job, workload

SMALL = Setting(
    10,
    horizon=16,
    worker_servers=4,
    server_servers=4,
    step_slots=1,
    steps=10,
    chunks=(2, 20),
    epochs=(20, 60),
)
QUICK = Options(seeds=1, processes=1)


def test_the_same_seed_draws_the_same_jobs_and_servers() -> None:
    one, same, other = (draw(Setting(40), generator(seed)) for seed in (3, 3, 4))
    assert one.jobs == same.jobs
    assert one.widths == same.widths
    assert np.array_equal(one.cluster.worker_capacity, same.cluster.worker_capacity)
    assert one.jobs != other.jobs


def test_drawn_values_lie_in_the_papers_ranges() -> None:
    drawn = draw(Setting(400), generator(5))
    assert [each.arrival for each in drawn.jobs] == sorted(each.arrival for each in drawn.jobs)
    for each, width in zip(drawn.jobs, drawn.widths, strict=True):
        assert 1 <= each.arrival <= 225
        assert 50 <= each.epochs <= 200
        assert 5 <= each.chunks <= 100
        assert 10 <= each.batches <= 100
        assert 0 <= each.worker[0] <= 4
        assert each.server[0] == 0
        for demand in (each.worker, each.server):
            assert 1 <= demand[1] <= 10
            assert 2 <= demand[2] <= 32
            assert 5 <= demand[3] <= 10
        assert 0.1 <= each.worker_bandwidth == each.worker[4] <= 5.0
        assert 5.0 <= each.server_bandwidth == each.server[4] <= 20.0
        assert 1 <= sigmoid(each).priority <= 100
        assert 1 <= sigmoid(each).target <= 15
        assert 1 <= width <= min(30, each.chunks)
        tau = each.batch_slots - each.exchange_slots
        assert 0.001 * 0.005 <= tau <= 0.1 * 0.005 + 1e-12
        seconds = each.exchange_slots * 3600.0
        assert 30.0 <= seconds * each.worker_bandwidth * 1000.0 / 16.0 <= 575.0
    decays = [sigmoid(each).decay for each in drawn.jobs]
    kinds = (
        sum(decay == 0.0 for decay in decays),
        sum(0.01 <= decay <= 1.0 for decay in decays),
        sum(4.0 <= decay <= 6.0 for decay in decays),
    )
    assert kinds == (40, 220, 140)


def test_a_peak_holds_its_share_of_the_arrivals() -> None:
    drawn = draw(Setting(4000), generator(6))
    peak = sum(4 <= each.arrival <= 6 for each in drawn.jobs) / 4000
    assert peak == pytest.approx(0.23, abs=0.02)


def test_the_testbed_is_that_of_the_paper() -> None:
    drawn = testbed.draw(generator(7))
    assert len(drawn.jobs) == 12
    assert drawn.cluster.worker_capacity[:, 0].sum() == 4
    assert drawn.cluster.worker_capacity.shape == (7, 5)
    assert drawn.cluster.server_capacity.shape == (2, 5)
    for each, width in zip(drawn.jobs, drawn.widths, strict=True):
        assert 2 <= each.work / width <= 6
        assert each.can_be_served
        assert each.arrival <= 9


def _enumerated(drawn: SlotWorkload) -> float:
    """Return the best utility of jobs on one server of each kind, by trying every plan."""
    plans: list[list[tuple[int, ...]]] = []
    horizon = drawn.cluster.horizon
    for each in drawn.jobs:
        every = product(range(each.chunks + 1), repeat=horizon)
        plans.append(
            [(0,) * horizon]
            + [
                plan
                for plan in every
                if sum(plan) == each.work and not any(plan[: each.arrival - 1])
            ]
        )
    best = 0.0
    for chosen in product(*plans):
        if all(_fits(drawn, chosen, slot) for slot in range(horizon)):
            best = max(best, sum(map(_worth, drawn.jobs, chosen)))
    return best


def _fits(drawn: SlotWorkload, chosen: tuple[tuple[int, ...], ...], slot: int) -> bool:
    used = sum(
        plan[slot] * np.array(each.worker) for each, plan in zip(drawn.jobs, chosen, strict=True)
    )
    served = sum(
        each.servers_for(plan[slot]) * np.array(each.server)
        for each, plan in zip(drawn.jobs, chosen, strict=True)
    )
    machines = drawn.cluster
    return bool(
        (used <= machines.worker_capacity[0]).all()
        and (served <= machines.server_capacity[0]).all()
    )


def _worth(each: TrainingJob, plan: tuple[int, ...]) -> float:
    last = max((slot for slot, width in enumerate(plan, 1) if width), default=0)
    return each.utility.of(last - each.arrival) if last else 0.0


@pytest.mark.parametrize("seed", range(6))
def test_the_optimum_equals_an_enumeration_and_no_policy_beats_it(seed: int) -> None:
    rng = np.random.default_rng(seed)
    jobs = [
        replace(
            job(
                f"j{n}",
                arrival=int(rng.integers(1, 3)),
                work=int(rng.integers(2, 6)),
                most=int(rng.integers(2, 4)),
                cpu=float(rng.integers(1, 3)),
                ratio=float(rng.choice([0.3, 0.5, 1.0])),
            ),
            utility=replace(
                sigmoid(job("x")), priority=float(rng.uniform(1, 20)), decay=1.0, target=1.5
            ),
        )
        for n in range(3)
    ]
    drawn = workload(sorted(jobs, key=lambda each: each.arrival), cluster([4.0], [2.0], 3))
    exact = optimum(drawn, gap=0.0)
    assert exact.proven
    assert exact.utility == pytest.approx(_enumerated(drawn), abs=1e-6)
    for name, runner in RUNNERS.items():
        if name not in {DORM, COLOCATED}:  # these two live in another world
            assert runner(drawn, drawn, CoreParameters()).utility <= exact.utility + 1e-6


def test_a_certificate_is_never_below_the_optimum() -> None:
    for seed in range(5):
        setting = replace(oasis_optimum.setting(3, (1.0, 100.0)), jobs=4, horizon=6, steps=4)
        result = oasis_optimum.instance(draw(setting, generator(seed)))
        assert result.certificate >= result.optimum.utility - 1e-6
        assert result.optimum.utility >= max(result.printed, *result.by_kappa) - 1e-6
        assert result.ratio >= result.best_ratio >= 1.0 - 1e-9


def test_an_admitted_job_is_done_by_its_promised_slot() -> None:
    drawn = draw(SMALL, generator(8))
    policy = Planned(drawn, kappa(drawn), AdmissionParameters())
    run = play(drawn, policy)
    promised = {name: plan.completion_slot for name, (_, plan) in policy.state.admitted.items()}
    done = {
        each.name: end
        for each, end in zip(drawn.jobs, run.completions, strict=True)
        if end is not None
    }
    assert promised == done
    assert done


def test_replanning_loses_no_admitted_job_that_is_kept_first() -> None:
    drawn = draw(SMALL, generator(9))
    never = Planned(drawn, printed(drawn), AdmissionParameters())
    first = AdmissionParameters(replanning=Replanning.ADMITTED_FIRST)
    replanned = play(drawn, Planned(drawn, printed(drawn), first))
    assert replanned.utility >= 0.9 * play(drawn, never).utility


EXPERIMENTS = {
    "oasis-utility": oasis_utility,
    "oasis-timeliness": oasis_timeliness,
    "oasis-optimum": oasis_optimum,
    "oasis-bounds": oasis_bounds,
    "oasis-testbed": oasis_testbed,
    "oasis-steps": oasis_steps,
}
LONG = {"oasis-utility", "oasis-optimum", "oasis-bounds"}


@pytest.mark.parametrize(
    "name",
    [pytest.param(n, marks=[pytest.mark.e2e] if n in LONG else []) for n in EXPERIMENTS],
)
def test_an_experiment_gives_the_same_bytes_twice(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _shrink(monkeypatch)
    experiment = registry.load(name)
    written = []
    for attempt in ("one", "two"):
        outcome = experiment.run(QUICK)
        results.write(outcome, tmp_path / f"{attempt}.json")
        experiment.draw(results.read(tmp_path / f"{attempt}.json"), tmp_path / f"{attempt}.svg")
        written.append(
            [(tmp_path / f"{attempt}.{ending}").read_bytes() for ending in ("json", "svg")]
        )
        assert outcome.name == name
        assert outcome.findings
        assert all(line for table in outcome.tables for line in results.markdown(table) if line)
    assert written[0] == written[1]


def test_the_ratio_to_the_best_other_is_that_of_the_printed_utilities() -> None:
    for at in range(len(JOBS)):
        others = [printed_ones[at] for name, printed_ones in UTILITY.items() if name != OASIS]
        assert UTILITY[OASIS][at] / max(others) == pytest.approx(BEST_OTHER[at], abs=0.006)


def test_the_best_rival_is_chosen_seed_by_seed() -> None:
    runs = contest.run_all((SMALL,), ("FIFO", "DRF", ADMITTED_FIRST), (1, 2), "", QUICK)
    best = contest.best([runs[name][0] for name in runs])
    for seed, run in enumerate(best):
        assert run.utility == max(runs[name][0][seed].utility for name in runs)


def _shrink(monkeypatch: pytest.MonkeyPatch) -> None:
    small = tuple(replace(SMALL, jobs=jobs) for jobs in (10, 12, 14, 16))
    for module in (oasis_utility, oasis_bounds, oasis_steps):
        monkeypatch.setattr(module, "SETTINGS", small)
    mixed = replace(SMALL, jobs=8, mix=(0.0, 0.5, 0.5))
    monkeypatch.setattr(oasis_timeliness, "SETTING", mixed)
    few = replace(oasis_optimum.SETTING, jobs=6, horizon=8, steps=4)
    monkeypatch.setattr(oasis_optimum, "SETTING", few)
