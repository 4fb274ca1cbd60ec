"""The explanation of a job names the jobs that are parked for it."""

import pytest
from msgspec.structs import replace

from extender.core import explain
from extender.core.cluster.session import Reading, Session
from extender.core.parameters.combined import CoreParameters
from extender.core.parameters.preemption import PreemptionParameters
from extender.core.queue.state import QueueState
from extender.core.records.parking import Cause
from shared.model import JobKey
from tests.fakes.builders import make_node, make_priority_class
from tests.fakes.deciding import queue_pass
from tests.unit.core.clusters import snapshot_of
from tests.unit.core.preemption.sharing_cluster import CPUS, NOW, RECLAIMS, job, parked_for


@pytest.mark.parametrize("cause", [Cause.PRIORITY, Cause.ORDER, Cause.SHARE])
def test_a_job_waits_until_others_are_parked_for_it_and_the_cause_is_named(cause: Cause) -> None:
    leaving = parked_for(job("b/one", CPUS, runs=True), "a/job/new", cause)
    snapshot = snapshot_of(make_node("n", cpu=str(CPUS)), job("a/new", 4, runs=False), leaving)
    reading = Reading(NOW, NOW)
    queued = queue_pass(snapshot, QueueState(), reading, RECLAIMS)
    session = explain.isolated(Session(snapshot, reading, RECLAIMS), queued)
    answer = explain.job(session, JobKey("a/job/new"))
    first = answer.changes[0]
    assert first.says == f"wait until b/job/one is parked ({cause.value})"
    assert [(step.subject, step.field) for step in first.steps] == [("b/job/one", "parked")]


PREEMPTS = CoreParameters(
    preemption=PreemptionParameters(enabled=True, least_run_seconds=0.0, least_wait_seconds=600.0)
)


def changes_of(
    priority: int, *, policy: bool = True, params: CoreParameters = PREEMPTS
) -> list[str]:
    """What would make a job run for which another one of priority 5 has no room."""
    high = replace(make_priority_class("class", value=priority), preempts=policy)
    waiting = job("a/new", 4, runs=False, priority=priority, priority_class="class", since=NOW)
    runs = job("b/one", CPUS, runs=True, priority=5)
    snapshot = snapshot_of(make_node("n", cpu=str(CPUS)), high, waiting, runs)
    reading = Reading(NOW, NOW)
    queued = queue_pass(snapshot, QueueState(), reading, params)
    session = explain.isolated(Session(snapshot, reading, params), queued)
    return [change.says for change in explain.job(session, JobKey("a/job/new")).changes]


def test_a_more_important_job_shows_at_once_which_jobs_will_leave_and_what_that_costs() -> None:
    (first, *_) = changes_of(priority=10)
    assert first.startswith("wait until b/job/one is parked for it: it costs about ")
    assert first.endswith(" pod-seconds")


@pytest.mark.parametrize(
    "says",
    [
        changes_of(priority=5),
        changes_of(priority=10, policy=False),
        changes_of(priority=10, params=CoreParameters()),
    ],
    ids=["it is not more important", "its class forbids it", "the setting is off"],
)
def test_no_job_is_named_that_will_not_leave(says: list[str]) -> None:
    assert says
    assert not any("parked" in one for one in says)
