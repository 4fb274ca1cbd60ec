"""Jobs spread over nodes: moved together if that pays, and estimated by their nodes."""

import pickle

import pytest

from simulator.baselines.estimates import Estimates
from simulator.baselines.preemptive import DensityGreedy
from simulator.cluster.actions import Weigh
from simulator.cluster.errors import IllegalActionError
from simulator.cluster.run import simulate
from simulator.comparison.deciders.combined import Combined
from simulator.comparison.deciders.oasis import Slotted
from simulator.traces.shapes import Measured, Proportional
from simulator.workload import GIB, GPU, Workload
from tests.unit.simulator.comparison.small import by_name, job, machines, run

TWO = machines(2, gpus=4)
HALF = Proportional(locality=0.5, per_node=4)
"""Half as fast on two nodes where one would do."""


def _combined() -> Combined:
    return Combined(Slotted(()), Estimates(error=0.0))


def _crowd(seconds=100, **more):
    """Two jobs that leave one GPU free on each of two nodes."""
    return [job(name, 0, seconds, 3, **more) for name in ("left", "right")]


def _gang(seconds=1000, **more):
    return job("gang", 1, seconds, 2, speed=HALF, **more)


def test_a_spread_gang_is_moved_together_when_there_is_room():
    result = run(_combined(), [*_crowd(), _gang(pause_seconds=10)], TWO)
    assert (result["gang"].nodes, result["gang"].migrations) == (2, 1)
    # 99 s at half speed until the others end, the pause, the rest at full speed
    assert result["gang"].completed_at == pytest.approx(100 + 10 + 1000 - 99 / 2)
    left_there = run(DensityGreedy(Estimates(error=0.0)), [*_crowd(), _gang()], TWO)
    assert left_there["gang"].completed_at == pytest.approx(2001)


@pytest.mark.parametrize(("pause", "moved"), [(34.0, 1), (38.0, 0)])
def test_a_gang_stays_if_the_move_saves_less_than_two_pauses(pause, moved):
    gang = _gang(seconds=122, pause_seconds=pause)  # at 100 s, moving saves 72.5 s
    result = run(_combined(), [*_crowd(), gang], TWO)
    assert result["gang"].migrations == moved


def test_a_gang_without_a_checkpoint_is_not_moved():
    result = run(_combined(), [*_crowd(), _gang(movable=False)], TWO)
    assert (result["gang"].migrations, result["gang"].nodes) == (0, 2)


def test_an_elastic_job_grows_only_where_its_speed_there_pays():
    speed = Measured((1.0, 2.0), (1.0, 2.0), locality=0.4)
    elastic = job("grows", 1, 500, speed=speed, least_workers=1, most_workers=2, pause_seconds=10)
    jobs = [*_crowd(movable=False), elastic]
    result = simulate(Workload(tuple(jobs), TWO), _combined())
    own = [(one.at, len(one.workers), len(set(one.workers))) for one in result.placements[2:]]
    assert own == [(1, 1, 1), (100, 2, 1)]  # two on two nodes would be slower than one
    assert by_name(result)["grows"].completed_at == pytest.approx(100 + 10 + (500 - 99) / 2)


def test_containers_use_the_room_that_a_moving_gang_leaves():
    wide = {"cpu": 8000, "memory": GIB, GPU: 1}
    small = {"cpu": 8000, "memory": GIB}
    jobs = [*_crowd(worker={"cpu": 2000, "memory": GIB, GPU: 1}), _gang(worker=wide)]
    jobs += [job(name, 50, 20, worker=small) for name in ("c1", "c2")]
    result = run(_combined(), jobs, TWO)
    assert result["gang"].migrations == 1
    assert (result["c1"].started_at, result["c2"].started_at) == (100, 100)


def test_the_remaining_work_counts_the_nodes_that_a_job_had():
    class Asking(Combined):
        def decide(self, view):
            actions = super().decide(view)
            gang = view.job("gang")
            estimated.append((view.now, gang and self.estimates.left(gang, view.machines)))
            return actions

    estimated: list[tuple[float, float | None]] = []
    asking = Asking(Slotted(()), Estimates(error=0.0))
    simulate(Workload((*_crowd(), _gang()), TWO), asking)
    by_time = dict(estimated)
    assert by_time[1] == pytest.approx(2000)
    assert by_time[90] == pytest.approx(2000 - 89)  # one of two workers' worth a second


def test_an_impossible_action_in_another_process_raises_in_the_parent():
    error = IllegalActionError(Weigh("a", 0.0), "a weight is above 0")
    again = pickle.loads(pickle.dumps(error))
    assert (str(again), again.why, again.action) == (str(error), error.why, error.action)
