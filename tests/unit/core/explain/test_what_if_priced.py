"""What-if of a job with a utility: offered as a real one would be, behind all that have a plan."""

import json
from typing import Any

from extender.core import explain
from extender.core.cluster.session import Reading, Session
from extender.core.queue.forecast import BY_PLAN
from extender.core.queue.state import QueueState
from extender.servers.readapi import manifests
from shared import api, labels
from tests.fakes.builders import make_node
from tests.fakes.deciding import queue_pass
from tests.unit.core.pricing.priced import SLOT, START, PricedYard, params, priced_job, training


def yard(*jobs: Any) -> PricedYard:
    """One node of 4 CPUs, all of them of jobs with a utility."""
    world = PricedYard([make_node("a", cpu="4")], params())
    world.add(*jobs)
    world.look()
    return world


def asked_about(
    world: PricedYard, utility: str, workers: int = 4, text: str = ""
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
    asked = explain.isolated(Session(snapshot, reading, world.params), cycle)
    book = world.last.book if world.last else None
    return explain.what_if(asked, mine, acting=True, book=book, history=world.history)


def test_one_that_pays_is_told_where_it_runs_and_when_it_is_done() -> None:
    said = asked_about(yard(priced_job("small", 1, work=1)), "steps:10m=100", workers=3)
    assert (said.starts_now, said.entry.reason, said.obstacles) == (True, "Releasing", None)
    assert [one.node for one in said.places] == ["a"] * 3
    told = said.entry.admission
    assert told is not None
    assert (told.admitted, told.promise, told.resumes_at) == (True, "kept", None)
    assert told.finish_at == told.promised_at == START + SLOT
    assert told.utility is not None
    assert told.payoff > 0


def test_one_that_pays_later_is_told_its_slot() -> None:
    world = yard(priced_job("full", 4, work=8))
    said = asked_about(world, "sigmoid:100,0,24h")
    assert (said.starts_now, said.entry.reason, said.places) == (False, "AwaitingSlot", ())
    assert (said.entry.estimated_start, said.entry.estimate) == (START + 2 * SLOT, BY_PLAN)
    assert said.obstacles is None
    assert said.entry.admission is not None
    assert said.entry.admission.resumes_at == START + 2 * SLOT


def test_it_comes_true() -> None:
    world = yard(priced_job("full", 4, work=8))
    said = asked_about(world, "sigmoid:100,0,24h")
    real = priced_job(
        "mine", 4, work=4, utility="sigmoid:100,0,24h", checkpoint=False, text=training(4, 4)
    )
    world.add(real)
    world.look()
    plan = world.plans()["mine"]
    assert said.entry.admission is not None
    assert plan.spans[0].first * SLOT == said.entry.estimated_start
    assert (plan.completion + 1) * SLOT == said.entry.admission.finish_at


def test_one_that_does_not_pay_is_told_its_bill_and_what_would_admit_it() -> None:
    said = asked_about(yard(priced_job("full", 4, work=8)), "sigmoid:100,2000,11m")
    told = said.entry.admission
    assert told is not None
    assert (said.entry.reason, told.admitted) == ("PayoffTooLow", False)
    assert said.obstacles is not None
    assert (said.obstacles.cause, bool(said.obstacles.changes)) == ("price", True)
    assert told.payoff < 0


def test_one_for_which_there_is_no_room_in_any_slot_is_told_so() -> None:
    world = yard(priced_job("full", 4, work=40, checkpoint=False))
    said = asked_about(world, "sigmoid:100,0,24h")
    assert said.entry.reason == "PayoffTooLow"
    assert "no room" in said.entry.message
    assert said.obstacles is not None
    assert said.obstacles.cause == "price"


def test_one_of_which_nobody_knows_how_long_its_steps_take_would_be_measured() -> None:
    world = yard(priced_job("small", 1, work=1))
    said = asked_about(world, "sigmoid:100,0,24h", text="epochs=1,chunks=4,batches=10")
    assert (said.entry.reason, said.entry.admission) == ("Profiling", None)


def test_one_without_a_utility_is_told_nothing_of_it() -> None:
    world = yard(priced_job("full", 4, work=8))
    world.params = params(share=0.5)
    body = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "mine"},
        "spec": {"containers": [{"name": "main", "resources": {"requests": {"cpu": "1"}}}]},
    }
    mine = manifests.read(json.dumps(body).encode(), "default", "shuntyard")
    snapshot, reading = world.store.snapshot(), Reading(world.now, world.now)
    asked = explain.isolated(Session(snapshot, reading, world.params), None)
    book = world.last.book if world.last else None
    said = explain.what_if(asked, mine, acting=True, book=book)
    assert said.entry.admission is None
