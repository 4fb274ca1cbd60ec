"""What-if of a job with a utility: offered as a submitted one, behind all jobs with a plan."""

import json
from typing import Any

from extender.core import explain
from extender.core.cluster.session import Reading, Session
from extender.core.queue.forecast import BY_PLAN
from extender.core.queue.state import QueueState
from extender.servers.readapi import manifests
from shared import labels
from shared.readapi import api
from tests.fakes.builders import make_node
from tests.fakes.deciding import queue_pass
from tests.unit.core.pricing.priced_cluster import (
    SLOT,
    START,
    PricedCluster,
    params,
    priced_job,
    training,
)


def cluster_of(*jobs: Any) -> PricedCluster:
    """Return a cluster of one node; all of its 4 CPUs belong to jobs with a utility."""
    world = PricedCluster([make_node("a", cpu="4")], params())
    world.add(*jobs)
    world.run_pass()
    return world


def what_if(
    world: PricedCluster, utility: str, workers: int = 4, text: str = ""
) -> api.WhatIfResponse:
    notes = {labels.UTILITY: utility, labels.TRAINING: text or training(workers, workers)}
    container = {"name": "main", "resources": {"requests": {"cpu": "1"}}}
    template = {"spec": {"containers": [container], "schedulerName": "shuntyard"}}
    metadata = {"name": "mine", "annotations": notes}
    spec = {"parallelism": workers, "completions": workers, "template": template}
    body = {"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": spec}
    mine = manifests.read(json.dumps(body).encode(), "default", "shuntyard")
    snapshot, reading = world.store.snapshot(), Reading(world.now, world.now)
    cycle = queue_pass(snapshot, QueueState(), reading, world.params)
    session = explain.isolated(Session(snapshot, reading, world.params), cycle)
    book = world.last.price_ledger if world.last else None
    return explain.what_if(session, mine, acting=True, book=book, history=world.history)


def test_a_job_that_is_admitted_gets_its_nodes_and_its_end() -> None:
    answer = what_if(cluster_of(priced_job("small", 1, work=1)), "steps:10m=100", workers=3)
    assert (answer.starts_now, answer.entry.reason, answer.obstacles) == (True, "Releasing", None)
    assert [place.node for place in answer.places] == ["a"] * 3
    admission = answer.entry.admission
    assert admission is not None
    assert (admission.admitted, admission.promise, admission.resumes_at) == (True, "kept", None)
    assert admission.finish_at == admission.promised_at == START + SLOT
    assert admission.utility is not None
    assert admission.payoff > 0


def test_a_job_that_is_admitted_for_later_gets_its_slot() -> None:
    world = cluster_of(priced_job("full", 4, work=8))
    answer = what_if(world, "sigmoid:100,0,24h")
    assert (answer.starts_now, answer.entry.reason, answer.places) == (False, "AwaitingSlot", ())
    assert (answer.entry.estimated_start, answer.entry.estimate) == (START + 2 * SLOT, BY_PLAN)
    assert answer.obstacles is None
    assert answer.entry.admission is not None
    assert answer.entry.admission.resumes_at == START + 2 * SLOT


def test_the_submitted_job_gets_the_predicted_plan() -> None:
    world = cluster_of(priced_job("full", 4, work=8))
    answer = what_if(world, "sigmoid:100,0,24h")
    submitted = priced_job(
        "mine", 4, work=4, utility="sigmoid:100,0,24h", checkpoint=False, text=training(4, 4)
    )
    world.add(submitted)
    world.run_pass()
    plan = world.plans()["mine"]
    assert answer.entry.admission is not None
    assert plan.spans[0].first * SLOT == answer.entry.estimated_start
    assert (plan.completion + 1) * SLOT == answer.entry.admission.finish_at


def test_a_job_that_is_not_admitted_gets_its_bill_and_changes() -> None:
    answer = what_if(cluster_of(priced_job("full", 4, work=8)), "sigmoid:100,2000,11m")
    admission = answer.entry.admission
    assert admission is not None
    assert (answer.entry.reason, admission.admitted) == ("PayoffTooLow", False)
    assert answer.obstacles is not None
    assert (answer.obstacles.cause, bool(answer.obstacles.changes)) == ("price", True)
    assert admission.payoff < 0


def test_a_job_without_room_in_any_slot_has_that_message() -> None:
    world = cluster_of(priced_job("full", 4, work=40, checkpoint=False))
    answer = what_if(world, "sigmoid:100,0,24h")
    assert answer.entry.reason == "PayoffTooLow"
    assert "no room" in answer.entry.message
    assert answer.obstacles is not None
    assert answer.obstacles.cause == "price"


def test_a_job_with_unknown_step_time_would_be_measured() -> None:
    world = cluster_of(priced_job("small", 1, work=1))
    answer = what_if(world, "sigmoid:100,0,24h", text="epochs=1,chunks=4,batches=10")
    assert (answer.entry.reason, answer.entry.admission) == ("Profiling", None)


def test_a_job_without_a_utility_has_no_admission() -> None:
    world = cluster_of(priced_job("full", 4, work=8))
    world.params = params(share=0.5)
    body = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "mine"},
        "spec": {"containers": [{"name": "main", "resources": {"requests": {"cpu": "1"}}}]},
    }
    mine = manifests.read(json.dumps(body).encode(), "default", "shuntyard")
    snapshot, reading = world.store.snapshot(), Reading(world.now, world.now)
    session = explain.isolated(Session(snapshot, reading, world.params), None)
    book = world.last.price_ledger if world.last else None
    answer = explain.what_if(session, mine, acting=True, book=book)
    assert answer.entry.admission is None
