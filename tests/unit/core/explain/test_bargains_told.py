"""What people are told of workers, of changes of them, and of promises."""

import pytest
from msgspec.structs import replace as changed

from extender.core import explain
from extender.core.cluster.session import Reading, Session
from extender.core.cluster.snapshot import Snapshot
from extender.core.elastic.state import Ended, Ending
from extender.core.explain import job_details
from extender.core.parameters.combined import CoreParameters
from extender.core.pricing.outcome import JobStatus, Promise
from extender.core.queue.state import QueueState
from extender.core.records import rescale, slot_plan
from extender.core.records.rescale import Cause, Phase, Rescale
from extender.core.records.slot_plan import JobRequest, SlotPlan, Span
from shared import labels
from shared.model import JobKey, NodeName
from tests.fakes.builders import make_node, make_owner, make_shape
from tests.fakes.deciding import queue_pass
from tests.unit.core.clusters import queued_job, released_job, snapshot_of

PARAMS = CoreParameters()
NODES = [make_node("a", cpu="4")]
A = NodeName("a")
ELASTIC = {labels.WORKERS: "1..4"}
JOB = JobKey("default/job/big")
TRAINING = "epochs=1,chunks=1,batches=1,step=1s"
PLAN = SlotPlan(
    job=JOB,
    asked=JobRequest("steps:1h=10", TRAINING, make_shape(), least=1, most=4, servers=2),
    slot_seconds=10.0,
    arrival=1,
    promise=5,
    completion=6,
    utility=10.0,
    bill=2.5,
    spans=(Span(2, 3, {A: 2}), Span(6, 6, {A: 1})),
)
PLANNED = JobStatus(JOB, PLAN, payoff=7.5, utility=10.0, bill=2.5, promise=Promise.SLIPPED)
CHANGE = Rescale(
    id="r", phase=Phase.DONE, cause=Cause.MORE_IMPORTANT, before=4, to=2, at=5.0, since=8.0, job=JOB
)


def session_at(snapshot: Snapshot, now: float) -> Session:
    return Session(snapshot, Reading(now, now), PARAMS)


def of_plan(now: float):
    found = job_details.admission_entry(PLANNED, now=now)
    assert found is not None
    return found


def test_a_plan_is_told_in_times() -> None:
    told = of_plan(25.0)
    assert (told.admitted, told.payoff, told.utility, told.bill) == (True, 7.5, 10.0, 2.5)
    assert (told.promise, told.promised_at, told.finish_at) == ("slipped", 60.0, 70.0)
    assert (told.planned_workers, told.resumes_at) == (2, None)


PAUSES = {15.0: 20.0, 45.0: 60.0, 65.0: None, 95.0: None}


@pytest.mark.parametrize(("now", "want"), PAUSES.items())
def test_in_a_pause_the_next_slot_with_workers_is_told(now: float, want: float | None) -> None:
    assert of_plan(now).resumes_at == want


def test_who_is_not_admitted_has_a_payoff_and_no_times() -> None:
    told = job_details.admission_entry(JobStatus(JOB, payoff=-2.0, utility=1.0, bill=3.0), now=1.0)
    assert told is not None
    assert (told.admitted, told.payoff, told.promised_at, told.promise) == (False, -2.0, None, "")
    assert job_details.admission_entry(None, now=1.0) is None


def test_the_queue_and_the_jobs_tell_the_same_of_a_job() -> None:
    job = queued_job("big", 3, annotations=ELASTIC)
    snapshot = snapshot_of(NODES, job)
    session = session_at(snapshot, 1.0)
    cycle = queue_pass(snapshot, QueueState(), session.reading, PARAMS)
    (key,) = snapshot.jobs
    known = {key: JobStatus(key, payoff=1.0)}
    (waiting,) = explain.queue(session, cycle, acting=True, standings=known).entries
    (listed,) = explain.all_jobs(session, standings=known).entries
    assert waiting.workers == listed.workers
    assert waiting.workers is not None
    assert (waiting.workers.least, waiting.workers.most, waiting.workers.now) == (1, 4, 3)
    assert waiting.admission == listed.admission
    assert waiting.admission is not None


def test_of_a_job_with_a_fixed_number_of_workers_nothing_is_told() -> None:
    snapshot = snapshot_of(NODES, queued_job("big", 3))
    (listed,) = explain.all_jobs(session_at(snapshot, 1.0)).entries
    assert (listed.workers, listed.admission) == (None, None)


def test_a_job_that_its_plan_pauses_has_no_pods_and_is_listed() -> None:
    owner = make_owner(name="big", annotations={labels.SLOT_PLAN: slot_plan.text(PLAN)})
    snapshot = snapshot_of(NODES, queued_job("zeta", 1), owner)
    told = explain.all_jobs(session_at(snapshot, 45.0), standings={JOB: PLANNED}).entries
    assert [entry.job for entry in told] == ["big", "zeta"]
    paused = told[0]
    assert (paused.members, paused.min_available, paused.created_at) == (0, 3, owner.created_at)
    assert paused.workers is not None
    assert (paused.workers.now, paused.workers.most) == (0, 4)


def owned(*rescales: Rescale):
    return [
        make_owner(name=one.id, uid=one.id, annotations={labels.RESCALE: rescale.text(one)})
        for one in rescales
    ]


def test_the_ledger_is_in_order_and_an_owners_word_is_the_newer() -> None:
    asked = changed(CHANGE, phase=Phase.ASKED, since=5.0)
    older = changed(CHANGE, id="q", at=1.0, why="NoRoom")
    past = (Ended(asked, Ending.DONE), Ended(older, Ending.WITHDRAWN))
    told = job_details.rescale_ledger(snapshot_of(NODES, owned(CHANGE)), past)
    assert [(one.id, one.phase) for one in told] == [("q", "Withdrawn"), ("r", "Done")]
    assert told[0].message.startswith("not all new workers found room")
    assert (told[1].namespace, told[1].kind, told[1].job) == ("default", "job", "big")
    assert job_details.rescales_of_job(told, JOB) == told
    assert job_details.rescales_of_job(told, JobKey("default/job/other")) == ()


def test_whether_the_job_for_which_room_was_made_runs_is_told() -> None:
    waiting, running = JobKey("default/job/waits"), JobKey("default/job/runs")
    starters = {"r-1": waiting, "r-2": running, "r-3": None}
    changes = [changed(CHANGE, id=name, starts=key) for name, key in starters.items()]
    snapshot = snapshot_of(
        NODES, queued_job("waits", 1), released_job("runs", ["a"], bound=1), owned(*changes)
    )
    (key_runs,) = (key for key in snapshot.jobs if key.endswith("runs"))
    told = {one.starts: one.started for one in job_details.rescale_ledger(snapshot)}
    assert key_runs == running
    assert told == {waiting: False, running: True, "": False}
