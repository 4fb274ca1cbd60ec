"""The slot world: actions it allows a policy, and its counts of work and utility."""

from collections.abc import Mapping, Sequence

import numpy as np
import pytest

from extender.core.cluster.utility import Sigmoid
from simulator.models.slot_placement import Placement, SlotRoom, aggregate, dominant, fits
from simulator.models.slot_world import Unfinished, best_worth, decay, done_after, play
from tests.unit.simulator.slot_cases import cluster, job, workload


class Scripted:
    """Gives the same placements in every slot, and records its inputs."""

    def __init__(self, placements: Mapping[int, Placement]) -> None:
        self.placements = placements
        self.seen: list[tuple[int, tuple[float, ...], bool]] = []

    def allocate(
        self, slot: int, unfinished: Sequence[Unfinished], *, changed: bool
    ) -> Mapping[int, Placement]:
        self.seen.append((slot, tuple(each.remaining for each in unfinished), changed))
        here = {each.index for each in unfinished}
        return {index: result for index, result in self.placements.items() if index in here}


def placed(workers: list[int], servers: list[int], pace: float = 1.0) -> Placement:
    return Placement(np.array(workers), np.array(servers), pace=pace)


def test_a_job_completes_in_the_slot_its_last_worker_slot_is_done_in() -> None:
    jobs = [job("a", work=5, utility=Sigmoid(10.0, 1.0, 3.0)), job("b", arrival=3, work=1)]
    policy = Scripted({0: placed([2], [1]), 1: placed([1], [1])})
    run = play(workload(jobs, cluster([4.0], [2.0])), policy)
    assert run.completions == (3, 3)
    assert run.utility == pytest.approx(Sigmoid(10.0, 1.0, 3.0).of(2) + 5.0)
    assert policy.seen == [(1, (5,), True), (2, (3,), False), (3, (1, 1), True)]


def test_a_job_that_is_not_done_by_the_horizon_is_worth_nothing() -> None:
    run = play(workload([job("a", work=40)], cluster([4.0], [4.0], 3)), Scripted({}))
    assert (run.completions, run.utility) == ((None,), 0.0)


def test_a_faster_pace_does_more_work() -> None:
    run = play(
        workload([job("a", work=4)], cluster([4.0], [4.0])),
        Scripted({0: placed([1], [1], pace=2.0)}),
    )
    assert run.completions == (2,)


BROKEN = {
    "more than a worker server has": placed([4], [2]),
    "more than a parameter-server server has": placed([2], [4]),
    "more workers than chunks": placed([5], [3]),
    "servers that are too few": placed([3], [1]),
    "more servers than workers": placed([1], [2]),
}


@pytest.mark.parametrize("placement", BROKEN.values(), ids=BROKEN)
def test_the_world_refuses(placement: Placement) -> None:
    jobs = [job("a", work=9, cpu=1.0, server_cpu=1.0)]
    with pytest.raises(ValueError, match=r"servers|workers|holds more"):
        play(workload(jobs, cluster([3.0], [2.0])), Scripted({0: placement}))


def test_the_world_refuses_an_unknown_job() -> None:
    class Wrong(Scripted):
        def allocate(
            self, _slot: int, _unfinished: Sequence[Unfinished], *, changed: bool
        ) -> Mapping[int, Placement]:
            assert changed
            return {1: placed([1], [1])}

    jobs = [job("a"), job("b", arrival=2)]
    with pytest.raises(ValueError, match="not arrived"):
        play(workload(jobs, cluster([3.0], [3.0])), Wrong({}))


def test_a_zero_demand_does_not_limit() -> None:
    machines = cluster([3.0, 5.5], [1.0])
    assert fits(machines.worker_capacity, (0.0, 2.0, 0.0, 0.0, 0.0)).tolist() == [1, 2]


def test_servers_limit_the_workers_they_can_carry() -> None:
    room = SlotRoom(cluster([8.0], [2.0]))
    assert room.most(job("a", ratio=0.5), 8) == 4
    assert room.most(job("a", ratio=1.0), 8) == 2
    assert room.most(job("a", ratio=0.5), 3) == 3


def test_packing_fills_a_server_before_the_next_and_spreading_takes_turns() -> None:
    each = job("a", ratio=0.25)
    machines = cluster([3.0, 3.0, 3.0], [4.0])
    assert SlotRoom(machines).pack(each, 4).workers.tolist() == [3, 1, 0]
    room = SlotRoom(machines)
    assert room.spread(each, 4).workers.tolist() == [2, 1, 1]
    assert room.spread(each, 3).workers.tolist() == [1, 1, 1]
    assert room.spread(each, 2).workers.tolist() == [0, 1, 1]


def test_the_dominant_share_counts_the_servers_that_a_worker_needs() -> None:
    machines = cluster([10.0, 10.0], [5.0])
    assert dominant(job("a", ratio=0.1), machines) == pytest.approx(1 / 20)
    assert dominant(job("a", ratio=0.5), machines) == pytest.approx(0.5 / 5)


def test_an_aggregate_has_the_resources_of_all_servers() -> None:
    whole = aggregate(cluster([1.5, 2.0], [3.0, 4.0]))
    assert whole.worker_capacity[:, 1].tolist() == [3.5]
    assert whole.server_capacity[:, 1].tolist() == [7.0]


def test_the_outlook_is_that_of_the_model() -> None:
    each = job("a", arrival=2, work=8, most=4, utility=Sigmoid(8.0, 2.0, 3.0))
    assert done_after(each, 3, 8, 3) == 3
    assert best_worth(each, 3, 8) == pytest.approx(Sigmoid(8.0, 2.0, 3.0).of(2))
    assert decay(each.utility, 3.0) == pytest.approx(8.0 * 2.0 / 4.0, rel=1e-5)
