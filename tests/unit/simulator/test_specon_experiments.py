"""SpeCon's tables and figures, reproduced from one or two seeds."""

from statistics import fmean

import pytest

from simulator import results
from simulator.experiments import registry
from simulator.experiments.registry import Options
from simulator.experiments.specon import paper

NAMES = [name for name in registry.EXPERIMENTS if name.startswith("specon-")]


@pytest.mark.parametrize("name", NAMES)
def test_an_experiment_is_kept_read_again_and_drawn(name, tmp_path):
    experiment = registry.load(name)
    outcome = experiment.run(Options(seeds=1, processes=1))
    assert outcome.name == name
    assert outcome.findings
    for table in outcome.tables:
        assert all(len(row) == len(table.head) for row in table.rows), table.title
    results.write(outcome, tmp_path / "a.json")
    again = results.read(tmp_path / "a.json")
    experiment.draw(again, tmp_path / "a.svg")
    experiment.draw(outcome, tmp_path / "b.svg")
    assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.svg").read_bytes()


def test_the_same_seeds_give_the_same_bytes(tmp_path):
    experiment = registry.load("specon-settings")
    for name in ("a", "b"):
        results.write(experiment.run(Options(seeds=2, processes=1)), tmp_path / name)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_the_authors_50_jobs_have_the_printed_means():
    default, specon = zip(*paper.FIFTY_JOBS, strict=True)
    assert len(default) == 50
    assert fmean(default) == pytest.approx(paper.RUNS["1200"].mean_seconds, abs=0.1)
    assert fmean(specon) == pytest.approx(553.0, abs=0.1)
    assert 2 * sum(b < a for a, b in paper.FIFTY_JOBS) == paper.RUNS["1200"].faster
