"""Details of a job in lists and explanations: its slot plan, and the ledger of rescales."""

import pytest
from msgspec.structs import replace as changed

from extender.core.elastic.state import Ended, Ending
from extender.core.explain import job_details
from extender.core.pricing.outcome import JobStatus
from extender.core.records import rescale
from extender.core.records.rescale import Cause, Phase, Rescale
from shared import labels
from shared.model import JobKey, Owner
from shared.readapi.pricing import AdmissionEntry
from tests.fakes.builders import make_node, make_owner
from tests.unit.core.clusters import queued_job, released_job, snapshot_of
from tests.unit.core.explain.priced_jobs import PLANNED

JOB = JobKey("default/job/big")
CHANGE = Rescale(
    id="r", phase=Phase.DONE, cause=Cause.MORE_IMPORTANT, before=4, to=2, at=5.0, since=8.0, job=JOB
)


def planned_at(now: float) -> AdmissionEntry:
    entry = job_details.admission_entry(PLANNED, now=now)
    assert entry is not None
    return entry


def test_a_plan_is_shown_in_times() -> None:
    entry = planned_at(25.0)
    assert (entry.admitted, entry.payoff, entry.utility, entry.bill) == (True, 7.5, 10.0, 2.5)
    assert (entry.promise, entry.promised_at, entry.finish_at) == ("slipped", 60.0, 70.0)
    assert (entry.planned_workers, entry.resumes_at) == (2, None)


PAUSES = {15.0: 20.0, 45.0: 60.0, 65.0: None, 95.0: None}


@pytest.mark.parametrize(("now", "want"), PAUSES.items())
def test_in_a_pause_the_next_slot_with_workers_is_shown(now: float, want: float | None) -> None:
    assert planned_at(now).resumes_at == want


def test_a_job_that_is_not_admitted_has_a_payoff_and_no_times() -> None:
    refused = JobStatus(JOB, payoff=-2.0, utility=1.0, bill=3.0)
    entry = job_details.admission_entry(refused, now=1.0)
    assert entry is not None
    assert (entry.admitted, entry.payoff) == (False, -2.0)
    assert (entry.promised_at, entry.promise) == (None, "")
    assert job_details.admission_entry(None, now=1.0) is None


def owners_of(*rescales: Rescale) -> list[Owner]:
    return [
        make_owner(
            name=change.id, uid=change.id, annotations={labels.RESCALE: rescale.text(change)}
        )
        for change in rescales
    ]


def test_the_ledger_is_in_order_and_the_record_of_an_owner_is_the_newer() -> None:
    requested = changed(CHANGE, phase=Phase.ASKED, since=5.0)
    older = changed(CHANGE, id="q", at=1.0, why="NoRoom")
    past = (Ended(requested, Ending.DONE), Ended(older, Ending.WITHDRAWN))
    entries = job_details.rescale_ledger(snapshot_of(make_node("a"), owners_of(CHANGE)), past)
    assert [(entry.id, entry.phase) for entry in entries] == [("q", "Withdrawn"), ("r", "Done")]
    assert entries[0].message.startswith("not all new workers found room")
    assert (entries[1].namespace, entries[1].kind, entries[1].job) == ("default", "job", "big")
    assert job_details.rescales_of_job(entries, JOB) == entries
    assert job_details.rescales_of_job(entries, JobKey("default/job/other")) == ()


def test_the_ledger_shows_whether_the_job_that_got_the_room_runs() -> None:
    waiting, running = JobKey("default/job/waits"), JobKey("default/job/runs")
    starters = {"r-1": waiting, "r-2": running, "r-3": None}
    changes = [changed(CHANGE, id=name, starts=key) for name, key in starters.items()]
    snapshot = snapshot_of(
        make_node("a", cpu="4"),
        queued_job("waits", 1),
        released_job("runs", ["a"], bound=1),
        owners_of(*changes),
    )
    assert running in snapshot.jobs
    started = {entry.starts: entry.started for entry in job_details.rescale_ledger(snapshot)}
    assert started == {waiting: False, running: True, "": False}
