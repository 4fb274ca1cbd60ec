"""The DRS order: utility first, then size, then creation."""

import random

import pytest

from extender.core.parameters.queue import WeightingParameters
from extender.core.queue import weighting
from extender.core.queue.weighting import Capacity, Waiting
from shared.model import JobKey, Uid

CLUSTER = Capacity(cpu_milli=100_000, memory_bytes=400 * 2**30)


def job(number, *, cpu=1, memory=1, u=5, value=0, at=None):
    """Job ``number``, created then unless ``at`` says otherwise; CPUs and GiB of all its pods."""
    born = float(number if at is None else at)
    name = JobKey(f"ns/job/{number}")
    return Waiting(name, Uid(f"uid-{number}"), born, u, value, cpu * 1000, memory * 2**30)


def order(jobs, capacity=CLUSTER, params=None) -> list[int]:
    found = weighting.weights(jobs, capacity, params or WeightingParameters())
    return [int(weight.job.rpartition("/")[2]) for weight in found]


CASES: dict[str, tuple[list[Waiting], list[int]]] = {
    "no job waits": ([], []),
    "the class decides": ([job(1), job(2, value=100), job(3, value=-100)], [2, 1, 3]),
    "the class outweighs the user": ([job(1, u=10), job(2, u=1, value=10)], [2, 1]),
    "the user decides inside a class": ([job(1, u=2), job(2, u=9), job(3, u=5)], [2, 3, 1]),
    "utility outweighs size": ([job(1, cpu=90), job(2, u=6)], [2, 1]),
    "the bigger goes first": ([job(1, cpu=2), job(2, cpu=8), job(3, cpu=4)], [2, 3, 1]),
    "memory counts by its own share": ([job(1, cpu=10), job(2, memory=80)], [2, 1]),
    "both shares count": ([job(1, cpu=10, memory=4), job(2, cpu=9, memory=12)], [2, 1]),
    "equals go by creation": ([job(1, at=7), job(2, at=3), job(3, at=5)], [2, 3, 1]),
    "equals by calculation go by creation": (
        [job(1, cpu=10, memory=80), job(2, cpu=20, memory=40)],
        [1, 2],
    ),
    "twins go by uid": ([job(2, at=1), job(1, at=1)], [1, 2]),
    "more than the cluster has is still a size": ([job(1, cpu=99), job(2, cpu=500)], [2, 1]),
}


@pytest.mark.parametrize(("jobs", "want"), CASES.values(), ids=CASES.keys())
def test_the_order_is(jobs, want):
    shuffled = random.Random(45).sample(jobs, len(jobs))
    assert order(jobs) == order(shuffled) == want


CAPACITIES = {
    "no nodes at all": (Capacity(0, 0), [1, 2, 3]),
    "no memory anywhere": (Capacity(1000, 0), [3, 1, 2]),
    "no CPU anywhere": (Capacity(0, 2**30), [2, 1, 3]),
}


@pytest.mark.parametrize(("capacity", "want"), CAPACITIES.values(), ids=CAPACITIES.keys())
def test_a_resource_that_no_node_has_counts_for_nothing(capacity, want):
    jobs = [job(1, cpu=2, memory=2), job(2, cpu=1, memory=3), job(3, cpu=3, memory=1)]
    assert order(jobs, capacity) == want


PARAMS = {
    "by default both count": (WeightingParameters(), [2, 1]),
    "the user may count for nothing": (WeightingParameters(user_weight=0), [2, 1]),
    "the class may count for nothing": (WeightingParameters(class_weight=0), [1, 2]),
    "a user may outweigh a class": (WeightingParameters(user_weight=100), [1, 2]),
    "only the size counts": (WeightingParameters(class_weight=0, user_weight=0), [1, 2]),
}


@pytest.mark.parametrize(("params", "want"), PARAMS.values(), ids=PARAMS.keys())
def test_what_utility_is_made_of(params, want):
    assert order([job(1, u=9, cpu=2), job(2, u=2, value=100)], params=params) == want


def test_the_key_shows_its_parts():
    (found,) = weighting.weights(
        [job(1, cpu=25, memory=40, u=3, value=20)], CLUSTER, WeightingParameters()
    )
    assert (found.utility, found.cpu_ratio, found.memory_ratio) == (23, 0.25, 0.1)
    assert found.size == pytest.approx(0.35)
