"""The scenario of ``bench specon``, and the training program that runs its jobs."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from bench.specon.outcome import JobOutcome, Stay, converged_step, delivered_ratio
from bench.specon.scenario import BUDGET_CORES, SHAPES, STEP_CPU_SECONDS, arrivals
from bench.specon.trainer import Curve

TRAINER = Path(__file__).parents[3] / "bench/specon/trainer.py"


def test_a_seed_gives_the_same_jobs_for_every_scheduler() -> None:
    assert arrivals(12, 4, seed=3, scale=0.1) == arrivals(12, 4, seed=3, scale=0.1)
    assert arrivals(12, 4, seed=3, scale=0.1) != arrivals(12, 4, seed=4, scale=0.1)


def test_jobs_go_round_the_nodes_and_have_every_shape_equally_often() -> None:
    coming = arrivals(12, 4, seed=1, scale=0.1)
    assert [one.node for one in coming] == [0, 1, 2, 3] * 3
    assert [one.at_seconds for one in coming] == pytest.approx([5.0 * i for i in range(12)])
    names = [one.shape.name for one in coming]
    assert {name: names.count(name) for name in names} == {shape.name: 4 for shape in SHAPES}


def test_lengths_are_those_of_the_model_in_the_scale_of_the_run() -> None:
    for one in arrivals(20, 4, seed=2, scale=0.5):
        node_seconds = one.training.steps * STEP_CPU_SECONDS / BUDGET_CORES / 0.5
        ratio = node_seconds / one.shape.node_seconds
        assert any(0.9 * p <= ratio * 1.01 and ratio <= 1.1 * p * 1.01 for p in (0.7, 1.3))


SHAPES_AT_A_FIFTH = {"vae": 0.65, "gru": 0.90, "birnn": 0.98}


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.name)
def test_after_a_fifth_of_the_steps_the_loss_has_fallen_as_published(shape) -> None:
    curve = Curve(1000, shape.steepness, shape.floor, noise=0.0, seed=1)
    fallen = (1.0 - curve.loss(200)) / (1.0 - shape.floor)
    assert fallen == pytest.approx(SHAPES_AT_A_FIFTH[shape.name], abs=0.01)
    assert curve.loss(1000) == pytest.approx(shape.floor)


def test_the_step_of_95_percent_loss_reduction_is_the_first_such_step() -> None:
    for one in arrivals(6, 4, seed=1, scale=0.1):
        training, step = one.training, converged_step(one)
        curve = Curve(training.steps, training.steepness, training.floor, noise=0.0, seed=1)
        least = 1.0 - 0.95 * (1.0 - training.floor)
        assert curve.loss(step) <= least < curve.loss(step - 1)


def test_delivered_cpu_counts_a_node_as_long_as_it_has_a_job() -> None:
    stays = (Stay("a", 0.0, 10.0), Stay("b", 12.0, 22.0))
    job = JobOutcome("j", "vae", 50, 0.0, 22.0, 1.0, stays, (2.0,), 0, 0, 0)
    beside = JobOutcome("k", "vae", 50, 0.0, 5.0, 1.0, (Stay("a", 5.0, 10.0),), (), 0, 0, 0)
    assert delivered_ratio([job, beside], 0.04) == pytest.approx(100 * 0.04 / (20 * BUDGET_CORES))


def test_the_program_trains_resumes_and_detects_other_processes(tmp_path: Path) -> None:
    given = {
        "STEPS": "6",
        "STEP_CPU_SECONDS": "0.001",
        "NOISE": "0",
        "LIVES": str(tmp_path / "lives"),
        "SHUNTYARD_METRICS_FILE": str(tmp_path / "metrics/it.jsonl"),
        "SHUNTYARD_CHECKPOINT_DIR": str(tmp_path / "checkpoints"),
    }
    for _ in range(2):  # the second run has nothing left to do
        subprocess.run([sys.executable, TRAINER], env={**os.environ, **given}, check=True)
    lines = _records(tmp_path / "metrics/it.jsonl")
    lives = [_records(file)[0] for file in (tmp_path / "lives").glob("*.jsonl")]
    assert [line["step"] for line in lines] == [1, 2, 3, 4, 5, 6]
    assert [life["alone"] for life in lives] == [True, True]
    assert (tmp_path / "checkpoints/.shuntyard/done.json").exists()


def _records(file: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in file.read_text().splitlines()]
