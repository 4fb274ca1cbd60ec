"""Explanations of pods and jobs: their state, the terms of the nodes, and the changes."""

import json

from extender.core import explain
from extender.core.cluster.session import Reading, Session
from extender.core.cluster.snapshot import Snapshot
from extender.core.explain import ExplainSession
from extender.core.parameters.combined import CoreParameters
from extender.core.queue.decision import QueueOutcome
from extender.core.queue.state import QueueState
from shared import labels
from shared.model import JobKey, Pod
from tests.fakes.builders import make_node, make_owner, make_pod
from tests.fakes.deciding import queue_pass
from tests.fakes.reports import make_pod_report, make_report
from tests.unit.core.clusters import queued_job, released_job, snapshot_of, store_of

PARAMS = CoreParameters()
NOW = Reading(1.0, 1.0)
NODE = make_node("a", cpu="4")


def session_of(snapshot: Snapshot, cycle: QueueOutcome | None = None) -> ExplainSession:
    return explain.isolated(Session(snapshot, NOW, PARAMS), cycle)


def after_pass(snapshot: Snapshot) -> ExplainSession:
    return session_of(snapshot, queue_pass(snapshot, QueueState(), NOW, PARAMS))


def test_a_pod_is_explained_by_every_term_of_every_feasible_node():
    waiting = queued_job("j", 2)
    session = after_pass(snapshot_of(NODE, make_node("d", cpu="8"), waiting))
    answer = explain.pod(session, waiting[1])
    assert (answer.state, answer.reason) == ("gated", "Releasing")
    assert [terms.node for terms in answer.nodes] == ["a", "d"]
    first = answer.nodes[0]
    assert first.packing > answer.nodes[1].packing
    assert 0 <= first.total <= 1


def test_a_pod_of_another_scheduler_has_no_terms():
    pod = make_pod(scheduler_name="other", node="a")
    answer = explain.pod(session_of(snapshot_of(NODE, pod)), pod)
    assert (answer.state, answer.node, answer.nodes) == ("", "a", ())


def test_the_answer_repeats_the_decision_on_the_pod():
    decision = json.dumps({"rule": "one-node"})
    pod = make_pod(reservation="a", plan="p", plan_size=1, annotations={labels.DECISION: decision})
    answer = explain.pod(session_of(snapshot_of(NODE, pod)), pod)
    assert (answer.state, answer.node, answer.decision) == ("seated", "a", decision)


def test_the_answer_for_a_pod_has_the_reason_and_the_changes_of_its_job():
    waiting = queued_job("j", 2, cpu="5")
    session = after_pass(snapshot_of(make_node("a", cpu="8"), queued_job("before", 9), waiting))
    answer = explain.pod(session, waiting[1])
    assert (answer.pod, answer.needs, answer.fits, answer.short) == ("j-0", 2, 1, {"cpu": 2000})
    assert answer.changes[0].says == "lower the request from 5 CPUs to 4 CPUs"
    assert answer.position == 2
    assert [ahead.job for ahead in answer.ahead] == ["default/job/before"]
    assert explain.job(session, JobKey("default/job/j")).changes == answer.changes


def test_a_single_pod_without_our_gate_is_explained_too():
    pod = make_pod("direct", cpu="5")
    answer = explain.pod(session_of(snapshot_of(NODE, pod)), pod)
    assert (answer.state, answer.reason, answer.cause) == ("direct", "NoSuchNode", "cpu")
    assert answer.changes[0].says == "lower the request from 5 CPUs to 4 CPUs"


def test_jobs_are_found_by_name_and_jobs_of_several_kinds_by_kind():
    twin = make_owner("j", kind="StatefulSet")
    snapshot = snapshot_of(queued_job("j", 1), twin, make_pod("j-twin", owner=twin))
    both = explain.named(snapshot, "default", "j")
    assert both == ("default/job/j", "default/statefulset/j")
    assert explain.named(snapshot, "default", "j", "statefulset") == both[1:]
    assert explain.named(snapshot, "other", "j") == ()


def test_the_answer_has_how_far_the_training_is_and_what_is_not_understood():
    job = released_job("j", ["a", "a"], bound=2)
    bound = [entity for entity in job if isinstance(entity, Pod)]
    why = "100 lines or more read, no values found: set format=… or regex=…"
    reading = [
        make_pod_report(bound[0].uid, None),
        make_pod_report(bound[1].uid, value=2.5, source="printed", problem=why),
    ]
    store = store_of(NODE, job)
    store.report(make_report("a", reading, received_at=1.0))
    (key,) = store.snapshot().jobs
    answer = explain.job(session_of(store.snapshot()), key)
    assert answer.progress is not None
    assert (answer.progress.value, answer.progress.source) == (2.5, "printed")
    assert answer.progress_problem == f"{bound[1].name}: {why}"
