"""Tiny clusters and jobs, and the best schedule by enumeration: the laws' second opinion."""

import itertools
import math

from hypothesis import strategies as st

from extender.core.cluster.utility import Sigmoid
from extender.core.parameters.pricing import Granularity
from extender.core.pricing.price_bounds import Bounds
from extender.core.pricing.slots import Commitments
from extender.core.pricing.training_job import TrainingJob
from tests.unit.core.policies.slot_worlds import make_cluster, make_job, unit_bill

amounts = st.integers(3, 6).map(float)
machines = st.lists(st.tuples(amounts, amounts), min_size=1, max_size=2)
demands = st.sampled_from([(1.0, 1.0), (2.0, 1.0), (1.0, 2.0), (1.0, 0.0), (2.0, 2.0)])
utilities = st.builds(
    Sigmoid,
    st.floats(1, 100),
    st.one_of(st.just(0.0), st.floats(0.01, 1.0), st.floats(4.0, 6.0)),
    st.integers(1, 4).map(float),
)


@st.composite
def worlds(draw, most_jobs=4, horizon=3):
    """A cluster of at most two machines of each kind, and jobs in the order of their arrival."""
    slots = draw(st.integers(1, horizon))
    cluster = make_cluster(draw(machines), draw(machines), slots)
    jobs = [
        make_job(
            f"job-{i}",
            arrival=draw(st.integers(1, slots)),
            epochs=draw(st.integers(1, 2)),
            chunks=draw(st.integers(1, 3)),
            batch_slots=draw(st.sampled_from([0.4, 0.5, 0.75, 1.0])),
            worker=draw(demands),
            server=draw(demands),
            server_bandwidth=draw(st.sampled_from([1.0, 2.0, 3.0])),
            utility=draw(utilities),
        )
        for i in range(draw(st.integers(1, most_jobs)))
    ]
    return cluster, sorted(jobs, key=lambda job: (job.arrival, job.name))


def best_payoff(
    job: TrainingJob, promised: Commitments, bounds: Bounds, granularity: Granularity
) -> float:
    """Return the largest payoff of any integer y and z, at least 0."""
    horizon = promised.cluster.horizon
    slots = range(job.arrival, horizon + 1)
    ways = [_ways(job, promised, bounds, slot, granularity) for slot in slots]
    needed = job.work if granularity is Granularity.WORKER_SLOTS else job.epochs * job.chunks
    best = 0.0
    for chosen in itertools.product(*[way.items() for way in ways]):
        if sum(done for done, _ in chosen) >= needed:
            last = max(slot for slot, (done, _) in zip(slots, chosen, strict=True) if done)
            cost = sum(cost for _, cost in chosen)
            best = max(best, job.utility.of(last - job.arrival) - cost)
    return best


def _ways(job, promised, bounds, slot, granularity):
    """Return the work done in one slot → its least cost, over all y and z."""
    cluster = promised.cluster
    found = {0: 0.0}
    for y in _counts(promised.g[slot - 1], cluster.worker_capacity, job.worker, job.chunks):
        for z in _counts(promised.v[slot - 1], cluster.server_capacity, job.server, sum(y)):
            short = sum(y) * job.worker_bandwidth > sum(z) * job.server_bandwidth
            if not 0 < sum(y) <= job.chunks or sum(z) > sum(y) or short:
                continue
            cost = sum(
                count * unit_bill(promised, bounds, pool, demand, slot, machine)
                for pool, demand, counts in (
                    ("workers", job.worker, y),
                    ("servers", job.server, z),
                )
                for machine, count in enumerate(counts)
                if count
            )
            done = _done(job, sum(y), granularity)
            if done:
                found[done] = min(cost, found.get(done, math.inf))
    return found


def _counts(used, capacity, demand, most):
    """All numbers of pods by machine that fit."""
    rooms = [
        min(
            [int((c - u) / d + 1e-9) for c, u, d in zip(has, taken, demand, strict=True) if d > 0]
            + [most]
        )
        for has, taken in zip(capacity.tolist(), used.tolist(), strict=True)
    ]
    return itertools.product(*[range(room + 1) for room in rooms])


def _done(job, workers, granularity):
    if granularity is Granularity.WORKER_SLOTS:
        return workers
    return int(workers / (job.batches * job.batch_slots) + 1e-9)
