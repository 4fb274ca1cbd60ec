"""The experiments of CPS: orders, the job left out, nodes of pods, and the two weaknesses."""

from dataclasses import replace
from itertools import permutations
from pathlib import Path

import pytest

from extender.core.parameters.combined import CoreParameters
from extender.core.parameters.queue import Order
from simulator import seeds
from simulator.experiments import cps_group, cps_jobs, cps_tasks, registry
from simulator.experiments.cps import flaws, live, paper
from simulator.experiments.cps.paper import GROUPS, Group
from simulator.experiments.registry import Options
from simulator.results import Beside

PARAMS = CoreParameters()
QUICK = Options(seeds=2, processes=1)
NAMES = ("cps-jobs", "cps-tasks", "cps-group")


@pytest.mark.parametrize("group", GROUPS, ids=lambda group: f"group {group.number}")
def test_five_jobs_start_in_the_papers_order_however_they_were_submitted(group: Group) -> None:
    outcome = cps_jobs.run(Options(seeds=5, processes=1))
    row = outcome.tables[0].rows[group.number - 1]
    cps, built_in = row[3], row[4]
    assert isinstance(cps, Beside)
    assert isinstance(built_in, Beside)
    assert (cps.ours.mean, cps.paper) == (100.0, 100.0)
    assert (built_in.ours.mean == 100.0) == group.built_in_knows


def test_another_order_differs_from_the_expected_one() -> None:
    """Of the 120 orders of group 1 four are right: 3, 4 and 1, 2 in any order, 5 last."""
    orders = permutations(f"job-{i}" for i in range(1, 6))
    assert sum(cps_jobs._expected(order, GROUPS[0]) for order in orders) == 4


LEFT_OUT = {
    (2, 25): ((1, 2, 3, 4), (5, 4, 3)),
    (2, 26): ((1, 2, 3, 4), (5, 4, 3, 2)),
    (2, 31): ((1, 2, 3, 4), (5, 4, 3, 2)),
    (2, 32): ((1, 2, 3, 4, 5), (5, 4, 3, 2, 1)),
    (3, 17): ((1, 2, 3, 4), (5, 4, 3)),
    (3, 21): ((1, 2, 3, 4), (5, 4, 3, 2)),
}


@pytest.mark.parametrize(("size", "want"), LEFT_OUT.items(), ids=str)
def test_the_size_of_the_cluster_decides_which_job_is_left_out(
    size: tuple[int, int], want: tuple[tuple[int, ...], tuple[int, ...]]
) -> None:
    result = cps_group._cluster(*size, PARAMS)
    assert (result.started["built-in"], result.started["CPS"]) == want
    assert result.as_printed == (len(want[0]) == len(want[1]) == 4)


def test_cps_puts_each_server_with_half_of_the_workers_and_binds_servers_first() -> None:
    group = paper.TASK_GROUPS[1]
    result = cps_tasks._execution(group, PARAMS, seeds.IN_SAMPLE)
    assert (result.last_server["CPS"], result.nodes["CPS"]) == (2, 2)
    assert result.crossing["CPS"] == 0.5


def test_the_built_in_scheduler_spreads_pods_over_equal_nodes_until_they_are_full() -> None:
    job = live.job("j", 2, 6, 2)
    rng = seeds.generator(1)
    spread_out = live.placed(job, live.machines(9, 28), rng)
    assert len({node for _, node in spread_out.pods}) == 8
    assert sorted(name for name, _ in spread_out.pods)[:2] == ["j-ps-0", "j-ps-1"]
    tight = live.placed(job, live.machines(2, 8), rng)
    assert sorted(node for _, node in tight.pods) == ["node-0"] * 4 + ["node-1"] * 4
    with pytest.raises(ValueError, match="does not fit"):
        live.placed(job, live.machines(1, 14), rng)


def test_the_built_in_order_uses_only_classes_and_creation() -> None:
    jobs = [
        replace(live.job(name, 1, workers), class_value=value)
        for name, workers, value in (("a", 1, 0), ("b", 9, 0), ("c", 1, 1000))
    ]
    assert live.order(live.submitted(jobs)) == ("c", "a", "b")


def test_a_third_job_reverses_two_others() -> None:
    rows = flaws.reversal(PARAMS).rows
    assert [row[3] for row in rows] == ["equal", "B first", "A first"]
    assert [round(float(str(v)), 1) for row in rows for v in row[1:3]] == [
        *(100.0, 100.0),
        *(50.0, 100.0),
        *(100.0, 24.2),
    ]


def test_a_small_job_starves_as_printed_and_does_not_with_ageing_or_a_kept_maximum() -> None:
    printed, aged, kept = (float(str(row[1])) for row in flaws.ageing(PARAMS).rows)
    assert printed > 12 * 60 - 1
    assert aged < 60 < kept < 80


def test_the_order_of_the_settings_does_not_change_the_experiment() -> None:
    """CPS is shown, whatever the order in the extender's settings."""
    weighted = Options(seeds=1, processes=1, parameters=CoreParameters(order=Order.WEIGHTING))
    ours = cps_jobs.run(Options(seeds=1, processes=1)).tables[0]
    assert cps_jobs.run(weighted).tables[0] == ours


@pytest.mark.parametrize("name", NAMES)
def test_the_same_run_gives_the_same_outcome_and_the_same_picture(
    name: str, tmp_path: Path
) -> None:
    experiment = registry.load(name)
    one, other = experiment.run(QUICK), experiment.run(QUICK)
    assert one == other
    for number, outcome in enumerate((one, other)):
        experiment.draw(outcome, tmp_path / f"{number}.svg")
    first, second = ((tmp_path / f"{number}.svg").read_bytes() for number in range(2))
    assert first == second
    assert first.startswith(b"<?xml")
