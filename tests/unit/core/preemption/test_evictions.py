"""Evictions that wait for us: which jobs they ask to leave, and what is reported to each."""

from typing import Any

import pytest

from extender.core.cluster.session import Reading, Session
from extender.core.parameters.combined import CoreParameters
from extender.core.parameters.drain import DrainParameters
from extender.core.preemption import drains, evictions
from extender.core.preemption.evictions import LEAST_SECONDS, REPORT_SECONDS, UNKNOWN_SECONDS
from extender.core.records import parking
from extender.core.records.parking import Cause, Parking, Phase
from extender.core.records.parking_reasons import ParkingReason as R
from shared import labels
from shared.model import Entity, JobKey, Uid
from shared.objects.disruptions import Eviction, Turn
from shared.readapi.ledgers import Declined
from tests.fakes.builders import make_node, make_owner, make_pod
from tests.unit.core.clusters import snapshot_of

NOW = 10_000.0
KEY = JobKey("default/job/it")


def eviction(**fields: Any) -> Eviction:
    pod = {"pod": "it-0", "pod_uid": "default-it-0"}
    given = {**pod, "turn": Turn.ACTIVE, "started_at": NOW, **fields}
    return Eviction(namespace="default", name="e", uid="e", resource_version="1", **given)


def job(phase: Phase | None = None, step: int | None = None, **pod: Any) -> list[Entity]:
    owner = make_owner("it", size=1)
    if phase is not None:
        one = Parking("p", phase, Cause.DRAIN, NOW, NOW, KEY, owner.uid, step=step)
        notes = {labels.PARKING: parking.text(one)}
        owner = make_owner("it", size=1, annotations=notes)
    phase_of_pod = pod.pop("phase_of_pod", "Running")
    return [owner, make_pod("it-0", owner=owner, index=0, node="a", phase=phase_of_pod, **pod)]


def session(*entities: Entity | list[Entity], enabled: bool = True) -> Session:
    snapshot = snapshot_of(make_node("a"), *entities)
    parameters = CoreParameters(drain=DrainParameters(evictions=enabled))
    return Session(snapshot, Reading(NOW, 0.0), parameters)


def declined(why: R) -> dict[JobKey, Declined]:
    return {KEY: Declined(job=KEY, reason=why.value, message=why.text, at=NOW)}


def reported(*entities: Entity | list[Entity], why: R | None = None) -> list[tuple[str, bool]]:
    found = evictions.answers(session(*entities), {} if why is None else declined(why))
    return [(one.message, one.completed) for one in found]


def test_the_job_of_a_pod_that_is_to_be_evicted_is_proposed_for_a_drain() -> None:
    (found,) = drains.proposals(session(job(), eviction()))
    assert (found.jobs, found.cause, found.in_turn) == ((KEY,), Cause.DRAIN, False)
    assert found.why == "pod it-0 is to be evicted (Eviction e)"


STAY: dict[str, list[Any]] = {
    "it is not our turn": [job(), eviction(turn=Turn.INACTIVE)],
    "the eviction was canceled": [job(), eviction(turn=Turn.CANCELED)],
    "we are done": [job(), eviction(completed_at=NOW)],
    "it is about an earlier pod of that name": [job(), eviction(pod_uid=Uid("earlier"))],
    "the pod is leaving": [job(deleting=True), eviction()],
    "the pod is of another scheduler": [job(scheduler_name="default-scheduler"), eviction()],
}


@pytest.mark.parametrize("entities", STAY.values(), ids=STAY)
def test_no_job_is_proposed_where(entities: list[Any]) -> None:
    assert drains.proposals(session(*entities)) == ()


def test_evictions_are_left_to_others_where_the_settings_say_so() -> None:
    off = session(job(), eviction(), enabled=False)
    assert (drains.proposals(off), list(evictions.answers(off, {}))) == ((), [])


REPORTS: dict[str, tuple[list[Any], R | None, list[tuple[str, bool]]]] = {
    "before the job is asked": (
        [job(), eviction()],
        None,
        [("the job is about to be asked for a checkpoint", False)],
    ),
    "while the trainers save": (
        [job(Phase.ASKED), eviction()],
        None,
        [("the job is asked for a checkpoint", False)],
    ),
    "while the pods leave": (
        [job(Phase.SUSPENDING, step=7), eviction()],
        None,
        [("the job leaves with its checkpoint of step 7", False)],
    ),
    "for a while, if the job moves just now": (
        [job(), eviction()],
        R.MIGRATING,
        [(f"the job is not parked: {R.MIGRATING.text}", False)],
    ),
    "at last, if the job has no checkpoint": (
        [job(), eviction()],
        R.NOT_OPTED_IN,
        [(f"the job is not parked: {R.NOT_OPTED_IN.text}", True)],
    ),
    "at last, if no pod of ours has that name": (
        [eviction(started_at=NOW - UNKNOWN_SECONDS)],
        None,
        [("no such pod of a job that Shuntyard schedules", True)],
    ),
    "at last, when the pod has left": (
        [eviction(heartbeat_at=NOW - 1)],
        None,
        [("the pod is gone", True)],
    ),
    "at last, when the pod has ended": (
        [job(phase_of_pod="Succeeded"), eviction()],
        None,
        [("the pod is gone", True)],
    ),
    "nothing, while the watch may be late": ([eviction()], None, []),
    "nothing, if it is not our turn": ([job(), eviction(turn=Turn.INACTIVE)], None, []),
}


@pytest.mark.parametrize(("entities", "why", "expected"), REPORTS.values(), ids=REPORTS)
def test_what_is_reported(
    entities: list[Any], why: R | None, expected: list[tuple[str, bool]]
) -> None:
    assert reported(*entities, why=why) == expected


@pytest.mark.parametrize(
    ("message", "seconds", "due"),
    [
        ("the job is asked for a checkpoint", REPORT_SECONDS - 1, False),
        ("the job is asked for a checkpoint", REPORT_SECONDS, True),
        ("another", LEAST_SECONDS - 1, False),
        ("another", LEAST_SECONDS, True),
    ],
    ids=[
        "the same not before its time",
        "the same again in time",
        "news not at once after the last report",
        "news soon",
    ],
)
def test_reports_keep_their_distance(message: str, seconds: float, due: bool) -> None:
    last = eviction(message=message, started_at=0.0, heartbeat_at=NOW - seconds)
    assert bool(reported(job(Phase.ASKED), last)) is due


def test_a_parking_is_given_up_when_the_eviction_is_canceled() -> None:
    assert drains.is_wanted(session(job(), eviction()), KEY)
    assert not drains.is_wanted(session(job(), eviction(turn=Turn.CANCELED)), KEY)
