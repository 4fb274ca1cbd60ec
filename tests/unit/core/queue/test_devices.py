"""Resources that a DeviceClass serves are kube-scheduler's to judge (defect B8)."""

import json

import pytest

from extender.core import explain
from extender.core.cluster import job_views, pod_shape
from extender.core.cluster.commands import ReleaseGang, ReleasePod
from extender.core.cluster.reasons import Reason
from extender.core.cluster.session import Reading, Session
from extender.core.parameters.combined import CoreParameters
from extender.core.queue import decision
from extender.core.queue.state import QueueState
from extender.core.scheduler import direct_gangs, filtering, prioritizing
from shared.claims import served_resources
from shared.kube import device_classes
from shared.model import Delete, Entity, JobKey, Pod, Upsert
from tests.fakes.builders import make_device_class, make_node, make_owner, make_pod
from tests.fakes.deciding import queue_pass
from tests.unit.core.clusters import queued_job, snapshot_of, store_of

GPU = "example.com/gpu"
SERVED = f"DeviceClass gpu serves {GPU}"
CLASS = make_device_class("gpu", resource=GPU)
NODES = [make_node(name, cpu="4") for name in "ab"]
OFFERING = make_node("c", cpu="4", allocatable={GPU: "1"})
PARAMS = CoreParameters()
ASKS = {GPU: "1"}


def run_pass(*entities: Entity | list[Entity]) -> decision.QueueOutcome:
    return queue_pass(snapshot_of(*entities), QueueState(), Reading(10, 10), PARAMS)


def released(outcome: decision.QueueOutcome) -> tuple[ReleasePod, ...]:
    (gang,) = [command for command in outcome.commands if isinstance(command, ReleaseGang)]
    return gang.pods


def test_a_gated_gang_that_requests_it_is_released_without_a_pin() -> None:
    pods = released(run_pass(NODES, CLASS, queued_job("j", 2, requests=ASKS)))
    assert [(pod.node, pod.terms) for pod in pods] == [(None, None), (None, None)]
    assert json.loads(pods[0].decision)["unmodelled"] == [SERVED]


def test_without_the_class_it_waits_for_a_node_that_offers_it() -> None:
    """Where resource.k8s.io is not served nothing changes."""
    (entry,) = run_pass(NODES, queued_job("j", 2, requests=ASKS)).entries
    assert (entry.reason, GPU in entry.message) == (Reason.NO_SUCH_NODE, True)


def test_other_jobs_are_pinned_as_before() -> None:
    pods = released(run_pass(NODES, CLASS, queued_job("j", 2)))
    assert {pod.node for pod in pods} <= {"a", "b"}


def test_other_requests_of_the_gang_must_fit() -> None:
    (entry,) = run_pass(NODES, CLASS, queued_job("j", 9, requests=ASKS)).entries
    assert entry.reason is Reason.GANG_DOES_NOT_FIT


def test_nodes_that_offer_the_resource_do_not_limit_the_gang() -> None:
    """One node offers one piece, the class serves more: how many, only kube-scheduler knows."""
    pods = released(run_pass(NODES, OFFERING, CLASS, queued_job("j", 3, requests=ASKS)))
    assert {pod.node for pod in pods} == {None}


def test_the_resource_that_is_made_of_the_name_of_the_class_is_served_too() -> None:
    asks = {"deviceclass.resource.kubernetes.io/tpu": "1"}
    by_name = make_device_class("tpu", resource="")
    assert released(run_pass(NODES, by_name, queued_job("j", 1, requests=asks)))
    (entry,) = run_pass(NODES, CLASS, queued_job("j", 1, requests=asks)).entries
    assert entry.reason is Reason.NO_SUCH_NODE


def test_of_two_classes_with_one_resource_the_latest_serves_it() -> None:
    older = make_device_class("a", created_at=1.0)
    newer, second = (make_device_class(name, created_at=2.0) for name in "bc")
    assert served_resources([older, second, newer])[GPU] == "b"


SINGLE = make_pod("single", requests=ASKS)
MEMBER = make_pod("member", requests=ASKS, plan="p", plan_size=2)


@pytest.mark.parametrize("pod", [SINGLE, MEMBER], ids=["a single pod", "a released member"])
def test_filter_lets_a_pod_pass_wherever_kube_scheduler_offers(pod: Pod) -> None:
    """The ungated pod of B8 stayed Pending: no node offered the resource."""
    verdict = filtering.filter_nodes(snapshot_of(NODES, CLASS, pod), pod, ["a", "b"], PARAMS)
    assert verdict.passed == ("a", "b")
    without = filtering.filter_nodes(snapshot_of(NODES, pod), pod, ["a", "b"], PARAMS)
    assert without.passed == ()


def test_filter_still_keeps_such_a_pod_off_nodes_that_are_full() -> None:
    full = make_pod("full", cpu="4", node="a", job="full")
    snapshot = snapshot_of(NODES, CLASS, SINGLE, full)
    assert filtering.filter_nodes(snapshot, SINGLE, ["a", "b"], PARAMS).passed == ("b",)


def test_filter_does_not_choose_one_node_for_such_a_pod() -> None:
    assert not direct_gangs.is_single(snapshot_of(NODES, CLASS, SINGLE), SINGLE)


def test_prioritize_scores_the_nodes() -> None:
    assert set(prioritizing.explain(snapshot_of(NODES, CLASS, SINGLE), SINGLE, PARAMS)) == {
        "a",
        "b",
    }


def test_a_class_that_comes_and_goes_changes_the_view_of_the_job() -> None:
    store = store_of(NODES, queued_job("j", 1, requests=ASKS))
    (key,) = store.snapshot().jobs

    def unmodelled() -> tuple[str, ...]:
        return job_views.view(store.snapshot(), JobKey(key)).members[0].shape.unmodelled

    assert unmodelled() == ()
    store.apply(Upsert(CLASS))
    assert unmodelled() == (SERVED,)
    store.apply(Delete("DeviceClass", "gpu", CLASS.uid))
    assert unmodelled() == ()
    store.check_invariants()


def test_a_pod_without_the_resource_keeps_the_same_shape_object() -> None:
    pod = make_pod()
    assert pod_shape.shape(snapshot_of(NODES, CLASS, pod), pod) is pod.shape


def test_explain_shows_why_it_was_released_without_a_pin() -> None:
    owner = make_owner("j", size=2)
    loose = [
        make_pod(f"j-{i}", requests=ASKS, owner=owner, plan="p", plan_size=2) for i in range(2)
    ]
    snapshot = snapshot_of(NODES, CLASS, owner, loose)
    (key,) = snapshot.jobs
    session = explain.isolated(Session(snapshot, Reading(1, 1), PARAMS), None)
    answer = explain.job(session, JobKey(key))
    assert answer.state == "loose"
    assert answer.message == f"released without a pin, kube-scheduler chooses the nodes: {SERVED}"


def test_a_device_class_is_read() -> None:
    meta = {"name": "gpu", "uid": "u", "creationTimestamp": "1970-01-01T00:00:09Z"}
    body = json.dumps({"metadata": meta, "spec": {"extendedResourceName": GPU}}).encode()
    outcome = device_classes.decode(body)
    assert outcome == make_device_class("gpu", created_at=9.0, uid="u")
    bare = device_classes.decode(b'{"metadata": {"name": "bare"}}')
    assert bare.extended_resource == ""
