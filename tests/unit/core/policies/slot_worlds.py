"""Machines over slots and small jobs for policy tests, and what must hold of a schedule."""

import math

import numpy as np
import pytest

from extender.core.cluster.utility import Sigmoid
from extender.core.pricing.price_bounds import Bounds
from extender.core.pricing.slots import Commitments, Schedule, SlotCluster, offline
from extender.core.pricing.training_job import TrainingJob


def make_job(name="job", *, value=100.0, decay=0.0, target=1.0, **fields):
    """One epoch of a chunk that a worker trains in a slot, by default."""
    defaults = {
        "arrival": 1,
        "epochs": 1,
        "chunks": 1,
        "batches": 1,
        "batch_slots": 1.0,
        "worker": (1.0,),
        "server": (1.0,),
        "worker_bandwidth": 1.0,
        "server_bandwidth": 1.0,
        "utility": Sigmoid(value, decay, target),
    }
    return TrainingJob(name, **{**defaults, **fields})


def make_cluster(workers, servers, horizon, network=None):
    """Machines as rows of what they have."""
    return SlotCluster(np.array(workers, float), np.array(servers, float), horizon, network)


def make_bounds(low, high, resources=1):
    """The same L and U for all resources of both pools."""
    lows, highs = np.full(resources, math.log(low)), np.full(resources, math.log(high))
    return Bounds(lows, highs, lows, highs)


def price(used: float, capacity: float, log_low: float, log_high: float) -> float:
    """(22) as printed: L·(U/L)^(g/c)."""
    low, high = math.exp(log_low), math.exp(log_high)
    return low * (high / low) ** (used / capacity)


def unit_bill(promised: Commitments, bounds: Bounds, pool: str, demand, slot: int, machine: int):
    """Return what one pod costs on a machine in a slot, resource by resource."""
    used = promised.g if pool == "workers" else promised.v
    cluster = promised.cluster
    capacity = cluster.worker_capacity if pool == "workers" else cluster.server_capacity
    lows = bounds.log_low_workers if pool == "workers" else bounds.log_low_servers
    highs = bounds.log_high_workers if pool == "workers" else bounds.log_high_servers
    return sum(
        amount
        * price(used[slot - 1, machine, r], capacity[machine, r], float(lows[r]), float(highs[r]))
        for r, amount in enumerate(demand)
        if amount > 0
    )


def entries(allocation):
    return list(
        zip(
            allocation.slots.tolist(),
            allocation.machines.tolist(),
            allocation.counts.tolist(),
            strict=True,
        )
    )


def check_schedule(
    job: TrainingJob, found: Schedule, promised: Commitments, bounds: Bounds, *, start: int = 1
) -> None:
    """(2), (3), (6), (7), (8), (9), (10), (12), (13), (30), (31), utility, bill and payoff."""
    cluster = promised.cluster
    workers, servers = found.workers.by_slot(), found.servers.by_slot()
    assert sum(workers.values()) >= job.work
    assert found.completion_slot == max(workers) <= cluster.horizon
    assert min(workers) >= max(job.arrival, start)
    assert set(servers) <= set(workers)
    for slot, count in workers.items():
        assert 1 <= count <= job.chunks
        serving = servers.get(slot, 0)
        assert count * job.worker_bandwidth <= serving * job.server_bandwidth + 1e-6
        assert serving <= count
    assert all(
        count >= 1
        for allocation in (found.workers, found.servers)
        for _, _, count in entries(allocation)
    )
    assert found.utility == job.utility.of(found.completion_slot - job.arrival)
    assert found.bill == pytest.approx(_bill(job, found, promised, bounds), rel=1e-9)
    assert found.payoff == pytest.approx(found.utility - found.bill, rel=1e-9, abs=1e-9)
    after = promised.copy()
    after.take(job, found)
    check_room(after)


def _bill(job, found, promised, bounds):
    cluster = promised.cluster
    together = found.colocated
    worker = offline(job.worker, cluster) if together else job.worker
    server = offline(job.server, cluster) if together else job.server
    pool = "workers" if together else "servers"
    return sum(
        count * unit_bill(promised, bounds, "workers", worker, slot, machine)
        for slot, machine, count in entries(found.workers)
    ) + sum(
        count * unit_bill(promised, bounds, pool, server, slot, machine)
        for slot, machine, count in entries(found.servers)
    )


def check_room(promised: Commitments) -> None:
    """(4), (5): nothing is promised twice."""
    assert (promised.g <= promised.cluster.worker_capacity * (1 + 1e-9)).all()
    assert (promised.v <= promised.cluster.server_capacity * (1 + 1e-9)).all()


def dual(payoffs, promised: Commitments, bounds: Bounds) -> float:
    """(19): payoffs, and what all capacity is worth at the prices of the moment."""
    cluster, total = promised.cluster, sum(payoffs)
    for used, capacity, lows, highs in (
        (promised.g, cluster.worker_capacity, bounds.log_low_workers, bounds.log_high_workers),
        (promised.v, cluster.server_capacity, bounds.log_low_servers, bounds.log_high_servers),
    ):
        for (_, machine, r), amount in np.ndenumerate(used):
            has = capacity[machine, r]
            total += price(amount, has, float(lows[r]), float(highs[r])) * has
    return total


def discrete_alpha(bounds: Bounds, largest_share: float) -> float:
    """Return α for workers that are not small beside a machine; +inf beyond a float.

    ``max(1, (ρ^x̄ - 1)/x̄)``, which is α in the limit x̄ → 0 (docs/policies/price_bounds.md).

    Args:
        bounds: Of the prices.
        largest_share: x̄, the largest share of one resource of one machine that one job takes in
            one slot, 0…1.

    Source:
        Ours; the paper's Lemma 3 needs infinitely small demands.
    """
    if largest_share <= 0.0:
        return bounds.alpha
    exponent = bounds.log_ratio * largest_share
    return max(1.0, math.expm1(exponent) / largest_share) if exponent < 700.0 else math.inf
