"""Sizes and shares: GPUs of all kinds are one good, and the first, or each resource is its own."""

import numpy as np
import pytest

from extender.core.nodes.goods import goods
from extender.core.parameters.queue import JobSize
from tests.fakes.builders import make_node, make_room

GPU, MIG = "nvidia.com/gpu", "nvidia.com/mig-1g.10gb"
ROOM = make_room(
    make_node("a", cpu="90", allocatable={GPU: "3"}),
    make_node("b", cpu="10", allocatable={MIG: "7"}),
)
PLAIN = make_room(make_node("a", cpu="90"), make_node("b", cpu="10"))


def share(room, size, **amounts):
    names = {"cpu": "cpu", "gpu": GPU, "mig": MIG}
    by_name = {names[name]: amount for name, amount in amounts.items()}
    return goods(room, size).share(np.array([by_name.get(name, 0) for name in room.resources]))


SHARES = {
    "a resource of its own": (JobSize.PUBLISHED, {"mig": 7}, 1.0),
    "all slices of one of four devices": (JobSize.DOMINANT, {"mig": 7}, 0.25),
    "slices and devices together": (JobSize.DOMINANT, {"mig": 7, "gpu": 1}, 0.5),
    "the larger of GPUs and CPU": (JobSize.DOMINANT, {"cpu": 60_000, "gpu": 2}, 0.6),
    "CPU alone": (JobSize.DOMINANT, {"cpu": 10_000}, 0.1),
}


@pytest.mark.parametrize(("size", "amounts", "want"), SHARES.values(), ids=SHARES)
def test_the_share_is_the_largest_part_of_any_good(size, amounts, want):
    assert share(ROOM, size, **amounts) == pytest.approx(want)


@pytest.mark.parametrize("size", JobSize)
def test_without_gpus_in_the_cluster_the_sizes_are_the_same(size):
    assert share(PLAIN, size, cpu=25_000) == pytest.approx(0.25)
    assert goods(PLAIN, size).gpu_parts == 0
    assert goods(PLAIN, size).size({GPU: 4}) == 0


def test_the_size_is_the_gpus_where_they_come_first():
    assert goods(ROOM, JobSize.DOMINANT).gpu_parts == 4 * 28
    assert goods(ROOM, JobSize.DOMINANT).size({GPU: 2, MIG: 1, "cpu": 64_000}) == 2 * 28 + 4
    assert goods(ROOM, JobSize.PUBLISHED).size({GPU: 2}) == 0
