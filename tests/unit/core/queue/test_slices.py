"""Slices and levels of roles, from the annotation to the release, and when members move."""

import json
from collections import Counter

import pytest
from msgspec.structs import replace

from extender.core.placement import planner, topology
from shared import foreign_labels, labels
from tests.fakes.builders import make_owner, make_pod, make_shape
from tests.unit.core.clusters import queued_job
from tests.unit.core.policies.racks import RACK, racks
from tests.unit.core.queue.levels import (
    APART,
    IN_A_RACK,
    KUEUE_MUST,
    MUST,
    OF_SLICES,
    PARAMS,
    SIZE,
    beside,
    only_job,
    released,
    run_pass,
)

IN_SLICES = {OF_SLICES: "rack", SIZE: "2"}


def test_each_slice_is_released_into_one_rack_with_its_pins():
    nodes = racks({"r1": [2, 1, 1], "r2": [3, 1]})
    pods = released(run_pass(nodes, queued_job("j", 6, annotations=IN_SLICES)))
    node_of = {pod.pod: str(pod.node) for pod in pods}
    of_slices = [{node_of[f"default/j-{i}"][:2] for i in (at, at + 1)} for at in (0, 2, 4)]
    assert all(len(found) == 1 for found in of_slices)
    assert set.union(*of_slices) == {"r1", "r2"}
    for pod in pods:
        pinned = {line.values[0][:2] for term in pod.terms for line in term.fields}
        assert pinned == {str(pod.node)[:2]}
        assert json.loads(pod.decision)["domain"] == f"rack {str(pod.node)[:2]}"


def test_a_gang_waits_whose_slices_find_no_rack_each_and_its_reason_counts_them():
    nodes = racks({"r1": [3], "r2": [3]})
    (entry,) = run_pass(nodes, queued_job("j", 6, annotations=IN_SLICES)).entries
    assert entry.reason == "TopologyPlacementFailed"
    assert entry.message.endswith("2 of 3 slices of 2 pods fit, each in one rack")
    both = {**IN_SLICES, MUST: "zone"}
    nodes = racks({"a/r1": [3], "a/r2": [3], "b/r3": [2]})
    (entry,) = run_pass(nodes, queued_job("j", 6, annotations=both)).entries
    assert "2 of 3 slices of 2 pods fit in zone a, each in one rack" in entry.message


def test_a_recreated_member_goes_to_the_rack_of_its_slice():
    nodes = racks({"r1": [4], "r2": [4]})
    owner = make_owner("j", size=4)
    common = {"owner": owner, "annotations": IN_SLICES}
    at = {0: "r1-0", 1: "r1-0", 2: "r2-0"}
    placed = [make_pod(f"j-{i}", index=i, node=at[i], plan="p", **common) for i in at]
    again = make_pod("j-3", index=3, gated=True, **common)
    assert [pod.node for pod in released(run_pass(nodes, owner, placed, again))] == ["r2-0"]
    full = make_pod("x", node="r2-0", cpu="3", scheduler_name="other")
    (entry,) = run_pass(nodes, owner, placed, again, full).entries
    assert "0 of 1 slices of 2 pods fit" in entry.message


def test_pods_without_an_index_complete_the_slice_that_lacks_one():
    nodes = racks({"r1": [4], "r2": [4]})
    owner = make_owner("j", size=4)
    common = {"owner": owner, "annotations": IN_SLICES}
    at = {"a": "r1-0", "b": "r1-0", "c": "r2-0"}
    placed = [make_pod(f"j-{i}", node=at[i], plan="p", **common) for i in at]
    again = make_pod("j-z", gated=True, **common)
    assert [pod.node for pod in released(run_pass(nodes, owner, placed, again))] == ["r2-0"]


def test_slices_without_a_planned_node_are_pinned_to_their_racks():
    nodes = racks({"r1": [2], "r2": [2]})
    gang = queued_job("j", 4, annotations=IN_SLICES, shape=make_shape(**APART))
    pods = released(run_pass(nodes, gang))
    pinned = {
        pod.pod: next(line.values for line in pod.terms[0].expressions if line.key == RACK)
        for pod in pods
    }
    assert {pod.node for pod in pods} == {None}
    assert pinned["default/j-0"] == pinned["default/j-1"] != pinned["default/j-2"]
    assert pinned["default/j-2"] == pinned["default/j-3"]


def two_roles(of_ps, of_worker, ps=2, workers=4, **more):
    notes = {labels.MIN_AVAILABLE: str(ps + workers)}
    counts = (("ps", ps, of_ps), ("worker", workers, of_worker))
    return [
        make_pod(f"{role}-{i}", job="j", role=role, index=i, gated=True,
                 annotations=notes | own, **more)
        for role, count, own in counts
        for i in range(count)
    ]  # fmt: skip


def racks_of(outcome):
    found = {}
    for pod in released(outcome):
        found.setdefault(pod.pod.removeprefix("default/")[:-2], set()).add(str(pod.node)[:2])
    return found


def test_each_role_has_what_it_states():
    nodes = racks({"r1": [2, 2], "r2": [1, 1]})
    assert racks_of(run_pass(nodes, two_roles({MUST: "rack"}, {})))["ps"] in ({"r1"}, {"r2"})
    (entry,) = run_pass(nodes, two_roles({MUST: "rack"}, {}, ps=5, workers=1)).entries
    assert "4 of 5 ps pods fit in rack r1" in entry.message
    found = racks_of(run_pass(nodes, two_roles({MUST: "rack"}, IN_SLICES)))
    assert found["worker"] == {"r1"} or found["ps"] == {"r1"}


def test_roles_that_state_the_same_are_one_set_and_those_of_kueue_are_not():
    nodes = racks({"r1": [4], "r2": [2]})
    (entry,) = run_pass(nodes, two_roles(IN_A_RACK, IN_A_RACK)).entries
    assert "4 of 6 pods fit in rack r1" in entry.message
    own = {KUEUE_MUST: RACK}
    assert racks_of(run_pass(nodes, two_roles(own, own))) == {"ps": {"r2"}, "worker": {"r1"}}
    group = {**own, foreign_labels.KUEUE_PODSET_GROUP: "g"}
    (entry,) = run_pass(nodes, two_roles(group, group)).entries
    assert "4 of 6 pods fit in rack r1" in entry.message


MOVED = {
    "to the rack of its slice": (["r1-0", "r1-1", "r2-0", "r2-0"], [0], ["r1-0", "r1-1"]),
    "anywhere, if its whole slice moves": (
        ["r1-0", "r1-1", "r2-0", "r2-0"],
        [0, 1],
        ["r1-0", "r1-1", "r2-0", "r2-1"],
    ),
}


@pytest.mark.parametrize(("at", "leaving", "want"), MOVED.values(), ids=MOVED.keys())
def test_a_member_of_a_slice_moves(at, leaving, want):
    assert beside(*at, leaving=leaving, wish=IN_SLICES) == want


SEATED = {
    "slices in one rack each": (["r1-0", "r1-1", "r2-0", "r2-1"], True),
    "a slice in two racks": (["r1-0", "r2-0", "r1-1", "r2-1"], False),
}


@pytest.mark.parametrize(("nodes", "want"), SEATED.values(), ids=SEATED.keys())
def test_targets_are_kept_only_for(nodes, want):
    job, room = only_job(
        racks({"r1": [8, 8], "r2": [8, 8]}), queued_job("j", 4, annotations=IN_SLICES)
    )
    targets = {m.pod.uid: nodes[m.rank] for m in job.members}
    assert topology.keeps(job, targets, room, PARAMS.topology) is want
    result = planner.place_on_targets(job, job.members, targets, room, PARAMS)
    assert (result is not None) is want
    assert not want or all(
        s[:2] == nodes[m.rank][:2] for m in job.members for s in result.spares[m.pod.uid]
    )


KUEUE_LAYERS = json.dumps(
    [{"topology": RACK, "size": 4}, {"topology": labels.HOSTNAME_LABEL, "size": 2}]
)
IN_LAYERS = {
    "ours": {OF_SLICES: "rack, hostname", SIZE: "4, 2"},
    "Kueue's": {foreign_labels.KUEUE_SLICE_LAYERS: KUEUE_LAYERS},
}
layered = pytest.mark.parametrize("notes", IN_LAYERS.values(), ids=IN_LAYERS)


@layered
def test_slices_are_divided_again_inside_their_rack(notes):
    nodes = racks({"r1": [2, 2], "r2": [3, 2, 1, 1, 1]})
    pods = released(run_pass(nodes, queued_job("j", 8, annotations=notes)))
    node_of = {pod.pod: str(pod.node) for pod in pods}
    at = [node_of[f"default/j-{i}"] for i in range(8)]
    assert all(at[i] == at[i + 1] for i in range(0, 8, 2))
    assert [{node[:2] for node in at[i : i + 4]} for i in (0, 4)] in (
        [{"r1"}, {"r2"}],
        [{"r2"}, {"r1"}],
    )
    (entry,) = run_pass(nodes, queued_job("j", 12, annotations=notes)).entries
    assert entry.message.endswith(
        "2 of 3 slices of 4 pods fit, each in one rack, 2 in one hostname"
    )


@layered
def test_a_recreated_member_goes_to_the_node_of_its_part_of_the_slice(notes):
    nodes = racks({"r1": [4, 4], "r2": [4, 4]})
    owner = make_owner("j", size=4)
    common = {"owner": owner, "annotations": notes}
    at = {0: "r1-0", 1: "r1-0", 2: "r1-1"}
    placed = [make_pod(f"j-{i}", index=i, node=at[i], plan="p", **common) for i in at]
    again = make_pod("j-3", index=3, gated=True, **common)
    assert [pod.node for pod in released(run_pass(nodes, owner, placed, again))] == ["r1-1"]


PARTS_MOVED = {
    "a member to the node of its part": ([0], ["r1-0"]),
    "a part in the rack of its slice": ([0, 1], ["r1-0", "r1-1"]),
    "a slice anywhere": ([0, 1, 2, 3], ["r1-0", "r1-1", "r2-0", "r2-1"]),
}


@layered
@pytest.mark.parametrize(("leaving", "want"), PARTS_MOVED.values(), ids=PARTS_MOVED.keys())
def test_what_is_divided_again_moves(notes, leaving, want):
    at = ["r1-0", "r1-0", "r1-1", "r1-1"]
    assert beside(*at, leaving=leaving, wish=notes) == want


EQUAL = {labels.EQUAL_PARTS: "required"}
PARTS = {
    "of pods": ({labels.PREFERRED_TOPOLOGY: "rack"}, 8, 1, "8 pods"),
    "of slices": (IN_SLICES, 16, 2, "8 slices of 2 pods"),
}


@pytest.mark.parametrize(("notes", "count", "size", "what"), PARTS.values(), ids=PARTS)
def test_parts_are_equal_if_possible_and_a_job_may_wait_for_it(notes, count, size, what):
    def per_rack(outcome):
        return Counter(str(pod.node)[:2] for pod in released(outcome))

    uneven = racks({"r1": [5 * size], "r2": [3 * size]})
    even = racks({"r1": [5 * size], "r2": [3 * size], "r3": [4 * size]})
    gang = queued_job("j", count, annotations=notes)
    assert per_rack(run_pass(uneven, gang)) == {"r1": 5 * size, "r2": 3 * size}
    assert per_rack(run_pass(even, gang)) == {"r1": 4 * size, "r3": 4 * size}
    gang = queued_job("j", count, annotations={**notes, **EQUAL})
    (entry,) = run_pass(uneven, gang).entries
    assert entry.reason == "TopologyPlacementFailed"
    assert f"no number of domains (rack) takes equal parts of its {what}" in entry.message
    assert per_rack(run_pass(even, gang)) == {"r1": 4 * size, "r3": 4 * size}


def test_a_member_that_comes_again_makes_the_parts_equal_again():
    nodes = racks({"r1": [4], "r2": [4], "r3": [1]})
    notes = {labels.PREFERRED_TOPOLOGY: "rack", **EQUAL}
    owner = make_owner("j", size=4)
    common = {"owner": owner, "annotations": notes}
    at = {0: "r1-0", 1: "r1-0", 2: "r2-0"}
    placed = [make_pod(f"j-{i}", index=i, node=at[i], plan="p", **common) for i in at]
    again = make_pod("j-3", index=3, gated=True, **common)
    assert [pod.node for pod in released(run_pass(nodes, owner, placed, again))] == ["r2-0"]


def test_pods_that_differ_have_no_equal_parts():
    notes = {labels.PREFERRED_TOPOLOGY: "rack", **EQUAL}
    gang = two_roles(notes, notes)
    bigger = [replace(pod, shape=make_shape(cpu="2")) for pod in gang[:2]]
    nodes = racks({"r1": [4], "r2": [4]})
    (entry,) = run_pass(nodes, bigger, gang[2:]).entries
    assert "its pods differ, so there are no equal parts of them" in entry.message
