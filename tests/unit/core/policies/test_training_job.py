"""Work, utilities and allocations: the small things every schedule is made of."""

import math

import numpy as np
import pytest

from extender.core.cluster.utility import Sigmoid, Steps
from extender.core.pricing import slots
from extender.core.pricing.slots import Allocation, Commitments
from tests.unit.core.policies.slot_worlds import make_cluster, make_job


@pytest.mark.parametrize("duration", [0.0, 1.0, 1e6])
def test_a_utility_without_decay_is_half_the_priority_whenever(duration):
    assert Sigmoid(80.0, 0.0, 3.0).of(duration) == 40.0


# decay, slots after the target → share of γ1
SIGMOIDS = {
    "half at the target": (6.0, 0.0, 0.5),
    "critical, a slot early": (6.0, -1.0, 0.997527),
    "critical, a slot late": (6.0, 1.0, 0.002473),
    "long after, without overflow": (6.0, 1e6, 0.0),
    "long before": (6.0, -1e6, 1.0),
}


@pytest.mark.parametrize(("decay", "late", "want"), SIGMOIDS.values(), ids=SIGMOIDS.keys())
def test_a_sigmoid(decay, late, want):
    assert Sigmoid(100.0, decay, 5.0).of(5.0 + late) == pytest.approx(100 * want, abs=1e-3)


def test_the_first_deadline_that_is_kept_counts():
    steps = Steps(((2.0, 30.0), (5.0, 10.0)))
    assert [steps.of(d) for d in (0.0, 2.0, 2.1, 5.0, 5.1)] == [30.0, 30.0, 10.0, 10.0, 0.0]


# fields → work, least slots, servers for three workers
WORKS = {
    "as printed": ({"epochs": 2, "chunks": 3, "batches": 5, "batch_slots": 0.1}, (3, 1, 3)),
    "rounded up": ({"epochs": 2, "chunks": 3, "batches": 5, "batch_slots": 0.11}, (4, 2, 3)),
    "0.1 · 3 is no more than 0.3": ({"chunks": 10, "batch_slots": 0.1 * 3}, (3, 1, 3)),
    "at least one": ({"batch_slots": 1e-6}, (1, 1, 3)),
    "what is done is done": ({"epochs": 10, "chunks": 4, "done": 0.5}, (20, 5, 3)),
    "servers by bandwidth": ({"server_bandwidth": 2.0}, (1, 1, 2)),
    "no more servers than workers": ({"worker_bandwidth": 5.0}, (1, 1, 3)),
    "nothing exchanged": ({"worker_bandwidth": 0.0, "server_bandwidth": 0.0}, (1, 1, 0)),
}


@pytest.mark.parametrize(("fields", "want"), WORKS.values(), ids=WORKS.keys())
def test_work_and_servers(fields, want):
    job = make_job(**fields)
    assert (job.work, job.least_slots, job.servers_for(3)) == want
    assert job.least_slots == math.ceil(job.work / job.chunks)


def test_amounts_as_shares_of_the_largest_machine():
    cluster = make_cluster([[8.0, 0.0], [2.0, 0.0]], [[4.0, 0.0]], 3, network=1)
    by = slots.units(cluster.worker_capacity, cluster.server_capacity)
    assert by.tolist() == [8.0, 1.0]
    small = slots.normalised(cluster)
    assert small.worker_capacity[:, 0].tolist() == [1.0, 0.25]
    assert small.server_capacity[:, 0].tolist() == [0.5]
    assert (small.horizon, small.network) == (3, 1)
    job = slots.in_units(make_job(worker=(2.0, 3.0), server=(8.0, 0.0)), by)
    assert (job.worker, job.server) == ((0.25, 3.0), (1.0, 0.0))
    again = slots.normalised(small)
    assert (again.worker_capacity == small.worker_capacity).all()


def test_allocation_by_slot_and_before_a_slot():
    allocation = Allocation(np.array([2, 2, 5]), np.array([0, 3, 1]), np.array([4, 1, 2]))
    assert (allocation.total, allocation.at(2), allocation.at(3)) == (7, {0: 4, 3: 1}, {})
    assert allocation.by_slot() == {2: 5, 5: 2}
    assert allocation.before(5).by_slot() == {2: 5}
    assert allocation.since(5).by_slot() == {5: 2}
    assert allocation.since(6).by_slot() == {}


def test_a_copy_of_the_promises_is_independent():
    promised = Commitments(make_cluster([[4.0]], [[4.0]], 2))
    twin = promised.copy()
    twin.workers.used[0, 1, 0] = 3.0
    assert promised.g.sum() == 0.0
    assert twin.g[1, 0, 0] == 3.0
    assert (promised.g.shape, promised.v.shape) == ((2, 1, 1), (2, 1, 1))
