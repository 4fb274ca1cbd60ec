"""Which nodes leave, and by which announcement."""

from typing import Any

import pytest

from extender.core.nodes.leaving import Announcement, Leaving, leaving, leaving_nodes
from extender.core.parameters.drain import CONDITIONS, TAINTS, DrainParameters
from tests.fakes.builders import make_node, make_room

DEFAULTS = DrainParameters()
OURS = "shuntyard.io/leaving"
GKE = "cloud.google.com/active-node-maintenance"

LEAVE: dict[str, tuple[dict[str, Any], Leaving]] = {
    "a cordoned node": ({"unschedulable": True}, Leaving(Announcement.CORDON)),
    "a node with our annotation": ({"leaves_at": 0.0}, Leaving(Announcement.ANNOTATION, OURS)),
    "a node with our annotation and a time": (
        {"leaves_at": 90.0},
        Leaving(Announcement.ANNOTATION, OURS, 90.0),
    ),
    "a node that the cluster autoscaler deletes": (
        {"taints": ["ToBeDeletedByClusterAutoscaler=1700000000:NoSchedule"]},
        Leaving(Announcement.TAINT, "ToBeDeletedByClusterAutoscaler"),
    ),
    "a node that Karpenter disrupts": (
        {"taints": ["karpenter.sh/disrupted:NoSchedule"]},
        Leaving(Announcement.TAINT, "karpenter.sh/disrupted"),
    ),
    "a spot node of AWS with a notice": (
        {"taints": ["aws-node-termination-handler/spot-itn=abc:NoExecute"]},
        Leaving(Announcement.TAINT, "aws-node-termination-handler/spot-itn"),
    ),
    "a node of GKE that is about to end": (
        {"taints": ["cloud.google.com/impending-node-termination:NoSchedule"]},
        Leaving(Announcement.TAINT, "cloud.google.com/impending-node-termination"),
    ),
    "a node of GKE under maintenance": (
        {"labels": {GKE: "ONGOING"}},
        Leaving(Announcement.LABEL, GKE),
    ),
    "a spot node of Azure that is preempted": (
        {"conditions": ["PreemptScheduled"]},
        Leaving(Announcement.CONDITION, "PreemptScheduled"),
    ),
    "a node whose kernel hangs, by node-problem-detector": (
        {"conditions": ["KernelDeadlock"]},
        Leaving(Announcement.CONDITION, "KernelDeadlock"),
    ),
    "a node with several announcements, by the one that may name a time": (
        {"unschedulable": True, "leaves_at": 5.0, "conditions": ["KernelDeadlock"]},
        Leaving(Announcement.ANNOTATION, OURS, 5.0),
    ),
}


@pytest.mark.parametrize(("node", "why"), LEAVE.values(), ids=LEAVE)
def test_leaves(node: dict[str, Any], why: Leaving) -> None:
    assert leaving(make_node(**node), DEFAULTS) == why


STAY: dict[str, dict[str, Any]] = {
    "a node without an announcement": {},
    "a candidate of the cluster autoscaler": {
        "taints": ["DeletionCandidateOfClusterAutoscaler=1700000000:PreferNoSchedule"]
    },
    "a node of a spot pool": {
        "taints": ["kubernetes.azure.com/scalesetpriority=spot:NoSchedule"],
        "labels": {"cloud.google.com/gke-spot": "true"},
    },
    "a node that AWS advises to replace": {
        "taints": ["aws-node-termination-handler/rebalance-recommendation:NoSchedule"]
    },
    "a node that freezes for some seconds": {"conditions": ["FreezeScheduled", "VMEventScheduled"]},
    "a node with memory pressure": {"conditions": ["MemoryPressure"]},
    "a node of GKE whose maintenance is over": {"labels": {GKE: "COMPLETED"}},
    "an unreachable node": {
        "unreachable_since": 5.0,
        "taints": ["node.kubernetes.io/unreachable:NoExecute"],
    },
}


@pytest.mark.parametrize("node", STAY.values(), ids=STAY)
def test_stays(node: dict[str, Any]) -> None:
    assert leaving(make_node(**node), DEFAULTS) is None


CONFIGURED: dict[str, tuple[DrainParameters, dict[str, Any], bool]] = {
    "a cordon does not count if it shall not": (
        DrainParameters(cordon=False),
        {"unschedulable": True},
        False,
    ),
    "a taint of an administrator counts": (
        DrainParameters(taints=("example.com/retire",)),
        {"taints": ["example.com/retire:NoSchedule"]},
        True,
    ),
    "a label counts with any value where none is stated": (
        DrainParameters(labels=("example.com/retire",)),
        {"labels": {"example.com/retire": "soon"}},
        True,
    ),
    "nothing counts if drains are off": (
        DrainParameters(enabled=False),
        {"unschedulable": True, "leaves_at": 1.0, "conditions": ["KernelDeadlock"]},
        False,
    ),
}


@pytest.mark.parametrize(("params", "node", "leaves"), CONFIGURED.values(), ids=CONFIGURED)
def test_the_announcements_can_be_configured(
    params: DrainParameters, node: dict[str, Any], *, leaves: bool
) -> None:
    assert (leaving(make_node(**node), params) is not None) == leaves


@pytest.mark.parametrize("key", TAINTS)
def test_every_taint_of_the_defaults_announces_an_end(key: str) -> None:
    why = leaving(make_node(taints=[f"{key}:NoSchedule"]), DEFAULTS)
    assert why is not None
    assert why.text == f"taint {key}"


@pytest.mark.parametrize("kind", CONDITIONS)
def test_every_condition_of_the_defaults_announces_an_end(kind: str) -> None:
    assert leaving(make_node(conditions=[kind]), DEFAULTS) is not None


def test_the_nodes_of_a_table_that_leave_are_named() -> None:
    table = make_room(make_node("b", unschedulable=True), make_node("a"), make_node("c"))
    assert leaving_nodes(table, DEFAULTS) == {"b": Leaving(Announcement.CORDON)}
