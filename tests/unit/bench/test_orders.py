"""`bench orders`: one workload for both sides, what is compared, and what the files have."""

from pathlib import Path
from typing import Any

import pytest

from bench.elastic.manifests import Manifest
from bench.orders import outcome, picture, running, scenario, simulated, testbed
from bench.orders.outcome import LIVE, SIMULATED, JobOutcome, Outcome
from bench.orders.running import Seen
from bench.orders.scenario import NODES, SLOTS, STEP_SECONDS, MixedJob
from bench.orders.simulated import Delays
from extender.core.parameters.queue import Order
from shared import labels

JOBS = scenario.mixed(3, 24, 40.0)


def test_the_same_seed_gives_the_same_jobs_of_all_three_kinds() -> None:
    assert scenario.mixed(3, 24, 40.0) == JOBS
    assert scenario.mixed(4, 24, 40.0) != JOBS
    kinds = [job.name.partition("-")[0] for job in JOBS]
    assert {kind: kinds.count(kind) for kind in kinds} == {"value": 8, "elastic": 8, "shared": 8}
    assert all(job.simulated.workers <= NODES * SLOTS for job in JOBS)


@pytest.mark.parametrize("job", JOBS, ids=lambda job: str(job.name))
def test_a_job_takes_as_long_in_the_simulator_as_its_program(job: MixedJob) -> None:
    made, trained = job.simulated, job.trained
    for workers in range(made.least_workers, made.workers + 1):
        live = trained.steps * trained.pace.seconds(workers)
        assert made.work / made.speed.rate(workers, 1) == pytest.approx(live)
    assert trained.pace.seconds(made.workers) == pytest.approx(STEP_SECONDS)
    assert trained.simulated.wanted == made.workers


def test_a_manifest_has_what_the_simulators_job_states() -> None:
    by_kind = {job.name.partition("-")[0]: job for job in JOBS}
    for kind, job in by_kind.items():
        made = running.manifest(job, Path("/volume/it"))
        notes = made["spec"]["template"]["metadata"]["annotations"]
        assert made["spec"]["parallelism"] == job.simulated.workers
        assert notes[labels.MIN_AVAILABLE] == str(job.simulated.least_workers)
        assert notes[labels.EXPECTED_DURATION] == f"{job.simulated.expected_seconds}s"
        assert notes.get(labels.UTILITY) == job.simulated.annotations.get(labels.UTILITY)
        assert (labels.UTILITY in notes) is (kind == "value")
        assert labels.CHECKPOINT in notes


@pytest.mark.parametrize("order", testbed.ORDERS)
def test_every_job_completes_in_the_simulator_and_only_service_parks(order: Order) -> None:
    found = simulated.run(order, 3, JOBS, Delays(2.0, 1.0))
    assert [job.name for job in found.jobs] == [job.name for job in JOBS]
    assert all(job.seconds > 0 for job in found.jobs)
    assert 0 < found.value <= 1.01
    assert (found.parkings > 0) <= (order is Order.SERVICE)


def test_the_same_settings_decide_on_both_sides() -> None:
    params = testbed.parameters(Order.SERVICE)
    assert params.order is Order.SERVICE
    assert params.preemption.enabled
    assert params.preemption.least_run_seconds == testbed.LEAST_RUN_SECONDS
    assert not testbed.parameters(Order.CPS).preemption.enabled


def _run(how: str, order: str, seed: int, *seconds: float) -> Outcome:
    jobs = tuple(
        JobOutcome(name=f"j{i}", submitted=1.0, completed=1.0 + s, worth=(1.0, 2.0))
        for i, s in enumerate(seconds)
    )
    return Outcome(how=how, order=order, seed=seed, jobs=jobs)


RUNS = (
    _run(LIVE, "cps", 1, 10, 30),
    _run(LIVE, "cps", 2, 20, 20),
    _run(LIVE, "service", 1, 5, 25),
    _run(LIVE, "service", 2, 15, 15),
    _run(SIMULATED, "cps", 1, 10, 10),
    _run(SIMULATED, "service", 1, 9, 7),
)


def test_ratios_are_of_the_means_over_the_seeds() -> None:
    found = {ratio.measure: ratio for ratio in outcome.ratios(RUNS)}
    assert (found["mean"].of, found["mean"].to) == ("service", "cps")
    assert found["mean"].live == pytest.approx(15 / 20)
    assert found["mean"].simulated == pytest.approx(8 / 10)
    assert found["mean"].off == pytest.approx(0.75 / 0.8 - 1)
    assert found["value"].live == 1.0


def test_the_table_has_a_row_for_each_order_and_ratio(tmp_path: Path) -> None:
    lines = outcome.table(RUNS)
    assert "| `cps` | 20.0 | 10.0 | 25.0 | 10.0 | 0.50 | 0.50 | 0.0 | 0.0 |" in lines
    assert "| `service` / `cps` | mean | 0.75 | 0.80 | -6 % |" in lines
    picture.draw(RUNS, tmp_path / "orders.svg")
    assert (tmp_path / "orders.svg").read_text().startswith("<?xml")


def test_delays_are_the_medians_of_the_live_jobs() -> None:
    jobs = tuple(
        JobOutcome(
            name=f"j{i}", submitted=0, completed=10, placed=1, began=1 + start, gone=10 + end
        )
        for i, (start, end) in enumerate([(1.0, 0.5), (2.0, 1.0), (9.0, 4.0)])
    )
    runs = [Outcome(how=LIVE, order="cps", seed=1, jobs=jobs)]
    assert (outcome.start_seconds(runs), outcome.end_seconds(runs)) == (2.0, 1.0)


def _pod(name: str, node: str | None, phase: str = "Running") -> Manifest:
    spec: dict[str, Any] = {"nodeName": node} if node else {}
    marks = {labels.JOB_NAME_LABEL: name}
    return {"metadata": {"labels": marks}, "spec": spec, "status": {"phase": phase}}


def _owner(name: str, parking: str, *, suspended: bool) -> Manifest:
    notes = {labels.PARKING: f'{{"id": "{parking}"}}'}
    return {"metadata": {"name": name, "annotations": notes}, "spec": {"suspend": suspended}}


def test_what_is_seen_of_pods_and_jobs_is_when_they_came_and_how_often_they_were_parked() -> None:
    seen = Seen()
    seen.note([_pod("a", None)], [], 1.0)
    seen.note([_pod("a", "n")], [_owner("a", "p1", suspended=False)], 2.0)
    for at in (3.0, 4.0):
        seen.note([_pod("a", "n")], [_owner("a", "p1", suspended=True)], at)
    seen.note([_pod("a", "n", "Succeeded")], [_owner("a", "p2", suspended=True)], 5.0)
    assert (seen.placed, seen.gone) == ({"a": 2.0}, {"a": 4.0})
    assert seen.parkings == {"a": {"p1", "p2"}}
