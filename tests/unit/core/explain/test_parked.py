"""The explanation of a job names the jobs that are parked for it."""

import pytest

from extender.core import explain
from extender.core.cluster.session import Reading, Session
from extender.core.queue.state import QueueState
from extender.core.records.parking import Cause
from shared.model import JobKey
from tests.fakes.builders import make_node
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
