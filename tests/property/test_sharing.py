"""Laws of the queue where namespaces share the cluster, on whole runs of random jobs."""

import dataclasses

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from extender.core.cluster.commands import ReleaseGang
from extender.core.cluster.reasons import Reason
from extender.core.cluster.session import Session
from extender.core.parameters.combined import CoreParameters
from extender.core.parameters.queue import BackfillParameters, FairShareParameters, Order
from extender.core.queue import forecast
from shared import labels
from tests.fakes.builders import make_namespace, make_node
from tests.fakes.deciding import queue_pass
from tests.unit.core.queue.runs import START, Spec, World

CPUS = 8
LIMITED = "limited"
NAMESPACES = ["open", LIMITED, "guaranteed"]
JOBS = st.lists(
    st.fixed_dictionaries(
        {
            "size": st.integers(1, 4),
            "cpu": st.sampled_from(["1", "2"]),
            "comes_at": st.integers(0, 20).map(float),
            "lasts": st.integers(1, 12).map(float),
            "max_wait": st.sampled_from([None, 1.0, 5.0]),
            "namespace": st.sampled_from(NAMESPACES),
        }
    ),
    min_size=1,
    max_size=8,
)
PARAMS = st.builds(
    CoreParameters,
    order=st.sampled_from(Order),
    fair_share=st.builds(
        FairShareParameters, enabled=st.just(True), tolerance=st.sampled_from([0.0, 0.05, 0.5])
    ),
    waiting=st.builds(
        BackfillParameters, default_max_wait_seconds=st.sampled_from([None, 10.0, 40.0])
    ),
)
LIMITS = st.sampled_from(["0", "0.25", "0.5", "1"])


def entities(limit):
    noted = {
        LIMITED: {labels.BORROWING_LIMIT: limit},
        "guaranteed": {labels.GUARANTEED_SHARE: "0.5", labels.WEIGHT: "2"},
    }
    spaces = [make_namespace(name, annotations=notes) for name, notes in noted.items()]
    return [*(make_node(f"n{i}", cpu="4") for i in range(CPUS // 4)), *spaces]


def specs_of(rows):
    return [Spec(f"j{i}", **row) for i, row in enumerate(rows)]


def asks(spec):
    return spec.size * int(spec.cpu)


class Watched(World):
    """A world that checks at every moment how much each namespace holds."""

    most = 0

    def run_pass(self):
        found = super().run_pass()
        held = [self.specs[key] for key in self._ends if self.specs[key].namespace == LIMITED]
        self.most = max(self.most, sum(map(asks, held)))
        return found


@given(rows=JOBS, limit=LIMITS, params=PARAMS)
def test_no_namespace_exceeds_its_limit_and_every_job_that_fits_below_it_runs(rows, limit, params):
    specs = specs_of(rows)
    alone = {
        spec.name
        for spec in specs
        if World(entities("1"), [dataclasses.replace(spec, comes_at=0.0)]).run(START + 1).started
    }
    world = Watched(entities(limit), specs, params).run()
    may = {s.name for s in specs if s.namespace != LIMITED or asks(s) <= float(limit) * CPUS}
    assert world.started.keys() == alone & may
    assert world.most <= float(limit) * CPUS


@settings(max_examples=30)
@given(
    size=st.integers(2, 4), stream=st.integers(1, 3), lasts=st.integers(2, 9), stated=st.booleans()
)
def test_small_jobs_of_its_own_namespace_do_not_starve_one_that_waits_for_quota(
    size, stream, lasts, stated
):
    small = [
        Spec(f"s{i}", comes_at=i // stream, lasts=float(lasts), stated=stated, namespace=LIMITED)
        for i in range(15)
    ]
    large = Spec("large", size, comes_at=1.0, max_wait=5.0, namespace=LIMITED)
    params = CoreParameters(fair_share=FairShareParameters(enabled=True))
    world = Watched(entities("0.5"), [*small, large], params).run()
    assert world.started["large"] <= 1.0 + 5.0 + lasts


@given(rows=JOBS, limit=LIMITS, params=PARAMS)
def test_without_surprises_every_job_starts_when_it_was_estimated(rows, limit, params):
    specs = specs_of(rows)
    world = World(entities(limit), specs, params)
    world.run(until=START + max(spec.comes_at for spec in specs))
    outcome = queue_pass(world.observe(), world.state, world.reading, params)
    estimates = forecast.estimates(Session(world.observe(), world.reading, params), outcome)
    began = {name: START + at for name, at in world.run().started.items()}
    for entry in outcome.entries:
        estimate = estimates[entry.job.key]
        assert estimate.starts_at == began.get(entry.job.name), (entry.reason, estimate)


@settings(max_examples=30)
@given(rows=JOBS, limit=LIMITS, params=PARAMS)
def test_switched_off_fair_share_ignores_all_limits(rows, limit, params):
    off = dataclasses.replace(params, fair_share=FairShareParameters())
    silent = [one for one in entities(limit) if type(one).__name__ == "Node"]
    with_limits, without = (World(e, specs_of(rows), off) for e in (entities(limit), silent))
    assert with_limits.run().started == without.run().started


@pytest.mark.parametrize("enabled", [True, False])
def test_one_cycle_does_not_give_everything_to_the_namespace_with_many_jobs(enabled):
    many = [Spec(f"m{i}", namespace="many") for i in range(20)]
    few = [Spec(f"f{i}", comes_at=0.5, namespace="few") for i in range(4)]
    params = CoreParameters(fair_share=FairShareParameters(enabled=enabled), order=Order.CREATION)
    world = World([make_node("n0", cpu=str(CPUS))], [*many, *few], params)
    world.now = START + 1
    outcome = queue_pass(world.observe(), world.state, world.reading, params)
    gangs = [c for c in outcome.commands if isinstance(c, ReleaseGang)]
    of_few = sum(gang.job.startswith("few/") for gang in gangs)
    assert (len(gangs), of_few) == (CPUS, 4 if enabled else 0)
    assert {e.reason for e in outcome.entries} <= {Reason.RELEASING, Reason.GANG_DOES_NOT_FIT}
