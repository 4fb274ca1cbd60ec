"""Running jobs: their nodes and their ends, as the reservation of the head counts them."""

from dataclasses import replace

import pytest
from msgspec.structs import replace as changed

from extender.core.cluster.session import Reading, Session
from extender.core.cluster.snapshot import Placeholder, PlaceholderReservations
from extender.core.parameters.combined import CoreParameters
from extender.core.queue import running_jobs
from extender.core.queue.running_jobs import End, Source, Unknown
from extender.core.queue.state import QueueState
from shared import labels
from shared.model import JobKey, NodeName
from tests.fakes.builders import make_node, make_owner, make_pod, make_shape
from tests.unit.core.clusters import queued_job, released_job, snapshot_of

NODES = [make_node("a"), make_node("b")]
SAYS = {labels.EXPECTED_DURATION: "50s"}
NOW = 1000.0


def running(*entities, placeholders=None):
    snapshot = replace(snapshot_of(NODES, *entities), placeholders=placeholders or {})
    session = Session(snapshot, Reading(NOW, NOW), CoreParameters())
    return running_jobs.running(session, QueueState())


def job(**pods):
    return released_job("j", ["a", "b"], **{"bound": 2, "scheduled_at": 980.0, **pods})


def deleting():
    owner, *pods = job()
    return [owner, *(changed(pod, deleting=True) for pod in pods)]


def stateful_set():
    owner = make_owner("j", kind="StatefulSet", size=1)
    return [owner, make_pod("j-0", owner=owner, node="a", scheduled_at=980.0)]


ENDS = {
    "unknown": (job(), None, End(None, Unknown.UNSTATED), False),
    "known": (job(annotations=SAYS), 1030.0, End(1030.0, Source.ANNOTATION), False),
    "over, so it may end at any moment": (
        job(annotations=SAYS, scheduled_at=900.0),
        NOW,
        End(None, Unknown.OVERRUN),
        False,
    ),
    "released a moment ago": (
        job(annotations=SAYS, bound=0, scheduled_at=0.0),
        1050.0,
        End(1050.0, Source.ANNOTATION),
        False,
    ),
    "being deleted": (deleting(), NOW, None, False),
    "of a kind that never ends by itself": (
        stateful_set(),
        None,
        End(None, Unknown.UNSTATED),
        True,
    ),
}


@pytest.mark.parametrize(("entities", "ends_at", "end", "endless"), ENDS.values(), ids=ENDS.keys())
def test_end_of_a_running_job(entities, ends_at, end, endless) -> None:
    (one,) = running(entities)
    assert (one.job.ends_at, one.end, one.job.endless) == (ends_at, end, endless)


NO_RUNNING_JOB = {
    "a job that waits": queued_job("j", 2),
    "a pod of another scheduler": [
        make_pod("x", node="a", scheduler_name="default-scheduler"),
    ],
    "a pod that has finished": [make_pod("x", node="a", phase="Succeeded")],
    "a pod on a node that is gone": [make_pod("x", node="gone")],
}


@pytest.mark.parametrize("entities", NO_RUNNING_JOB.values(), ids=NO_RUNNING_JOB.keys())
def test_pods_that_are_no_running_job(entities) -> None:
    assert running(entities) == ()


def test_reservations_that_are_open_for_members_to_come_end_with_their_job() -> None:
    shape, key = make_shape(cpu="3"), JobKey("default/job/j")
    reservation = Placeholder(1, NodeName("b"), shape, "", "")
    (one,) = running(
        job(), placeholders={key: PlaceholderReservations(key, "p", 3, NOW, (reservation,))}
    )
    assert (shape, 1) in one.job.pods
    assert len(one.job.pods) == 3
