"""Topology levels that users ask for: how annotations are read, and which are refused."""

import json
from dataclasses import replace as replace_

import pytest

from extender.core.cluster.slice_request import LevelRequest, SliceRequest
from extender.core.cluster.topology_request import PodSet, TopologyRequest
from extender.core.parameters.combined import CoreParameters
from extender.core.parameters.placement import Level, TopologyParameters
from shared import foreign_labels, labels
from tests.fakes.builders import make_node, make_owner, make_pod
from tests.unit.core.clusters import queued_job
from tests.unit.core.policies.racks import RACK, ZONE
from tests.unit.core.queue.levels import (
    IN_A_RACK,
    KUEUE_MUST,
    KUEUE_OF_SLICES,
    KUEUE_SHOULD,
    KUEUE_SIZE,
    MUST,
    OF_SLICES,
    SHOULD,
    SIZE,
    only_job,
    released,
    run_pass,
)


def requires(key, text):
    return TopologyRequest(required=LevelRequest(key, text))


def prefers(key, text):
    return TopologyRequest(preferred=LevelRequest(key, text))


def of_pod_set(request, joined_by="role "):
    return replace_(request, joined_by=joined_by)


def slices(key, text, size):
    size_key = SIZE if key == OF_SLICES else KUEUE_SIZE
    level = LevelRequest(key, text, size=(size_key, str(size)))
    return TopologyRequest(slices=(SliceRequest(level, size),))


EQUAL, LAYERS = labels.EQUAL_PARTS, foreign_labels.KUEUE_SLICE_LAYERS


def layers(*of_levels):
    return json.dumps([{"topology": label, "size": size} for label, size in of_levels])


READ = {
    "nothing": ({}, {}, None),
    "required": ({MUST: "rack"}, {}, requires(MUST, "rack")),
    "preferred": ({SHOULD: "zone"}, {}, prefers(SHOULD, "zone")),
    "of the owner": ({}, {MUST: "rack"}, requires(MUST, "rack")),
    "the pod's wins": ({MUST: "zone"}, {MUST: "rack"}, requires(MUST, "zone")),
    "slices": ({OF_SLICES: "rack", SIZE: "16"}, {}, slices(OF_SLICES, "rack", 16)),
    "the size of the owner": ({OF_SLICES: "rack"}, {SIZE: "2"}, slices(OF_SLICES, "rack", 2)),
    "Kueue's": ({KUEUE_MUST: RACK}, {}, of_pod_set(requires(KUEUE_MUST, RACK))),
    "Kueue's preferred": ({KUEUE_SHOULD: RACK}, {}, of_pod_set(prefers(KUEUE_SHOULD, RACK))),
    "Kueue's slices": (
        {KUEUE_OF_SLICES: RACK, KUEUE_SIZE: "4"},
        {},
        of_pod_set(slices(KUEUE_OF_SLICES, RACK, 4)),
    ),
    "Kueue's of a group": (
        {KUEUE_MUST: RACK, foreign_labels.KUEUE_PODSET_GROUP: "g"},
        {},
        of_pod_set(requires(KUEUE_MUST, RACK), "group g"),
    ),
    "slices in equal numbers": (
        {OF_SLICES: "rack", SIZE: "16", EQUAL: "required"},
        {},
        replace_(slices(OF_SLICES, "rack", 16), equal=True),
    ),
    "equal parts if possible": (
        {SHOULD: "rack", EQUAL: "preferred"},
        {},
        prefers(SHOULD, "rack"),
    ),
    "ours wins": ({KUEUE_MUST: RACK, SHOULD: "zone"}, {}, prefers(SHOULD, "zone")),
    "ours on the owner wins": ({KUEUE_MUST: RACK}, IN_A_RACK, requires(MUST, "rack")),
}


@pytest.mark.parametrize(("on_pod", "on_owner", "want"), READ.values(), ids=READ.keys())
def test_the_request_is_read_from_pod_and_owner(on_pod, on_owner, want):
    owner = make_owner(annotations=on_owner)
    job, _ = only_job(owner, make_pod(owner=owner, annotations=on_pod))
    assert job.problem is None
    assert job.spec.topology == (() if want is None else (PodSet(want),))


WRONG = {
    "a coarser one preferred": ({MUST: "rack", SHOULD: "zone"}, [SHOULD, "'zone'", MUST, "finer"]),
    "Kueue's": ({KUEUE_MUST: RACK, KUEUE_SHOULD: ZONE}, [KUEUE_SHOULD, KUEUE_MUST]),
    "slices without a size": ({OF_SLICES: "rack"}, [OF_SLICES, "'rack'", SIZE]),
    "a size without a level": ({SIZE: "4"}, [SIZE, "'4'", OF_SLICES]),
    "slices of no pods": ({OF_SLICES: "rack", SIZE: "0"}, [SIZE, "'0'", "at least 1"]),
    "Kueue's size in words": ({KUEUE_OF_SLICES: RACK, KUEUE_SIZE: "two"}, [KUEUE_SIZE, "'two'"]),
    "slices of no level": ({OF_SLICES: "row", SIZE: "4"}, [OF_SLICES, "'row'", f"rack ({RACK})"]),
    "coarser slices": (
        {MUST: "rack", OF_SLICES: "zone", SIZE: "4"},
        [OF_SLICES, "'zone'", MUST, "or a finer level"],
    ),
    "equal parts of nothing": ({EQUAL: "required"}, [EQUAL, "'required'", SHOULD, OF_SLICES]),
    "equal parts of one domain": ({MUST: "rack", EQUAL: "required"}, [EQUAL, SHOULD, OF_SLICES]),
    "equal parts otherwise": ({SHOULD: "rack", EQUAL: "yes"}, [EQUAL, "'yes'", "preferred"]),
    "layers in the wrong order": (
        {OF_SLICES: "hostname, rack", SIZE: "4, 2"},
        [OF_SLICES, "'rack'", "a level finer than hostname"],
    ),
    "Kueue's layers in the wrong order": (
        {LAYERS: layers(("kubernetes.io/hostname", 4), (RACK, 2))},
        [LAYERS, f"'{RACK}'", "a level finer than kubernetes.io/hostname"],
    ),
    "no such level": ({MUST: "row"}, [f"annotation {MUST}", "'row'", f"rack ({RACK})"]),
    "no such label": ({KUEUE_SHOULD: "a.b/c"}, [f"annotation {KUEUE_SHOULD}", "'a.b/c'", ZONE]),
}


@pytest.mark.parametrize(("annotations", "words"), WRONG.values(), ids=WRONG.keys())
def test_an_unusable_level_is_named_and_the_job_waits(annotations, words):
    outcome = run_pass(make_node(), queued_job("j", 2, annotations=annotations))
    (entry,) = outcome.entries
    assert entry.reason == "Misconfigured"
    assert all(word in entry.message for word in words), entry.message


def test_the_levels_are_those_of_the_settings():
    rows = TopologyParameters(levels=(Level("row", "example.com/row"),))
    nodes = [make_node("a", cpu="1"), make_node("b", labels={"example.com/row": "7"})]
    params = CoreParameters(topology=rows)
    outcome = run_pass(nodes, queued_job("j", 1, annotations={MUST: "row"}), params=params)
    assert [pod.node for pod in released(outcome)] == ["b"]
    outcome = run_pass(nodes, queued_job("j", 1, annotations=IN_A_RACK), params=params)
    assert "one of the topology levels: row (example.com/row)" in outcome.entries[0].message
