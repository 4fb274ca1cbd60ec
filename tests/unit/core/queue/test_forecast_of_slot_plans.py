"""An admitted job starts by its slot plan, even if other jobs wait before it."""

from extender.core.cluster.session import Reading, Session
from extender.core.queue import forecast
from extender.core.queue.forecast import BY_PLAN, NO_SLOT, Estimate, at_once
from extender.core.queue.state import QueueState
from tests.fakes.builders import make_node
from tests.fakes.deciding import queue_pass
from tests.unit.core.clusters import queued_job
from tests.unit.core.pricing.priced_cluster import SLOT, START, PricedCluster, params, priced_job


def yard(*jobs, **settings):
    world = PricedCluster([make_node("a", cpu="4")], params(**settings))
    world.add(*jobs)
    world.run_pass()
    return world


def estimates(world) -> dict[str, Estimate]:
    reading, snapshot = Reading(world.now, world.now), world.store.snapshot()
    outcome = queue_pass(snapshot, QueueState(), reading, world.params)
    estimated = forecast.estimates(Session(snapshot, reading, world.params), outcome)
    return {key.rpartition("/")[2]: one for key, one in estimated.items()}


def test_an_admitted_job_starts_with_its_slot():
    world = yard(priced_job("a", 4, work=8), priced_job("b", 4, work=4))
    assert estimates(world) == {
        "a": at_once(START, forecast.ON_ITS_WAY),
        "b": at_once(START + 2 * SLOT, BY_PLAN),
    }
    world.now += SLOT / 2
    assert estimates(world)["b"] == at_once(START + 2 * SLOT, BY_PLAN)


def test_other_jobs_are_estimated_without_it():
    plain = [
        queued_job("c", 1, cpu="2"),
        queued_job("d", 3, cpu="2", annotations={"shuntyard.io/expected-duration": "1h"}),
    ]
    jobs = [priced_job("a", 2, work=4), priced_job("b", 2, work=2)]
    both = estimates(yard(*plain, *jobs, share=0.5))
    alone = estimates(yard(*plain, share=0.5))
    assert both["b"].why == BY_PLAN
    assert {name: both[name] for name in "cd"} == {name: alone[name] for name in "cd"}


def test_an_admitted_job_without_slots_has_no_estimate():
    world = yard(priced_job("a", 4, work=4), priced_job("b", 4, work=4))
    world.remove(make_node("a", cpu="4"))
    world.add(make_node("small", cpu="1"))
    world.run_pass()
    assert {one.why for one in estimates(world).values()} == {NO_SLOT}
