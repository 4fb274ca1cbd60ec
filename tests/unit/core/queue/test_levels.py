"""Topology levels from the annotation to the release: nodes, reasons, and members that stay."""

import json

import pytest
from msgspec.structs import replace

from extender.core.cluster.commands import RewriteReservation
from extender.core.cluster.reasons import Reason
from extender.core.parameters.placement import LEVELS
from extender.core.placement import planner
from extender.core.placement.placement import Unschedulable
from shared import labels
from shared.model import Requirement
from tests.fakes.builders import make_node, make_owner, make_pod, make_shape, make_term, pinned_to
from tests.unit.core.clusters import queued_job, released_job
from tests.unit.core.policies.racks import RACK, ZONE, racks
from tests.unit.core.queue.levels import (
    APART,
    IN_A_RACK,
    KUEUE_MUST,
    MUST,
    PARAMS,
    SHOULD,
    beside,
    only_job,
    released,
    run_pass,
)


def test_a_required_gang_is_released_into_one_rack_with_its_pins():
    nodes = racks({"r1": [2, 1], "r2": [2, 2, 1], "": [32]})
    pods = released(run_pass(nodes, queued_job("j", 4, annotations=IN_A_RACK)))
    assert {pod.node for pod in pods} == {"r2-0", "r2-1"}
    pinned = {line.values[0] for pod in pods for term in pod.terms for line in term.fields}
    assert pinned == {"r2-0", "r2-1", "r2-2"}
    assert {json.loads(pod.decision)["domain"] for pod in pods} == {"rack r2"}


def test_a_gang_that_no_rack_holds_waits_and_its_reason_counts_the_pods_that_fit():
    nodes = racks({"a/r1": [3], "a/r2": [2, 2]})
    (entry,) = run_pass(nodes, queued_job("j", 5, annotations=IN_A_RACK)).entries
    assert entry.reason == "TopologyPlacementFailed"
    assert entry.message.endswith(
        "4 of 5 pods fit in rack r2 (zone a), and no other rack holds more"
    )
    outcome = run_pass(nodes, queued_job("j", 5, annotations={SHOULD: "rack"}))
    assert {json.loads(pod.decision)["domain"] for pod in released(outcome)} == {"zone a"}


def test_as_many_members_as_one_rack_holds_start_if_the_gang_needs_no_more():
    nodes = racks({"r1": [3], "r2": [2, 2]})
    notes = {**IN_A_RACK, labels.MIN_AVAILABLE: "2"}
    pods = released(run_pass(nodes, queued_job("j", 6, annotations=notes)))
    assert sorted(pod.node for pod in pods) == ["r2-0", "r2-0", "r2-1", "r2-1"]


def test_a_recreated_member_goes_to_the_rack_of_the_others():
    nodes = racks({"r1": [4], "r2": [32]})
    owner = make_owner("j", size=3)
    common = {"owner": owner, "annotations": IN_A_RACK}
    placed = [make_pod(f"j-{i}", index=i, node="r1-0", plan="p", **common) for i in range(2)]
    again = make_pod("j-2", index=2, gated=True, **common)
    assert [pod.node for pod in released(run_pass(nodes, owner, placed, again))] == ["r1-0"]
    full = make_pod("x", node="r1-0", cpu="2", scheduler_name="other")
    (entry,) = run_pass(nodes, owner, placed, again, full).entries
    assert "0 of 1 pods fit in rack r1, where its other members are" in entry.message


def test_a_lost_reservation_moves_inside_the_rack():
    nodes = racks({"r1": [4, 4], "r2": [32]})
    nodes[0] = replace(nodes[0], unschedulable=True)
    pinned = make_shape(affinity=pinned_to("r1-0", "r1-1"))
    gang = released_job("j", ["r1-0", "r1-1"], shape=pinned, annotations=IN_A_RACK)
    rewritten = [c for c in run_pass(nodes, gang).commands if isinstance(c, RewriteReservation)]
    assert [command.node for command in rewritten] == ["r1-1"]


def test_pods_without_a_planned_node_are_pinned_to_the_rack():
    nodes = [*racks({"a/r1": [2], "a/r2": [4, 4]}), *racks({"r3": [4]})]
    plain, ruled = make_shape(**APART), make_shape(**APART, affinity=[make_term(DISK), make_term()])
    ssd = [replace(node, labels={**node.labels, "disk": "ssd"}) for node in nodes]
    in_r2 = [
        Requirement(ZONE, "In", ("a",)),
        *(Requirement(label, "DoesNotExist") for label in LEVELS[1].labels),
        Requirement(RACK, "In", ("r2",)),
    ]
    for shape, want in (
        (plain, [make_term(*in_r2)]),
        (ruled, [make_term(DISK, *in_r2), make_term()]),
    ):
        gang = queued_job("j", 7, annotations=IN_A_RACK, shape=shape)
        pods = released(run_pass(ssd, gang))
        assert [(pod.node, pod.terms) for pod in pods] == [(None, tuple(want))] * 7
        assert {bool(pod.resource_version) for pod in pods} == {shape is ruled}
        free = queued_job("j", 7, annotations={SHOULD: "rack"}, shape=shape)
        assert {pod.terms for pod in released(run_pass(ssd, free))} == {None}


DISK = Requirement("disk", "In", ("ssd",))


def test_a_member_without_a_node_keeps_the_others_in_its_rack():
    nodes = racks({"r1": [2], "r2": [32]})
    owner = make_owner("j", size=3)
    held = make_shape(**APART, affinity=[make_term(Requirement(RACK, "In", ("r2",)))])
    anywhere = make_shape(**APART)
    for shape, want in ((held, "r2-0"), (anywhere, "r1-0")):
        loose = make_pod("j-0", index=0, owner=owner, annotations=IN_A_RACK, plan="p", shape=shape)
        new = [
            make_pod(f"j-{i}", index=i, owner=owner, annotations=IN_A_RACK, gated=True)
            for i in (1, 2)
        ]
        assert {pod.node for pod in released(run_pass(nodes, owner, loose, new))} == {want}


HOMES = {
    "none is asked for": (beside("r1-0", wish={}), None),
    "one is only preferred": (beside("r1-0", wish={SHOULD: "rack"}), None),
    "there is no such level": (beside("r1-0", wish={MUST: "row"}), None),
    "that of the members that stay": (beside("r1-0", "r1-1", leaving=[0]), ["r1-0", "r1-1"]),
    "any, if no member stays": (
        beside("r1-0", "r1-1", leaving=[0, 1]),
        ["r1-0", "r1-1", "r2-0", "r2-1"],
    ),
    "none, if they are apart": (beside("r1-0", "r2-0", "r1-1", leaving=[2]), []),
    "none, if one is in none": (beside("r1-0", "loose-0", leaving=[0]), []),
}


@pytest.mark.parametrize(("nodes", "want"), HOMES.values(), ids=HOMES.keys())
def test_the_rack_in_which_moved_members_stay_is(nodes, want):
    assert nodes == want


AIMED = {
    "into the rack of the others": ({"j-1": "r1-1"}, "r1-1", ("r1-0",)),
    "not into another one": ({"j-1": "r2-0"}, None, ()),
}


@pytest.mark.parametrize(("targets", "node", "spares"), AIMED.values(), ids=AIMED.keys())
def test_a_moved_member_arrives(targets, node, spares):
    owner = make_owner("j", size=2)
    common = {"owner": owner, "annotations": IN_A_RACK}
    stays = make_pod("j-0", index=0, node="r1-0", plan="p", **common)
    comes = make_pod("j-1", uid="j-1", index=1, gated=True, **common)
    job, room = only_job(racks({"r1": [8, 8], "r2": [8, 8]}), owner, stays, comes)
    placement = planner.place_on_targets(job, job.members[1:], targets, room, PARAMS)
    assert (placement.nodes["j-1"] if placement else None) == node
    assert (placement.spares["j-1"] if placement else ()) == spares


def test_members_that_arrive_together_arrive_in_one_rack():
    owner = make_owner("j", size=2)
    common = {"owner": owner, "annotations": IN_A_RACK, "gated": True}
    pods = [make_pod(f"j-{i}", uid=f"j-{i}", index=i, **common) for i in range(2)]
    job, room = only_job(racks({"r1": [8], "r2": [8, 8]}), owner, pods)
    apart = {"j-0": "r1-0", "j-1": "r2-0"}
    assert planner.place_on_targets(job, job.members, apart, room, PARAMS) is None
    together = {"j-0": "r2-1", "j-1": "r2-0"}
    assert planner.place_on_targets(job, job.members, together, room, PARAMS) is not None


DIRECT = {
    "in one rack": (IN_A_RACK, {"r2-0", "r2-1"}),
    "nowhere, if there is no such level": ({MUST: "row"}, "Misconfigured"),
    "nowhere, if no rack holds them": ({MUST: "hostname"}, "TopologyPlacementFailed"),
}


@pytest.mark.parametrize(("notes", "want"), DIRECT.values(), ids=DIRECT.keys())
def test_members_without_our_gate_get_their_reservations(notes, want):
    owner = make_owner("j", size=4)
    pods = [make_pod(f"j-{i}", index=i, owner=owner, annotations=notes) for i in range(4)]
    job, room = only_job(racks({"r1": [2, 1], "r2": [2, 2]}), owner, pods)
    placement = planner.place_members(job, job.members, room, PARAMS)
    got = (
        placement.reason if isinstance(placement, Unschedulable) else set(placement.nodes.values())
    )
    assert got == want


ABSENT = {
    "by the level's name": (MUST, "rack"),
    "by the node label": (MUST, RACK),
    "by Kueue's annotation": (KUEUE_MUST, RACK),
}


@pytest.mark.parametrize(("key", "text"), ABSENT.values(), ids=ABSENT)
@pytest.mark.parametrize("pods", [2, 40], ids=["there is room", "there is none"])
def test_a_required_level_that_no_node_has_is_a_reason_of_its_own(key, text, pods) -> None:
    """The message names the label, the annotation and the levels that nodes have (defect B4)."""
    nodes = [make_node(name, cpu="4", labels={ZONE: "z"}) for name in "ab"]
    outcome = run_pass(*nodes, queued_job("j", pods, cpu="1", annotations={key: text}))
    (entry,) = outcome.entries
    assert entry.reason is Reason.NO_SUCH_TOPOLOGY_LEVEL
    assert f"rack is the label {RACK} or " in entry.message
    assert f"(annotation {key})" in entry.message
    assert f"require a level that nodes have: zone ({ZONE})" in entry.message


def test_no_level_is_proposed_if_nodes_have_none() -> None:
    bare = replace(make_node("a"), labels={})
    outcome = run_pass(bare, queued_job("j", 1, annotations=IN_A_RACK))
    assert outcome.entries[0].message.endswith("label the nodes with it")


OTHERS = {
    "a level that only one node has": ({RACK: "r"}, IN_A_RACK, Reason.RELEASING),
    "a level that is preferred": ({}, {SHOULD: "rack"}, Reason.RELEASING),
    "a level that the settings do not know": ({RACK: "r"}, {MUST: "row"}, Reason.MISCONFIGURED),
}


@pytest.mark.parametrize(("on_node", "wish", "want"), OTHERS.values(), ids=OTHERS)
def test_another_reason_takes_precedence_for(on_node, wish, want) -> None:
    nodes = [make_node("a", labels=on_node), make_node("b")]
    outcome = run_pass(*nodes, queued_job("j", 1, annotations=wish))
    assert outcome.entries[0].reason is want


def test_without_nodes_the_level_is_not_what_is_missing() -> None:
    outcome = run_pass(queued_job("j", 1, annotations=IN_A_RACK))
    assert outcome.entries[0].reason is Reason.NO_SUCH_NODE


def test_a_job_whose_level_no_node_has_keeps_no_room() -> None:
    """Time does not help it: its maximum wait is over, and others go on (defect B4)."""
    waits = queued_job("old", 1, annotations={**IN_A_RACK, labels.MAX_WAIT: "1s"})
    outcome = run_pass(make_node("a", cpu="1"), waits, queued_job("young", 1, created_at=5))
    reasons = {entry.job.name: entry.reason for entry in outcome.entries}
    assert outcome.backfill_head is None
    assert reasons == {"old": Reason.NO_SUCH_TOPOLOGY_LEVEL, "young": Reason.RELEASING}


LABELS = {
    "GKE": ("rack", "cloud.google.com/gce-topology-subblock"),
    "AWS": ("block", "topology.k8s.aws/network-node-layer-2"),
    "OKE": ("rack", "oci.oraclecloud.com/rdma.local_block_id"),
    "Topograph": ("rack", "fabric.topograph.run/tier-0"),
    "GPU feature discovery": ("nvlink", "nvidia.com/gpu.clique"),
}


@pytest.mark.parametrize(("level", "label"), LABELS.values(), ids=LABELS)
@pytest.mark.parametrize("named", [True, False], ids=["by name", "by label"])
def test_labels_of_clouds_make_the_levels(level, label, named) -> None:
    nodes = [make_node(f"n{i}", cpu="2", labels={label: f"d{i // 2}"}) for i in range(4)]
    taken = released_job("other", ["n0"], bound=1, cpu="2")
    wish = {MUST: level if named else label}
    pods = released(run_pass(*nodes, taken, queued_job("j", 4, cpu="1", annotations=wish)))
    assert {pod.node for pod in pods} == {"n2", "n3"}


def test_an_nvlink_domain_may_be_at_several_switches() -> None:
    """Its label says all: the racks of its nodes do not divide it."""
    clique, racks_of = {"nvidia.com/gpu.clique": "uuid.1"}, ("r1", "r2")
    nodes = [make_node(r, cpu="2", labels={RACK: r, **clique}) for r in racks_of]
    wish = {MUST: "nvlink"}
    pods = released(run_pass(*nodes, queued_job("j", 4, cpu="1", annotations=wish)))
    assert {pod.node for pod in pods} == {"r1", "r2"}


def test_a_finer_level_may_be_preferred_inside_the_required_one() -> None:
    """One zone holds the gang, in equal parts of its two racks."""
    sizes = {"a": [3, 3], "b": [4, 1]}
    nodes = [
        make_node(f"{zone}-{i}", cpu=str(cpu), labels={ZONE: zone, RACK: f"{zone}{i}"})
        for zone, cpus in sizes.items()
        for i, cpu in enumerate(cpus)
    ]
    both = {MUST: "zone", SHOULD: "rack"}
    pods = released(run_pass(*nodes, queued_job("j", 4, cpu="1", annotations=both)))
    assert {pod.node for pod in pods} == {"b-0"}, "one rack of a zone holds it"
    pods = released(run_pass(*nodes[:2], queued_job("j", 4, cpu="1", annotations=both)))
    assert sorted(str(pod.node) for pod in pods) == ["a-0", "a-0", "a-1", "a-1"]


def test_a_pod_that_is_not_pinned_gets_the_label_that_its_node_has() -> None:
    label = "cloud.google.com/gce-topology-subblock"
    node = make_node("a", labels={label: "s"})
    wish = {MUST: "rack"}
    job = queued_job("j", 1, annotations=wish, shape=make_shape(unmodelled=["podAffinity"]))
    (pod,) = released(run_pass(node, job))
    lines = pod.terms[0].expressions
    assert Requirement(label, "In", ("s",)) in lines
    assert Requirement(RACK, "DoesNotExist") in lines
