"""What `explain` says of a job with a utility: its price by resource and slot, what would admit it.

One node of which 4 CPUs belong to jobs with a utility; slots of 10 minutes, so that a worker of one
CPU with 1200 steps of 3 s needs 6 worker-slots.
"""

from dataclasses import replace

import pytest

from extender.core import explain
from extender.core.cluster.reasons import Reason
from extender.core.cluster.session import Reading, Session
from extender.core.cluster.snapshot import Snapshot
from extender.core.explain import Ledgers
from extender.core.parameters.combined import CoreParameters
from extender.core.parameters.pricing import SlotTimeParameters
from extender.core.pricing.decision import PRICING, PricingTrigger
from extender.core.pricing.history import History
from extender.core.pricing.outcome import PricingOutcome, PricingState
from shared import api, labels
from shared.explanation import StepKind
from shared.model import JobKey
from tests.fakes.builders import make_node
from tests.unit.core.clusters import queued_job, snapshot_of

SLOT = 600.0
PARAMS = CoreParameters(
    slot_time=SlotTimeParameters(enabled=True, slot_seconds=SLOT, horizon=24, share=0.5)
)
NOW = Reading(100 * SLOT, 100 * SLOT)
NODE = make_node("a", cpu="8")
JOB = JobKey("default/job/late")


def job(name: str, utility: str, *, workers: int = 4, steps: int = 1200, created_at: float = 0.0):
    annotations = {
        labels.UTILITY: utility,
        labels.TRAINING: f"epochs=1,chunks={workers},batches={steps // workers},step=3s",
    }
    return queued_job(
        name, workers, created_at=NOW.now + created_at, annotations=annotations, cpu="1"
    )


Seen = tuple[Snapshot, PricingOutcome, History]


def looked(
    snapshot: Snapshot,
    history: History | None = None,
    params: CoreParameters = PARAMS,
    now: Reading = NOW,
) -> PricingOutcome:
    return PRICING.decide(
        Session(snapshot, now, params), PricingState(history=history or History()), PricingTrigger()
    )


def explained(
    snapshot: Snapshot,
    look: PricingOutcome,
    history: History,
    params: CoreParameters = PARAMS,
) -> api.ExplainResponse:
    asked = explain.isolated(Session(snapshot, NOW, params), None)
    standing = look.standings[JOB]
    plain = api.ExplainResponse(
        generated_at=NOW.now,
        namespace="default",
        job=JOB,
        state="gated",
        reason=standing.reason.value if standing.reason else "",
    )
    known = Ledgers(look.standings, look.book, history)
    return explain.with_ledgers(plain, asked, known)


@pytest.fixture
def crowded() -> Seen:
    """A job that has all there is for two slots, and one that would have to be done by then."""
    first = job("first", "sigmoid:1000,0,10h", steps=1600)
    late = job("late", "steps:20m=100", created_at=1.0)
    snapshot = snapshot_of(NODE, first, late)
    look = looked(snapshot)
    return snapshot, look, History(jobs=look.state.history.jobs)


def test_the_second_job_is_turned_away(crowded: Seen) -> None:
    _, look, _ = crowded
    assert look.standings[JobKey("default/job/first")].plan is not None
    assert look.standings[JOB].reason is Reason.PAYOFF_TOO_LOW


def test_a_later_deadline_that_is_offered_admits_the_job(crowded: Seen) -> None:
    _, _, history = crowded
    told = explained(*crowded)
    assert told.cause == "price"
    (change,) = told.changes
    (step,) = change.steps
    assert (step.kind, step.field) == (StepKind.SET_ANNOTATION, labels.UTILITY)
    assert (step.before, "2 slots (20 min) later" in change.says) == ("steps:20m=100", True)
    first = job("first", "sigmoid:1000,0,10h", steps=1600)
    again = snapshot_of(NODE, first, job("late", step.after, created_at=1.0))
    assert looked(again, history).standings[JOB].plan is not None


def test_the_price_has_a_part_for_each_resource_and_slot_and_adds_up(crowded: Seen) -> None:
    _, look, _ = crowded
    told = explained(*crowded)
    costs = [part.cost for part in told.price]
    assert costs == sorted(costs, reverse=True)
    assert {part.resource for part in told.price} == {"cpu", "memory"}
    assert {part.at for part in told.price} == {NOW.now + 2 * SLOT, NOW.now + 3 * SLOT}
    assert {part.pods for part in told.price} == {4}
    assert look.standings[JOB].bill == pytest.approx(sum(costs))


def test_a_larger_worth_that_is_offered_admits_the_job_and_half_of_it_does_not() -> None:
    rich = [job(f"rich-{i}", "sigmoid:1000,0,10h") for i in range(10)]
    history = looked(snapshot_of(NODE, *rich)).state.history
    snapshot = snapshot_of(NODE, job("late", "sigmoid:10,0,10h"))
    told = explained(snapshot, looked(snapshot, history), history)
    (step,) = next(c for c in told.changes if "times as much" in c.says).steps
    again = snapshot_of(NODE, job("late", step.after))
    assert looked(again, history).standings[JOB].plan is not None
    worth = float(step.after.removeprefix("sigmoid:").partition(",")[0])
    less = snapshot_of(NODE, job("late", f"sigmoid:{worth / 2:g},0,10h"))
    assert looked(less, history).standings[JOB].plan is None


def test_where_no_slot_is_free_the_slot_is_told_from_which_on_there_is_one() -> None:
    params = replace(PARAMS, slot_time=replace(PARAMS.slot_time, horizon=2))
    first = job("first", "sigmoid:1000,0,10h", steps=1600)
    late = job("late", "sigmoid:100,0,10h", created_at=1.0)
    snapshot = snapshot_of(NODE, first, late)
    look = looked(snapshot, params=params)
    assert look.standings[JOB].plan is None
    told = explained(snapshot, look, History(jobs=look.state.history.jobs), params)
    assert told.price == ()
    assert told.changes == ()  # one free slot is not enough, and it looks no farther ahead
    wide = replace(PARAMS, slot_time=replace(PARAMS.slot_time, horizon=3))
    look = looked(snapshot, params=wide)
    told = explained(snapshot, look, History(jobs=look.state.history.jobs), wide)
    (change,) = told.changes
    assert (change.kind, change.steps[0].at) == (StepKind.WAIT, NOW.now + SLOT)


def test_with_other_nodes_than_those_of_the_last_look_nothing_is_made_up(crowded: Seen) -> None:
    snapshot, look, history = crowded
    other = snapshot_of(make_node("b", cpu="8"), *snapshot.jobs.values())
    told = explained(other, look, history)
    assert (told.cause, told.price, told.changes) == ("price", (), ())


def test_a_job_that_waits_for_its_slot_is_told_when_that_begins() -> None:
    first = job("first", "sigmoid:1000,0,10h", steps=1600)
    late = job("late", "sigmoid:100,0,10h", created_at=1.0)
    snapshot = snapshot_of(NODE, first, late)
    look = looked(snapshot)
    assert look.standings[JOB].reason is Reason.AWAITING_SLOT
    told = explained(snapshot, look, History())
    assert told.cause == "slot"
    assert told.admission is not None
    assert told.admission.resumes_at == NOW.now + 2 * SLOT
    assert [step.at for change in told.changes for step in change.steps] == [NOW.now + 2 * SLOT]


def test_a_job_whose_utility_is_gone_is_told_which_deadline_would_do() -> None:
    snapshot = snapshot_of(NODE, job("late", "steps:10m=100", created_at=-SLOT))
    look = looked(snapshot)
    assert look.standings[JOB].reason is Reason.UTILITY_GONE
    told = explained(snapshot, look, History(jobs=look.state.history.jobs))
    (change,) = told.changes
    again = snapshot_of(NODE, job("late", change.steps[0].after, created_at=-SLOT))
    assert looked(again, History(jobs=look.state.history.jobs)).standings[JOB].plan is not None
