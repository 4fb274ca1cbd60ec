"""Explanations of jobs that are not admitted: the price by resource and slot, and the changes."""

from dataclasses import replace

import pytest

from extender.core.cluster.reasons import Reason
from extender.core.cluster.snapshot import Snapshot
from extender.core.pricing.history import History
from extender.core.pricing.outcome import PricingOutcome
from shared import labels
from shared.model import JobKey
from shared.readapi.explanation import StepKind
from tests.fakes.builders import make_node
from tests.unit.core.clusters import snapshot_of
from tests.unit.core.explain.priced_jobs import (
    JOB,
    NODE,
    NOW,
    PARAMS,
    SLOT,
    explained,
    job,
    priced,
)

Case = tuple[Snapshot, PricingOutcome, History]


@pytest.fixture
def crowded() -> Case:
    """Two jobs: one takes all CPUs for two slots, the other must be done within them."""
    first = job("first", "sigmoid:1000,0,10h", steps=1600)
    late = job("late", "steps:20m=100", created_at=1.0)
    snapshot = snapshot_of(NODE, first, late)
    outcome = priced(snapshot)
    return snapshot, outcome, History(jobs=outcome.state.history.jobs)


def test_the_second_job_is_not_admitted(crowded: Case) -> None:
    _, outcome, _ = crowded
    assert outcome.statuses[JobKey("default/job/first")].plan is not None
    assert outcome.statuses[JOB].reason is Reason.PAYOFF_TOO_LOW


def test_the_offered_later_deadline_admits_the_job(crowded: Case) -> None:
    _, _, history = crowded
    answer = explained(*crowded)
    assert answer.cause == "price"
    (change,) = answer.changes
    (step,) = change.steps
    assert (step.kind, step.field) == (StepKind.SET_ANNOTATION, labels.UTILITY)
    assert (step.before, "2 slots (20 min) later" in change.says) == ("steps:20m=100", True)
    first = job("first", "sigmoid:1000,0,10h", steps=1600)
    again = snapshot_of(NODE, first, job("late", step.after, created_at=1.0))
    assert priced(again, history).statuses[JOB].plan is not None


def test_the_price_has_a_part_for_each_resource_and_slot_and_adds_up(crowded: Case) -> None:
    _, outcome, _ = crowded
    answer = explained(*crowded)
    costs = [part.cost for part in answer.price]
    assert costs == sorted(costs, reverse=True)
    assert {part.resource for part in answer.price} == {"cpu", "memory"}
    assert {part.at for part in answer.price} == {NOW.now + 2 * SLOT, NOW.now + 3 * SLOT}
    assert {part.pods for part in answer.price} == {4}
    assert outcome.statuses[JOB].bill == pytest.approx(sum(costs))


def test_the_offered_larger_utility_admits_the_job_and_half_of_it_does_not() -> None:
    rich = [job(f"rich-{i}", "sigmoid:1000,0,10h") for i in range(10)]
    history = priced(snapshot_of(NODE, *rich)).state.history
    snapshot = snapshot_of(NODE, job("late", "sigmoid:10,0,10h"))
    answer = explained(snapshot, priced(snapshot, history), history)
    (step,) = next(c for c in answer.changes if "times as much" in c.says).steps
    again = snapshot_of(NODE, job("late", step.after))
    assert priced(again, history).statuses[JOB].plan is not None
    worth = float(step.after.removeprefix("sigmoid:").partition(",")[0])
    less = snapshot_of(NODE, job("late", f"sigmoid:{worth / 2:g},0,10h"))
    assert priced(less, history).statuses[JOB].plan is None


def test_without_free_slots_the_change_names_the_first_slot_with_enough_room() -> None:
    params = replace(PARAMS, slot_time=replace(PARAMS.slot_time, horizon=2))
    first = job("first", "sigmoid:1000,0,10h", steps=1600)
    late = job("late", "sigmoid:100,0,10h", created_at=1.0)
    snapshot = snapshot_of(NODE, first, late)
    outcome = priced(snapshot, params=params)
    assert outcome.statuses[JOB].plan is None
    answer = explained(snapshot, outcome, History(jobs=outcome.state.history.jobs), params)
    assert answer.price == ()
    assert answer.changes == ()  # one free slot is not enough, and two are beyond the horizon
    wide = replace(PARAMS, slot_time=replace(PARAMS.slot_time, horizon=3))
    outcome = priced(snapshot, params=wide)
    answer = explained(snapshot, outcome, History(jobs=outcome.state.history.jobs), wide)
    (change,) = answer.changes
    assert (change.kind, change.steps[0].at) == (StepKind.WAIT, NOW.now + SLOT)


def test_no_price_is_shown_if_the_nodes_changed_since_the_last_pass(crowded: Case) -> None:
    snapshot, outcome, history = crowded
    other = snapshot_of(make_node("b", cpu="8"), *snapshot.jobs.values())
    answer = explained(other, outcome, history)
    assert (answer.cause, answer.price, answer.changes) == ("price", (), ())


def test_a_job_that_waits_for_its_slot_gets_the_time_when_that_begins() -> None:
    first = job("first", "sigmoid:1000,0,10h", steps=1600)
    late = job("late", "sigmoid:100,0,10h", created_at=1.0)
    snapshot = snapshot_of(NODE, first, late)
    outcome = priced(snapshot)
    assert outcome.statuses[JOB].reason is Reason.AWAITING_SLOT
    answer = explained(snapshot, outcome, History())
    assert answer.cause == "slot"
    assert answer.admission is not None
    assert answer.admission.resumes_at == NOW.now + 2 * SLOT
    assert [step.at for change in answer.changes for step in change.steps] == [NOW.now + 2 * SLOT]


def test_a_job_whose_utility_is_gone_gets_a_deadline_that_admits_it() -> None:
    snapshot = snapshot_of(NODE, job("late", "steps:10m=100", created_at=-SLOT))
    outcome = priced(snapshot)
    assert outcome.statuses[JOB].reason is Reason.UTILITY_GONE
    history = History(jobs=outcome.state.history.jobs)
    (change,) = explained(snapshot, outcome, history).changes
    again = snapshot_of(NODE, job("late", change.steps[0].after, created_at=-SLOT))
    assert priced(again, history).statuses[JOB].plan is not None
