"""User priorities, good and bad; the order of jobs under each setting."""

import pytest

from extender.core.cluster import job_views
from extender.core.cluster.reasons import Reason
from extender.core.cluster.session import Reading, Session
from extender.core.explain import lists
from extender.core.parameters.combined import CoreParameters
from extender.core.parameters.queue import Order, WeightingParameters
from extender.core.queue import order as queue_order
from extender.core.queue.state import Priced, QueueState
from shared import labels
from tests.fakes.builders import make_namespace, make_node, make_pod, make_quota
from tests.fakes.deciding import queue_pass
from tests.unit.core.clusters import queued_job, snapshot_of


def noted(text):
    return {labels.USER_PRIORITY: text}


CASES = {
    "no annotation": ([], 5, ""),
    "the namespace says": ([make_namespace(annotations=noted("9"))], 9, ""),
    "a quota says": ([make_quota(annotations=noted("2"))], 2, ""),
    "the namespace wins": (
        [make_namespace(annotations=noted("3")), make_quota(annotations=noted("9"))],
        3,
        "",
    ),
    "the largest quota counts": (
        [make_quota("a", annotations=noted("2")), make_quota("b", annotations=noted("7"))],
        7,
        "",
    ),
    "eleven is too many": ([make_namespace(annotations=noted("11"))], 5, "'11'"),
    "a word is no number": ([make_quota(annotations=noted("high"))], 5, "'high'"),
}


@pytest.mark.parametrize(("entities", "want", "complaint"), CASES.values(), ids=CASES.keys())
def test_user_priority_is_read_and_a_bad_one_is_named(entities, want, complaint):
    found, problem = queue_order.user_priority("default", snapshot_of(*entities), 5)
    assert found == want
    assert complaint in problem
    if complaint:
        assert "annotation shuntyard.io/user-priority of namespace default" in problem
        assert "an integer from 1 to 10" in problem
    else:
        assert not problem


QUEUE = [
    make_node(cpu="10", memory="10Gi"),
    *queued_job("narrow", 1, created_at=1),
    *queued_job("wide", 4, created_at=2),
    *queued_job("urgent", 1, created_at=3, priority=1000),
    *queued_job("heavy", 1, created_at=4, memory="8Gi"),
]
ORDERS = {
    Order.CPS: ["wide", "urgent", "narrow", "heavy"],
    Order.CREATION: ["narrow", "wide", "urgent", "heavy"],
    Order.WEIGHTING: ["urgent", "heavy", "wide", "narrow"],
    Order.SERVICE: ["urgent", "narrow", "wide", "heavy"],
}
V = {"wide": 1000, "urgent": 1000, "narrow": 0, "heavy": 0}


def ranked(params, *entities):
    snapshot = snapshot_of(*QUEUE, *entities)
    waiting = tuple(job_views.view(snapshot, key) for key in sorted(snapshot.waiting))
    return queue_order.ordered(waiting, Session(snapshot, Reading(10.0, 10.0), params))


@pytest.mark.parametrize("order", Order)
def test_jobs_come_in_the_order_of_the_setting_each_with_its_v(order):
    found = ranked(CoreParameters(order=order))
    assert [one.job.name for one in found] == ORDERS[order]
    assert {one.job.name: round(one.value.v) for one in found} == V
    assert all((one.weight is not None) is (order is Order.WEIGHTING) for one in found)
    assert all((one.standing is not None) is (order is Order.SERVICE) for one in found)


def test_the_key_is_made_of_class_user_and_requests():
    params = CoreParameters(
        order=Order.WEIGHTING, weighting=WeightingParameters(class_weight=2, user_weight=10)
    )
    owner = make_namespace(annotations=noted("7"))
    gone = make_pod("wide-9", job="wide", created_at=2, deleting=True)
    found = {one.job.name: one.weight for one in ranked(params, owner, gone)}
    assert (found["urgent"].utility, found["wide"].utility) == (2070, 70)
    assert (found["wide"].cpu_ratio, found["wide"].memory_ratio) == (0.4, 0.4)
    assert (found["heavy"].cpu_ratio, found["heavy"].memory_ratio) == (0.1, 0.8)


@pytest.mark.parametrize("order", Order)
def test_the_read_api_shows_the_key_of_the_order_beside_v(order):
    params = CoreParameters(order=order)
    snapshot = snapshot_of(*QUEUE[1:])  # without a node, so that all wait
    outcome = queue_pass(snapshot, QueueState(), Reading(10, 10), params)
    answer = lists.queue(Session(snapshot, Reading(10, 10), params), outcome, acting=True)
    shown = {entry.job: entry.weight for entry in answer.entries}
    assert {entry.job: round(entry.v) for entry in answer.entries} == V
    if order is not Order.WEIGHTING:
        assert set(shown.values()) == {None}
    else:
        assert (shown["urgent"].utility, shown["wide"].utility) == (1005, 5)
        assert {weight.size for weight in shown.values()} == {0.0}


def takes(seconds):
    return {labels.EXPECTED_DURATION: f"{seconds}s"}


UTILITY = {labels.UTILITY: "steps:130s=10"}
BY_SERVICE = {
    "the job that needs less goes first": (
        [*queued_job("a", 1, annotations=takes(200)), *queued_job("b", 1, annotations=takes(100))],
        ["b", "a"],
    ),
    "a job of unknown length goes behind a short one and before a long one": (
        [
            *queued_job("a", 1, annotations=takes(900)),
            *queued_job("b", 1),
            *queued_job("c", 1, annotations=takes(500)),
        ],
        ["c", "b", "a"],
    ),
    "a job that waiting would cost its utility goes first": (
        [
            *queued_job("a", 1, annotations=takes(10)),
            *queued_job("b", 1, annotations=takes(100) | UTILITY),
        ],
        ["b", "a"],
    ),
}


@pytest.mark.parametrize(("jobs", "want"), BY_SERVICE.values(), ids=BY_SERVICE.keys())
def test_by_service(jobs, want):
    snapshot = snapshot_of(make_node(cpu="1"), *jobs)
    waiting = tuple(job_views.view(snapshot, key) for key in sorted(snapshot.waiting))
    session = Session(snapshot, Reading(10.0, 10.0), CoreParameters(order=Order.SERVICE))
    assert [one.job.name for one in queue_order.ordered(waiting, session)] == want


def test_a_job_without_a_slot_plan_because_of_its_price_has_no_utility():
    jobs, _ = BY_SERVICE["a job that waiting would cost its utility goes first"]
    snapshot = snapshot_of(make_node(cpu="1"), *jobs)
    waiting = tuple(job_views.view(snapshot, key) for key in sorted(snapshot.waiting))
    session = Session(snapshot, Reading(10.0, 10.0), CoreParameters(order=Order.SERVICE))
    priced = {waiting[1].key: Priced(Reason.PAYOFF_TOO_LOW, "")}
    found = queue_order.ordered(waiting, session, QueueState(priced=priced))
    assert [one.job.name for one in found] == ["a", "b"]


def test_the_read_api_shows_group_and_time_of_the_order_by_service():
    params = CoreParameters(order=Order.SERVICE)
    jobs = queued_job("a", 1, annotations=takes(200))
    taken = make_pod("x", node="a", cpu="1")
    snapshot = snapshot_of(make_node("a", cpu="1"), taken, *jobs)
    outcome = queue_pass(snapshot, QueueState(), Reading(10, 10), params)
    answer = lists.queue(Session(snapshot, Reading(10, 10), params), outcome, acting=True)
    (shown,) = [entry.standing for entry in answer.entries]
    assert (shown.group, shown.needs.value, shown.source) == ("service", 200.0, "annotation")
