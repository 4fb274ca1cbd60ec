"""Laws of the best schedule: it is optimal and feasible."""

from dataclasses import dataclass, replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from extender.core.cluster.utility import Utility
from extender.core.parameters.pricing import (
    BoundsParameters,
    Granularity,
    PriceBoundRule,
    SlotParameters,
)
from extender.core.pricing import price_bounds
from extender.core.pricing.price_bounds import Bounds
from extender.core.pricing.schedule import best_schedule
from extender.core.pricing.slots import Commitments, SlotCluster
from tests.property.slot_enumeration import best_payoff, worlds
from tests.unit.core.policies.slot_worlds import check_room, check_schedule

granularities = st.sampled_from(list(Granularity))
rules = st.sampled_from(list(PriceBoundRule)).map(
    lambda rule: BoundsParameters(rule=rule, kappa=100.0)
)


@dataclass(frozen=True)
class Scaled:
    """A utility times a factor."""

    of_one: Utility
    factor: float

    def of(self, duration):
        return self.factor * self.of_one.of(duration)


@given(worlds(), granularities, rules)
def test_it_is_as_good_as_the_best_of_all_schedules(world, granularity, rule):
    cluster, jobs = world
    bounds = price_bounds.price_bounds(jobs, cluster, rule)
    promised = Commitments(cluster)
    for job in jobs:
        found = best_schedule(
            job, cluster, promised, bounds, SlotParameters(granularity=granularity)
        )
        payoff = found.payoff if found else 0.0
        assert payoff == pytest.approx(best_payoff(job, promised, bounds, granularity), abs=1e-7)
        if found:
            promised.take(job, found)


@given(worlds(most_jobs=6, horizon=8), granularities, rules, st.integers(1, 4))
def test_it_keeps_to_all_constraints_and_costs_its_stated_price(world, granularity, rule, start):
    cluster, jobs = world
    bounds = price_bounds.price_bounds(jobs, cluster, rule)
    promised = Commitments(cluster)
    params = SlotParameters(granularity=granularity)
    for job in jobs:
        found = best_schedule(job, cluster, promised, bounds, params, start=start)
        if found:
            assert found.payoff > 0
            check_schedule(job, found, promised, bounds, start=start)
            promised.take(job, found)
    check_room(promised)


@given(worlds(most_jobs=5, horizon=6), st.integers(1, 4), st.floats(0, 1))
def test_blocks_keep_to_all_constraints_and_gain_nothing(world, most_units, most_idle_share):
    cluster, jobs = world
    bounds = price_bounds.price_bounds(jobs, cluster, BoundsParameters(rule=PriceBoundRule.KAPPA))
    promised = Commitments(cluster)
    blocks = SlotParameters(most_units=most_units, most_idle_share=most_idle_share)
    for job in jobs:
        exact = best_schedule(job, cluster, promised, bounds, SlotParameters())
        found = best_schedule(job, cluster, promised, bounds, blocks)
        if found:
            check_schedule(job, found, promised, bounds)
            assert exact is not None
            assert found.payoff <= exact.payoff * (1 + 1e-9)
            assert found.workers.total == job.work
        if exact:
            promised.take(job, exact)


@given(worlds(), rules, st.integers(1, 4), st.one_of(st.none(), st.integers(0, 2)))
def test_it_runs_with_as_many_as_it_needs_or_not_at_all(world, rule, least, servers):
    cluster, jobs = world
    bounds = price_bounds.price_bounds(jobs, cluster, rule)
    for job in jobs:
        needs = replace(job, least_workers=min(least, job.chunks), fixed_servers=servers)
        found = best_schedule(needs, cluster, Commitments(cluster), bounds, SlotParameters())
        if found:
            served = found.servers.by_slot()
            for slot, workers in found.workers.by_slot().items():
                assert needs.least_workers <= workers <= job.chunks
                assert served.get(slot, 0) == needs.servers_for(workers)
            assert found.workers.total >= job.work
            assert set(served) <= set(found.workers.by_slot())


@given(worlds(), granularities, st.floats(0.01, 100))
def test_a_factor_on_all_utilities_changes_no_decision(world, granularity, factor):
    cluster, jobs = world
    more = [replace(job, utility=Scaled(job.utility, factor)) for job in jobs]
    params = SlotParameters(granularity=granularity)
    bounds = price_bounds.price_bounds(jobs, cluster, BoundsParameters(rule=PriceBoundRule.PRINTED))
    scaled = price_bounds.price_bounds(more, cluster, BoundsParameters(rule=PriceBoundRule.PRINTED))
    promised = Commitments(cluster)
    for job, dearer in zip(jobs, more, strict=True):
        found = best_schedule(job, cluster, promised, bounds, params)
        again = best_schedule(dearer, cluster, promised, scaled, params)
        assert (found is None) == (again is None)
        if found and again:
            assert again.completion_slot == found.completion_slot
            assert again.payoff == pytest.approx(factor * found.payoff)
            promised.take(job, found)


@given(worlds(), granularities, st.data())
def test_the_order_of_the_machines_does_not_matter(world, granularity, data):
    cluster, jobs = world
    params = SlotParameters(granularity=granularity)
    bounds = price_bounds.price_bounds(jobs, cluster, BoundsParameters(rule=PriceBoundRule.KAPPA))
    turn = data.draw(st.permutations(range(len(cluster.worker_capacity))))
    back = data.draw(st.permutations(range(len(cluster.server_capacity))))
    other = SlotCluster(
        cluster.worker_capacity[turn], cluster.server_capacity[back], cluster.horizon
    )
    promised = Commitments(cluster)
    for job in jobs:
        mirror = Commitments(other)
        mirror.workers.used[:] = promised.workers.used[:, :, turn]
        mirror.servers.used[:] = promised.servers.used[:, :, back]
        found = best_schedule(job, cluster, promised, bounds, params)
        again = best_schedule(job, other, mirror, bounds, params)
        assert (found is None) == (again is None)
        if found and again:
            assert again.completion_slot == found.completion_slot
            assert again.payoff == pytest.approx(found.payoff)
            promised.take(job, found)


@given(worlds(), granularities)
def test_an_unrequested_resource_costs_nothing(world, granularity):
    """A further resource, used up on all machines, changes nothing for jobs without it."""
    cluster, jobs = world
    more = SlotCluster(
        np.column_stack([cluster.worker_capacity, np.zeros(len(cluster.worker_capacity))]),
        np.column_stack([cluster.server_capacity, np.zeros(len(cluster.server_capacity))]),
        cluster.horizon,
    )
    bounds = price_bounds.price_bounds(jobs, cluster, BoundsParameters(rule=PriceBoundRule.KAPPA))
    wider = Bounds(
        *(
            np.append(old, 3.0 + i % 2)
            for i, old in enumerate(
                (
                    bounds.log_low_workers,
                    bounds.log_high_workers,
                    bounds.log_low_servers,
                    bounds.log_high_servers,
                )
            )
        )
    )
    params = SlotParameters(granularity=granularity)
    for job in jobs:
        wide = replace(job, worker=(*job.worker, 0.0), server=(*job.server, 0.0))
        found = best_schedule(job, cluster, Commitments(cluster), bounds, params)
        again = best_schedule(wide, more, Commitments(more), wider, params)
        assert (found.payoff if found else 0.0) == (again.payoff if again else 0.0)
