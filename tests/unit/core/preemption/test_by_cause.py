"""Several causes at once: for one start jobs leave under one cause, the first of the order."""

from dataclasses import replace

from extender.core.cluster import job_views
from extender.core.decisionlog.registry import PREEMPTION
from extender.core.parameters.preemption import PreemptionParameters
from extender.core.preemption import by_cause
from extender.core.preemption.decision import PreemptionTrigger
from extender.core.preemption.state import PreemptionState
from extender.core.records.parking import Cause
from shared.model import JobKey
from tests.unit.core.preemption.sharing_cluster import NOW, RECLAIMS, guaranteed, job, session

BOTH = replace(RECLAIMS, preemption=PreemptionParameters(enabled=True, least_run_seconds=0.0))
SESSION = session(
    guaranteed(a="0.5", c="0.5"),
    job("a/new", 4, runs=False, priority=10),
    job("b/borrows", 4, runs=True),
    job("c/cheap", 4, runs=True, since=NOW - 400.0),
    params=BOTH,
)
"""The namespace of the job that would cost less has no more than its share."""


def test_the_causes_would_choose_different_jobs() -> None:
    waiting = job_views.view(SESSION.snapshot, JobKey("a/job/new"))
    found = {one.cause: one.jobs for cause in by_cause.IN_TURN for one in cause.proposals(SESSION)}
    assert found == {Cause.SHARE: ("b/job/borrows",), Cause.PRIORITY: ("c/job/cheap",)}
    shown = by_cause.would_leave(SESSION, waiting)
    assert shown is not None
    assert (shown.cause, shown.jobs) == (Cause.SHARE, ("b/job/borrows",))


def test_no_more_jobs_leave_for_a_start_than_it_needs() -> None:
    outcome = PREEMPTION.decide(SESSION, PreemptionState(), PreemptionTrigger(due=True))
    assert [command.owner.name for command in outcome.commands] == ["borrows"]
