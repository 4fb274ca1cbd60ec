"""The queue with jobs that have a utility beside jobs that have none."""

import pytest
from msgspec.structs import replace

from extender.core.cluster.commands import ReleaseGang
from extender.core.cluster.reasons import Reason
from extender.core.cluster.session import Reading, Session
from extender.core.elastic import proposals as elastic_proposals
from extender.core.parameters.pricing import Unmeasured as WhenUnmeasured
from extender.core.parameters.pricing import WhenGone
from extender.core.queue.state import QueueState
from extender.core.records import slot_plan
from extender.core.records.rescale import Cause
from shared import labels
from shared.model import WorkerCount
from tests.fakes.builders import make_node
from tests.fakes.deciding import queue_pass
from tests.unit.core.clusters import queued_job
from tests.unit.core.pricing.priced_cluster import SLOT, START, PricedCluster, params, priced_job


def yard(*jobs, count=2, cpu=4, **settings):
    world = PricedCluster(
        [make_node(f"n{i}", cpu=str(cpu)) for i in range(count)], params(**settings)
    )
    world.add(*jobs)
    return world


def run_pass(world):
    reading = Reading(world.now, world.now)
    state = QueueState(priced=world.last.unplanned if world.last else {})
    return queue_pass(world.store.snapshot(), state, reading, world.params)


def reasons(world):
    return {entry.job.name: entry.reason for entry in run_pass(world).entries}


def released(world):
    """Job → pod → node."""
    gangs = [one for one in run_pass(world).commands if isinstance(one, ReleaseGang)]
    return {
        gang.job.rsplit("/", 1)[1]: {pod.pod.rsplit("/", 1)[1]: pod.node for pod in gang.pods}
        for gang in gangs
    }


def proposals(world):
    changes = elastic_proposals.slot_plan_proposals(
        Session(world.store.snapshot(), Reading(world.now, world.now), world.params)
    )
    assert all(one.cause is Cause.SLOT for one in changes)
    return {one.job.rsplit("/", 1)[1]: one.to for one in changes}


def test_a_job_with_a_utility_waits_for_a_slot_plan_and_is_placed_by_it():
    world = yard(priced_job("a", 2, work=4))
    assert reasons(world) == {"a": Reason.AWAITING_PRICE}
    world.run_pass()
    (node,) = world.plans()["a"].spans[0].workers
    assert released(world) == {"a": {"a-0": node, "a-1": node}}


def test_only_a_priced_job_has_the_reason_payoff_too_low():
    world = yard(priced_job("a", 1, work=1, utility="sigmoid:0.0001,0,24h"))
    world.add(priced_job("rich", 1, work=1))
    assert reasons(world)["a"] is Reason.AWAITING_PRICE
    world.run_pass()
    assert reasons(world)["a"] is Reason.PAYOFF_TOO_LOW


def test_after_a_restart_the_reason_on_the_pods_stays():
    world = yard(priced_job("a", 1, work=1))
    world.add(replace(world.pod("a-0"), queued_reason="PayoffTooLow"))
    assert reasons(world) == {"a": Reason.PAYOFF_TOO_LOW}


def test_a_problem_with_an_annotation_is_shown_in_the_queue():
    unmeasured = priced_job("a", 1, work=1, text="epochs=1,chunks=1,batches=1")
    world = yard(unmeasured, unmeasured=WhenUnmeasured.HOLD)
    world.run_pass()
    (entry,) = run_pass(world).entries
    assert entry.reason is Reason.MISCONFIGURED
    assert "step=" in entry.message


def test_before_its_slot_it_waits():
    world = yard(priced_job("a", 4, work=4), priced_job("b", 4, work=4), count=1)
    world.run_pass()
    assert reasons(world) == {"a": Reason.RELEASING, "b": Reason.AWAITING_SLOT}
    world.now += SLOT
    world.finish("a")
    world.run_pass()
    assert reasons(world) == {"b": Reason.RELEASING}


def test_no_more_workers_start_than_the_slot_plans():
    world = yard(priced_job("a", 4, work=4, most=4), count=1, share=0.5)
    world.run_pass()
    assert world.plans()["a"].workers_at(world.slot) == 2
    assert released(world) == {"a": {"a-0": "n0", "a-1": "n0"}}


def test_if_the_planned_node_is_full_the_job_goes_elsewhere_in_its_share():
    world = yard(priced_job("a", 2, work=4))
    world.run_pass()
    (node,) = world.plans()["a"].spans[0].workers
    (other,) = {"n0", "n1"} - {node}
    _, *pods = queued_job("x", 4, created_at=START)
    world.add([replace(pod, node_name=node, gates=(), scheduler_name="another") for pod in pods])
    assert set(released(world)["a"].values()) == {other}


def test_other_jobs_do_not_use_the_share():
    world = yard(queued_job("x", 3, created_at=START), count=1, share=0.5)
    assert reasons(world) == {"x": Reason.GANG_DOES_NOT_FIT}
    world = yard(
        queued_job("x", 2, created_at=START),
        queued_job("y", 1, created_at=START),
        count=1,
        share=0.5,
    )
    assert reasons(world) == {"x": Reason.RELEASING, "y": Reason.GANG_DOES_NOT_FIT}


def test_other_jobs_may_use_all_but_the_share():
    world = yard(
        priced_job("a", 2, work=8), queued_job("x", 2, created_at=START), count=1, share=0.5
    )
    world.run_pass()
    assert reasons(world) == {"a": Reason.RELEASING, "x": Reason.RELEASING}
    world.follow_plans()
    assert reasons(world) == {"x": Reason.RELEASING}


def test_a_job_with_a_utility_uses_its_share_alone():
    world = yard(priced_job("a", 3, work=3), count=1, share=0.5)
    world.run_pass()
    assert world.plans() == {}


def test_what_daemons_use_is_in_no_share():
    world = yard(priced_job("a", 3, work=3), count=1, share=1.0)
    daemon = queued_job("d", 2, created_at=START)[1]
    owner = replace(daemon.controller, kind="DaemonSet")
    world.add(replace(daemon, controller=owner, node_name="n0", gates=()))
    world.run_pass()
    assert "a" in world.plans()
    world = yard(priced_job("a", 4, work=3), count=1, share=1.0)
    world.add(replace(daemon, controller=owner, node_name="n0", gates=()))
    world.run_pass()
    assert "a" not in world.plans()


@pytest.mark.parametrize(
    ("when", "reason"),
    [(WhenGone.HOLD, Reason.UTILITY_GONE), (WhenGone.QUEUE, Reason.RELEASING)],
)
def test_a_job_without_utility_left_is_held_or_queued_with_the_others(when, reason):
    world = yard(priced_job("a", 1, work=1, utility="steps:15m=10"), when_gone=when, share=0.5)
    world.now += SLOT
    assert reasons(world) == {"a": reason}


def test_an_invalid_annotation_is_named():
    world = yard(priced_job("a", 1, work=1, utility="much"))
    (entry,) = run_pass(world).entries
    assert entry.reason is Reason.MISCONFIGURED
    assert "shuntyard.io/utility" in entry.message


def test_without_pricing_the_same_jobs_run_at_once():
    jobs = [priced_job("a", 1, work=1, utility="much"), priced_job("b", 2, work=1)]
    assert set(reasons(yard(*jobs, enabled=False)).values()) == {Reason.RELEASING}


def test_a_slot_with_other_workers_is_proposed_as_it_begins():
    jobs = [
        priced_job("a", 2, work=4, checkpoint=False, utility="sigmoid:900,9,30m"),
        priced_job("b", 4, work=12, most=4, utility="steps:40m=100"),
    ]
    world = yard(*jobs, count=1)
    world.run_pass()
    assert world.counts("b") == {1: 2, 2: 2, 3: 4, 4: 4}
    assert proposals(world) == {"b": 2}
    world.follow_plans()
    (owner,) = [o for o in world.store.snapshot().owners if o.name == "b"]
    count = WorkerCount(count=2, fields=("/spec/parallelism",))
    world.add(replace(owner, counts=(count,)))
    assert proposals(world) == {}
    world.now += 2 * SLOT
    assert proposals(world)["b"] == 4


def test_a_pause_is_proposed_and_its_end():
    world = yard(priced_job("a", 4, work=8), count=1)
    world.run_pass()
    world.follow_plans()
    plan = world.plans()["a"]
    (span,) = plan.spans
    gap = (replace(span, last=span.first), replace(span, first=span.last + 1, last=span.last + 1))
    later = replace(plan, spans=gap, completion=span.last + 1)
    world.write(world.owner("a"), {labels.SLOT_PLAN: slot_plan.text(later)})
    assert proposals(world) == {}
    world.now += SLOT
    assert proposals(world) == {"a": 0}
    world.scale("a", later)
    assert proposals(world) == {}
    world.now += SLOT
    assert proposals(world) == {"a": 4}


def test_a_job_after_its_slot_plan_goes_on_as_it_is():
    world = yard(priced_job("a", 4, work=4), count=1)
    world.run_pass()
    world.follow_plans()
    world.now = START + 5 * SLOT
    assert proposals(world) == {}
