"""A job that requires a domain of the topology keeps it when its pods are moved."""

from dataclasses import replace

import pytest

from extender.core.parameters.migration import MigrationParameters, MigrationPolicy
from extender.core.parameters.placement import Level, TopologyParameters
from shared import labels
from tests.fakes.builders import make_node, make_owner
from tests.unit.core.migration.migrating_cluster import (
    ALGORITHM_2,
    CC,
    Train,
    cluster_of,
    job_owner,
    moves,
    reasons,
    run_pass,
)
from tests.unit.core.policies.racks import RACK

COUNT = MigrationParameters(policy=MigrationPolicy.COUNT, cooldown_seconds=0)


def racked(**by_node):
    """Return nodes in racks; the other nodes are in none."""
    return [make_node(name, cpu="4", labels={RACK: rack}) for name, rack in by_node.items()]


def requiring(name, level, **train):
    notes = {labels.CHECKPOINT: "", labels.REQUIRED_TOPOLOGY: level}
    return Train(name, CC, annotations=notes, **train)


def elastic(index, level):
    """One of several pods of a job whose gang size is 1: each can be moved alone."""
    train = requiring(f"e-{index}", level, owner=make_owner("e", kind="StatefulSet", size=2))
    notes = {**train.annotations, labels.MIN_AVAILABLE: "1"}
    return replace(train, annotations=notes, pod={"index": index})


ALONE = {
    "anywhere without a required level": ("m:CC", {}, [("m", "a", "b")]),
    "only to a node that is in a rack": (requiring("m", "rack"), {"c": "r2"}, [("m", "a", "c")]),
    "nowhere if no other node is in one": (requiring("m", "rack"), {"a": "r1"}, []),
}


@pytest.mark.parametrize(("pod", "racks", "want"), ALONE.values(), ids=ALONE.keys())
def test_a_job_of_one_pod_moves(pod, racks, want):
    outcome = run_pass(cluster_of({"a": [pod, "f1", "f2"], "b": [], "c": []}, *racked(**racks)))
    assert moves(outcome) == want
    assert want or reasons(outcome)["m"] == "NoNodeFits"


@pytest.mark.parametrize("params", [ALGORITHM_2, COUNT], ids=["converged", "count"])
def test_a_pod_stays_in_the_rack_of_the_others(params):
    still = [Train(name, annotations={}) for name in ("f1", "f2")]
    nodes = {"a": [elastic(0, "rack"), *still], "b": [], "c": [elastic(1, "rack")], "d": []}
    inside = cluster_of(nodes, *racked(a="r1", c="r1", d="r1", b="r2"))
    assert moves(run_pass(inside, params)) == [("e-0", "a", "d")]
    outside = cluster_of(nodes, *racked(a="r1", c="r1", b="r2", d="r2"))
    assert {target for _, _, target in moves(run_pass(outside, params))} <= {"c"}


def test_the_levels_are_those_of_the_settings():
    rows = TopologyParameters(levels=(Level("row", RACK),))
    nodes = {"a": [requiring("m", "row"), "f1", "f2"], "b": [], "c": []}
    assert moves(run_pass(cluster_of(nodes, *racked(a="r1", c="r2")), topology=rows)) == [
        ("m", "a", "c")
    ]


def test_a_gang_moves_to_a_node_with_a_rack():
    owner = job_owner("g", size=2, active=2)
    notes = {labels.CHECKPOINT: "", labels.REQUIRED_TOPOLOGY: "rack"}
    gang = [Train(f"g-{i}", CC, owner=owner, annotations=notes, pod={"index": i}) for i in range(2)]
    nodes = {"a": [*gang, "f1", "f2"], "b": [], "c": []}
    moved = moves(run_pass(cluster_of(nodes, *racked(a="r1", c="r2"))))
    assert moved == [("g-0", "a", "c"), ("g-1", "a", "c")]
