"""Released pods and direct pods (defect E4), and pods that have reservations (defect A5)."""

import pytest

from extender.core.cluster import job_views
from extender.core.cluster.commands import ClearReservation, DeletePod, ReleaseGang
from extender.core.cluster.jobs import State
from extender.core.cluster.session import Reading
from extender.core.parameters.combined import CoreParameters
from extender.core.queue import repair
from extender.core.queue.state import QueueState
from shared import labels
from tests.fakes.builders import make_node, make_owner, make_pod, make_shape, pinned_to
from tests.fakes.deciding import queue_pass
from tests.unit.core.clusters import snapshot_of

PINNED = make_shape(affinity=pinned_to("n1", "n2"))
RESERVATION = {labels.NODE: "n1", labels.PLAN: "p", labels.PLAN_SIZE: "2"}


def member(**fields):
    pod = make_pod("a", job="j", **fields)
    (found,) = _only(snapshot_of(make_node("n1"), pod)).members
    return found


RELEASED = {
    "the plan is missing": {"shape": PINNED, "annotations": {labels.NODE: "n1"}},
    "the node is missing": {"shape": PINNED, "annotations": {labels.PLAN: "p"}},
    "only the decision is left": {"shape": PINNED, "annotations": {labels.DECISION: "{}"}},
    "all is gone, and it was queued": {"shape": PINNED, "queued_reason": "GangDoesNotFit"},
    "it says it is direct, and was queued": {
        "shape": PINNED,
        "queued_reason": "GangDoesNotFit",
        "annotations": {**RESERVATION, labels.DIRECT: "true"},
    },
}


@pytest.mark.parametrize("fields", RELEASED.values(), ids=RELEASED.keys())
def test_a_released_pod_is_recognised_despite_edits(fields):
    found = member(**fields)
    assert not found.direct
    assert isinstance(repair.give_back(found, "test"), DeletePod)


def test_a_released_pod_whose_reservation_did_not_verify_is_unreserved():
    made = make_pod("a", job="j", shape=PINNED)
    refused = type(made)(**{**_fields(made), "reservation_refused": "unsigned"})
    (found,) = _only(snapshot_of(make_node("n1"), refused)).members
    assert found.state is State.DIRECT
    assert found.unreserved


DIRECT = {
    "it has no reservation": {},
    "it has no reservation and names its node itself": {"shape": PINNED},
    "it has a reservation": {"annotations": {**RESERVATION, labels.DIRECT: "true"}},
    "it has a reservation, and the plan is missing": {
        "annotations": {labels.NODE: "n1", labels.DIRECT: "true"}
    },
}


@pytest.mark.parametrize("fields", DIRECT.values(), ids=DIRECT.keys())
def test_a_direct_pod_is_never_deleted(fields):
    found = member(**fields)
    assert found.direct
    assert isinstance(repair.give_back(found, "test"), ClearReservation)


def test_what_is_left_of_a_direct_reservation_is_cleared():
    found = member(annotations={labels.NODE: "n1", labels.DIRECT: "true"})
    command = repair.give_back(found, "test")
    assert isinstance(command, ClearReservation)
    assert command.annotated


def gated_by(*gates, **fields):
    made = make_pod(**fields)
    return type(made)(**{**_fields(made), "gates": gates})


@pytest.mark.parametrize("gates", [("example.com/mine",), (labels.GATE, "example.com/mine")])
def test_a_pod_with_any_gate_has_no_reservation(gates):
    forged = gated_by(*gates, name="f", job="f", annotations=RESERVATION, cpu="3")
    snapshot = snapshot_of(make_node("n1", cpu="4"), forged)
    assert forged.uid not in snapshot.reservations
    assert snapshot.node_table.free[0][snapshot.node_table.resources.index("cpu")] == 4000


def test_a_gang_with_foreign_gates_gets_no_reservations():
    owner = make_owner("j", size=2)
    pods = [gated_by("example.com/mine", name=f"j-{i}", owner=owner) for i in range(2)]
    snapshot = snapshot_of(make_node("n1", cpu="4"), owner, *pods)
    outcome = queue_pass(snapshot, QueueState(), Reading(100, 100), CoreParameters())
    assert [c for c in outcome.commands if isinstance(c, ReleaseGang)] == []
    assert [entry.reason.value for entry in outcome.entries] == ["AdmissionGated"]


def _fields(pod):
    return {name: getattr(pod, name) for name in pod.__struct_fields__}


def _only(snapshot):
    (key,) = snapshot.jobs
    return job_views.view(snapshot, key)
