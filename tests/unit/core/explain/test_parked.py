"""The explanation of a job names the jobs that are parked for it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from dataclasses import replace as replaced

import pytest
from msgspec.structs import replace

from extender.core import explain
from extender.core.cluster.session import Reading, Session, States
from extender.core.parameters.combined import CoreParameters
from extender.core.parameters.preemption import PreemptionParameters
from extender.core.parameters.queue import FairShareParameters, Order
from extender.core.queue.decision import QUEUE
from extender.core.queue.state import QueueState
from extender.core.records.parking import Cause
from shared import labels
from shared.model import Entity, JobKey
from shared.readapi.explanation import Change
from tests.fakes.builders import make_node, make_priority_class
from tests.fakes.deciding import queue_pass
from tests.unit.core.clusters import snapshot_of
from tests.unit.core.preemption.sharing_cluster import (
    CPUS,
    NOW,
    RECLAIMS,
    guaranteed,
    job,
    parked_for,
)


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
    (step,) = first.steps
    assert (step.subject, step.field, step.cause) == ("b/job/one", "parked", cause.value)


PREEMPTION = PreemptionParameters(enabled=True, least_run_seconds=0.0, least_wait_seconds=600.0)
PREEMPTS = CoreParameters(preemption=PREEMPTION)
BY_SERVICE = CoreParameters(preemption=PREEMPTION, order=Order.SERVICE)
SHARES = replaced(RECLAIMS, preemption=replaced(PREEMPTION, enabled=False))
LONG, SHORT = {labels.EXPECTED_DURATION: "24h"}, {labels.EXPECTED_DURATION: "60s"}


@dataclass(frozen=True)
class Waiting:
    """What would make job ``a/new`` run, for which other jobs hold all the room."""

    params: CoreParameters
    priority: int = 5
    policy: bool = True
    entities: Sequence[Entity] = ()
    notes: Mapping[str, str] = field(default_factory=dict)
    size: int = 4
    running: Mapping[str, int] = field(default_factory=lambda: {"b/one": CPUS})

    def changes(self) -> Sequence[Change]:
        high = replace(make_priority_class("class", value=self.priority), preempts=self.policy)
        pods = {"priority": self.priority, "priority_class": "class", "since": NOW}
        waiting = job("a/new", self.size, runs=False, notes=self.notes, **pods)
        runs = [
            job(key, size, runs=True, priority=5, notes=LONG, since=NOW - 100.0)
            for key, size in self.running.items()
        ]
        node = make_node("n", cpu=str(CPUS))
        snapshot = snapshot_of(node, high, waiting, *runs, *self.entities)
        reading = Reading(NOW, NOW)
        queued = queue_pass(snapshot, QueueState(), reading, self.params)
        states = States({QUEUE.name: queued.state})
        session = explain.isolated(Session(snapshot, reading, self.params, states), queued)
        return explain.job(session, JobKey("a/job/new")).changes


NAMED = {
    "a more important job": (Waiting(PREEMPTS, priority=10), Cause.PRIORITY),
    "a job of a namespace that has less than its share": (
        Waiting(SHARES, entities=guaranteed(a="0.5")),
        Cause.SHARE,
    ),
    "a job that needs less": (Waiting(BY_SERVICE, notes=SHORT), Cause.ORDER),
}


@pytest.mark.parametrize(("waiting", "cause"), NAMED.values(), ids=NAMED)
def test_a_job_shows_at_once_which_jobs_will_leave_why_and_what_that_costs(
    waiting: Waiting, cause: Cause
) -> None:
    (first, *_) = waiting.changes()
    (step,) = first.steps
    assert (step.subject, step.cause) == ("b/job/one", cause.value)
    assert step.pod_seconds is not None
    assert step.pod_seconds > 0
    cost = f"it costs about {step.pod_seconds:.0f} pod-seconds"
    assert first.says == f"wait until b/job/one is parked for it ({cause.value}): {cost}"


def test_of_several_jobs_each_has_its_own_cost() -> None:
    waiting = Waiting(PREEMPTS, priority=10, size=CPUS, running={"b/one": 5, "b/two": 3})
    (first, *_) = waiting.changes()
    one, two = first.steps
    assert one.pod_seconds is not None
    assert two.pod_seconds is not None
    assert one.pod_seconds > two.pod_seconds
    each = f"b/job/one ({one.pod_seconds:.0f}), b/job/two ({two.pod_seconds:.0f})"
    assert first.says.startswith(f"wait until {each} are parked for it (Priority): it costs about ")
    assert first.says.endswith(f" {one.pod_seconds + two.pod_seconds:.0f} pod-seconds")


STAY = {
    "it is not more important": Waiting(PREEMPTS),
    "its class forbids it": Waiting(PREEMPTS, priority=10, policy=False),
    "the setting is off": Waiting(CoreParameters(), priority=10),
    "its namespace has no share": Waiting(SHARES),
    "reclaim is off": Waiting(
        CoreParameters(fair_share=FairShareParameters(enabled=True)),
        entities=guaranteed(a="0.5"),
    ),
    "it needs as much": Waiting(BY_SERVICE, notes=LONG),
    "the order is another one": Waiting(PREEMPTS, notes=SHORT),
}


@pytest.mark.parametrize("waiting", STAY.values(), ids=STAY)
def test_no_job_is_named_that_will_not_leave(waiting: Waiting) -> None:
    says = [change.says for change in waiting.changes()]
    assert says
    assert not any("parked" in one for one in says)
