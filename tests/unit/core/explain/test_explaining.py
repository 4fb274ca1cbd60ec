"""What people are told."""

import json

import pytest

from extender.core import explain
from extender.core.cluster.session import Reading, Session
from extender.core.parameters.combined import CoreParameters
from extender.core.parameters.placement import ScoringWeights
from extender.core.queue.state import QueueState
from extender.core.scheduler import prioritizing
from shared import labels
from shared.model import JobKey
from tests.fakes.builders import make_node, make_owner, make_pod
from tests.fakes.deciding import queue_pass
from tests.unit.core.clusters import queued_job, released_job, snapshot_of

PARAMS = CoreParameters()
NOW = Reading(1.0, 1.0)
NODES = [
    make_node("a", cpu="4"),
    make_node("b", cpu="4", unschedulable=True),
    make_node("c", cpu="8", taints=["node.kubernetes.io/not-ready:NoSchedule"]),
]


def test_the_queue_shows_position_value_terms_and_reason():
    small = queued_job("small", 2, created_at=60.0, annotations={labels.MAX_WAIT: "2m"})
    big = queued_job("big", 9, created_at=40.0)
    session = Session(snapshot_of(NODES, small, big), Reading(100, 100), PARAMS)
    cycle = queue_pass(session.snapshot, QueueState(), session.reading, PARAMS)
    told = explain.queue(session, cycle, acting=True)
    assert (told.order, told.acting, told.generated_at) == ("cps", True, 100.0)
    assert [entry.position for entry in told.entries] == [1, 2]
    entries = {entry.job: entry for entry in told.entries}
    assert entries["small"].terms.l == 50
    assert entries["small"].reason == "Releasing"
    assert entries["small"].waited_seconds == 40.0
    assert [entries[job].max_wait_seconds for job in ("small", "big")] == [120.0, None]
    assert entries["big"].reason == "GangDoesNotFit"
    assert entries["big"].min_available == 9


def test_the_queue_is_empty_before_the_first_cycle():
    assert explain.queue(Session(snapshot_of(), NOW, PARAMS), None, acting=False).entries == ()


def test_nodes_show_what_is_taken_and_what_it_costs():
    job = released_job("j", ["a", "a"])
    told = explain.nodes(Session(snapshot_of(NODES, job), NOW, PARAMS))
    a, b, c = told.entries
    assert (a.name, a.seats, a.used["cpu"], a.allocatable["cpu"]) == ("a", 2, 2000, 4000)
    assert a.relative_price == pytest.approx(0.5)
    assert (b.relative_price, b.log_price) == (0.0, 0.0)
    assert (a.unschedulable, b.unschedulable) == (False, True)
    assert (a.ready, c.ready) == (True, False)
    assert a.agent is None


def test_jobs_show_their_members_by_state():
    snapshot = snapshot_of(NODES, released_job("j", ["a", "c"], bound=1))
    (job,) = explain.all_jobs(Session(snapshot, NOW, PARAMS)).entries
    assert (job.counts.bound, job.counts.seated, job.members) == (1, 1, 2)
    assert job.nodes == ("a", "c")
    assert (job.progress, job.progress_problem, job.checkpoint) == (None, "", None)


def test_a_pod_is_explained_by_every_term_of_every_node_that_could_take_it():
    waiting = queued_job("j", 2)
    snapshot = snapshot_of([NODES[0], make_node("d", cpu="8")], waiting)
    cycle = queue_pass(snapshot, QueueState(), Reading(1, 1), PARAMS)
    told = explain.pod(explain.isolated(Session(snapshot, NOW, PARAMS), cycle), waiting[1])
    assert (told.state, told.reason) == ("gated", "Releasing")
    assert [terms.node for terms in told.nodes] == ["a", "d"]
    first = told.nodes[0]
    assert first.packing > told.nodes[1].packing
    assert 0 <= first.total <= 1


def test_a_pod_of_another_scheduler_has_no_terms():
    pod = make_pod(scheduler_name="other", node="a")
    told = explain.pod(explain.isolated(Session(snapshot_of(NODES, pod), NOW, PARAMS), None), pod)
    assert (told.state, told.node, told.nodes) == ("", "a", ())


def test_the_decision_on_the_pod_is_repeated():
    decision = json.dumps({"rule": "one-node"})
    pod = make_pod(reservation="a", plan="p", plan_size=1, annotations={labels.DECISION: decision})
    told = explain.pod(explain.isolated(Session(snapshot_of(NODES, pod), NOW, PARAMS), None), pod)
    assert (told.state, told.node, told.decision) == ("seated", "a", decision)


def test_a_pod_says_why_its_job_waits_and_what_would_make_it_run():
    waiting = queued_job("j", 2, cpu="5")
    snapshot = snapshot_of([make_node("a", cpu="8")], queued_job("before", 9), waiting)
    cycle = queue_pass(snapshot, QueueState(), Reading(1, 1), PARAMS)
    asked = explain.isolated(Session(snapshot, NOW, PARAMS), cycle)
    told = explain.pod(asked, waiting[1])
    assert (told.pod, told.needs, told.fits, told.short) == ("j-0", 2, 1, {"cpu": 2000})
    assert told.changes[0].says == "lower the request for cpu from 5 to 4"
    assert [told.position, *(a.job for a in told.ahead)] == [2, "default/job/before"]
    assert explain.job(asked, JobKey("default/job/j")).changes == told.changes


def test_a_single_pod_without_our_gate_is_explained_too():
    pod = make_pod("direct", cpu="5")
    told = explain.pod(
        explain.isolated(Session(snapshot_of([NODES[0]], pod), NOW, PARAMS), None), pod
    )
    assert (told.state, told.reason, told.cause) == ("direct", "NoSuchNode", "cpu")
    assert told.changes[0].says == "lower the request for cpu from 5 to 4"


def test_jobs_are_found_by_name_and_where_several_kinds_have_it_by_kind():
    twin = make_owner("j", kind="StatefulSet")
    snapshot = snapshot_of(queued_job("j", 1), twin, make_pod("j-twin", owner=twin))
    both = explain.jobs_named(snapshot, "default", "j")
    assert both == ("default/job/j", "default/statefulset/j")
    assert explain.jobs_named(snapshot, "default", "j", "statefulset") == both[1:]
    assert explain.jobs_named(snapshot, "other", "j") == ()


def test_scores_answer_the_names_of_the_request_in_its_order():
    pod = make_pod("x", cpu="3", memory="16Gi")
    nodes = [make_node("a", cpu="4"), make_node("d", cpu="16")]
    packing = CoreParameters(weights=ScoringWeights(affinity=0, locality=0, packing=1, price=0))
    scores = prioritizing.scores(snapshot_of(nodes, pod), pod, ["d", "unknown", "a"], packing)
    assert [name for name, _ in scores] == ["d", "unknown", "a"]
    points = dict(scores)
    assert points["unknown"] == 0
    assert points["a"] > points["d"]


def test_members_draw_a_late_one_to_their_node():
    job = released_job("j", ["d", "d"], bound=2, size=2)
    late = make_pod("late", owner=job[0])
    snapshot = snapshot_of([make_node("a"), make_node("d")], job, late)
    points = dict(prioritizing.scores(snapshot, late, ["a", "d"], PARAMS))
    assert points["d"] > points["a"]


def test_other_schedulers_pods_are_not_scored():
    pod = make_pod(scheduler_name="other")
    assert prioritizing.scores(snapshot_of(NODES, pod), pod, ["a"], PARAMS) == (("a", 0),)
