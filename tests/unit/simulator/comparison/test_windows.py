"""Windows of a trace: drawn by the seed, training and held out apart, with machines by load."""

import pytest

from simulator.comparison import windows
from simulator.comparison.mixed import mixed
from simulator.comparison.windows import WindowSettings, cut, split, thinned
from simulator.seeds import HELD_OUT
from simulator.traces.shapes import Proportional
from simulator.workload import Job, Workload
from tests.unit.simulator.comparison.small import job, machines

TRACE = Workload(
    tuple(job(f"j{i:03}", 10.0 * i, 60.0 + i % 7, 1 + i % 3) for i in range(200)),
    machines(20),
    "toy",
)


JOBS = tuple(Job(f"j{i:02}", 10.0 * i, 1, {"cpu": 1000}, 60.0, Proportional()) for i in range(20))
TEN_SECONDS_APART = Workload(JOBS, ())


def _ordered(workload: Workload) -> list[str]:
    return [job.name for job in workload.jobs]


def _names(workload: Workload) -> set[str]:
    return {one.name for one in workload.jobs}


def test_a_seed_always_gives_the_same_window():
    settings = WindowSettings(jobs=30)
    one = windows.sample(TRACE, settings, 1)
    assert one == windows.sample(TRACE, settings, 1)
    assert len(one.jobs) == 30
    assert one.jobs[0].submitted_at == 0
    assert _names(one) != _names(windows.sample(TRACE, settings, 2))


@pytest.mark.parametrize("seconds", [None, 300.0], ids=["by number", "by time"])
def test_training_and_held_out_windows_share_no_job(seconds):
    settings = WindowSettings(jobs=20, seconds=seconds)
    training = set().union(*(_names(windows.sample(TRACE, settings, s)) for s in range(1, 20)))
    held = range(HELD_OUT, HELD_OUT + 20)
    reported = set().union(*(_names(windows.sample(TRACE, settings, s)) for s in held))
    assert training
    assert reported
    assert not training & reported


def test_the_number_of_machines_follows_the_load():
    few = windows.sample(TRACE, WindowSettings(jobs=60, load=2.0), 1)
    many = windows.sample(TRACE, WindowSettings(jobs=60, load=0.5), 1)
    assert len(few.machines) < len(many.machines)
    span = few.jobs[-1].submitted_at
    offered = sum(one.work for one in few.jobs) / span / (4 * len(few.machines))
    assert 1.0 <= offered <= 2.0  # whole machines


def test_a_job_larger_than_the_cluster_is_named_and_elastic_ones_end_at_its_size():
    large = Workload((job("large", 0, 10, 9),), machines(4), "toy")
    with pytest.raises(ValueError, match=r"large requests 9 workers, but the 2 machines hold 8"):
        windows.sample(large, WindowSettings(start=0.0, nodes=2), 1)
    elastic = Workload((job("elastic", 0, 10, 2, most_workers=64),), machines(4), "toy")
    result = windows.sample(elastic, WindowSettings(start=0.0, nodes=2), 1)
    assert result.jobs[0].most_workers == 8


def test_an_empty_window_is_refused():
    with pytest.raises(ValueError, match="no job is submitted in the window"):
        windows.sample(TRACE, WindowSettings(start=1e9), 1)


def test_the_mixed_workload_has_all_three_kinds_and_is_the_same_for_a_seed():
    workload = mixed(3)
    assert workload == mixed(3)
    assert workload != mixed(4)
    kinds = {one.name.partition("-")[0] for one in workload.jobs}
    assert kinds == {"value", "elastic", "shared"}
    assert all(one.worth is not None for one in workload.jobs if one.name.startswith("value"))
    assert all(one.curve is not None for one in workload.jobs if not one.name.startswith("value"))
    assert all(
        one.demand_milli > one.worker["cpu"] for one in workload.jobs if "shared" in one.name
    )


def test_each_kind_of_the_mixed_workload_offers_about_the_load_of_its_machines():
    loads = []
    for seed in range(1, 21):
        workload = mixed(seed)
        gpus = sum(
            windows.alone_seconds(one, workload.machines) * one.workers
            for one in workload.jobs
            if not one.name.startswith("shared")
        )
        loads.append(gpus / (24 * 7200.0))
    assert 0.7 < sum(loads) / len(loads) < 1.4


def test_a_window_starts_at_zero_with_the_first_job_at_or_after_its_start():
    part = cut(TEN_SECONDS_APART, 45.0, 3)
    assert _ordered(part) == ["j05", "j06", "j07"]
    assert [job.submitted_at for job in part.jobs] == [0.0, 10.0, 20.0]


def test_training_and_held_out_parts_share_no_job_and_lose_none():
    training, held_out = split(TEN_SECONDS_APART, 0.3)
    assert _ordered(training) + _ordered(held_out) == _ordered(TEN_SECONDS_APART)
    assert len(training.jobs) == 6
    assert held_out.jobs[0].submitted_at == 0.0


def test_a_seed_draws_the_same_jobs_again_and_another_seed_others():
    one, again, other = (
        thinned(TEN_SECONDS_APART, 5, 1),
        thinned(TEN_SECONDS_APART, 5, 1),
        thinned(TEN_SECONDS_APART, 5, 2),
    )
    assert one == again
    assert len(set(_ordered(one))) == 5
    assert one != other


def test_thinning_to_more_jobs_than_exist_keeps_all():
    assert thinned(TEN_SECONDS_APART, 99, 1) is TEN_SECONDS_APART
