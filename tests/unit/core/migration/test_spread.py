"""Jobs whose members are apart gain by a move as their owner states it, and by nothing else."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from extender.core.migration import spread
from shared import labels
from tests.fakes.builders import make_node, make_owner
from tests.unit.core.clusters import queued_job, released_job
from tests.unit.core.migration.migrating_cluster import (
    CC,
    Train,
    cluster_of,
    created,
    moves,
    reasons,
    run_pass,
)
from tests.unit.core.policies.racks import RACK, ZONE, racks
from tests.unit.core.queue import levels
from tests.unit.core.queue.levels import PARAMS, only_job

STATED = {labels.SPREAD_SPEEDS: "rack=0.8,zone=0.5"}
NODES = racks({"a/r1": [8, 8], "a/r2": [8], "b/r3": [8], "": [8]})


def speeds(at, moved, stated=STATED):
    """Return the speeds of a job with pods on these nodes, of which some move, by their index."""
    job, room = only_job(NODES, released_job("j", at, bound=9, annotations=stated))
    targets = {job.members[index].pod.uid: node for index, node in moved.items()}
    return spread.speeds(job, targets.keys(), targets.values(), room, PARAMS.topology)


SPEEDS = {
    "two racks become one": (["r1-0", "r2-0"], {1: "r1-1"}, (0.8, 1.0)),
    "two zones become two racks": (["r1-0", "r3-0"], {1: "r2-0"}, (0.5, 0.8)),
    "one rack becomes two zones": (["r1-0", "r1-1"], {0: "r3-0"}, (1.0, 0.5)),
    "members that stay count": (["r1-0", "r2-0", "r2-0"], {2: "r1-1"}, (0.8, 0.8)),
    "the whole gang moves": (["r1-0", "r2-0"], {0: "r3-0", 1: "r3-0"}, (0.8, 1.0)),
    "a node without the label says nothing": (["r1-0", "loose-0"], {1: "r1-1"}, (1.0, 1.0)),
}


@pytest.mark.parametrize(("at", "moved", "want"), SPEEDS.values(), ids=SPEEDS)
def test_the_slowest_level_counts_of_which_there_are_several_domains(at, moved, want):
    assert speeds(at, moved) == want


def test_what_is_not_stated_counts_nothing():
    assert speeds(["r1-0", "r3-0"], {1: "r1-1"}, {}) == (1.0, 1.0)
    only_racks = {labels.SPREAD_SPEEDS: "rack=0.8"}
    assert speeds(["r1-0", "r3-0"], {1: "r2-0"}, only_racks) == (0.8, 0.8)


places = st.lists(st.sampled_from([node.name for node in NODES]), min_size=1, max_size=4)


@given(places, st.dictionaries(st.integers(0, 3), st.sampled_from([n.name for n in NODES])))
def test_a_move_of_all_to_one_node_is_never_slower_and_speeds_are_those_that_are_stated(at, moved):
    moved = {index: node for index, node in moved.items() if index < len(at)}
    now, then = speeds(at, moved)
    assert {now, then} <= {0.5, 0.8, 1.0}
    assert speeds(at, dict.fromkeys(range(len(at)), "r1-0")) == (now, 1.0)


def member(index, **notes):
    common = {labels.CHECKPOINT: "", labels.MIN_AVAILABLE: "1", **notes}
    owner = make_owner("e", kind="StatefulSet", size=2)
    return Train(f"e-{index}", CC, owner=owner, annotations=common, pod={"index": index})


def outcome_of(notes):
    nodes = {"a": [member(0, **notes), "f1", "f2"], "b": [], "c": [member(1, **notes)], "d": []}
    labelled = [make_node(n, cpu="4", labels={RACK: r, ZONE: "z"})
                for n, r in (("a", "r1"), ("b", "r2"), ("c", "r2"), ("d", "r1"))]  # fmt: skip
    return run_pass(cluster_of(nodes, *labelled, busy=[]))


def test_a_member_moves_to_the_rack_of_the_others_if_that_is_known_to_gain():
    assert moves(outcome_of({})) == []
    outcome = outcome_of({labels.SPREAD_SPEEDS: "rack=0.5"})
    assert moves(outcome) == [("e-0", "a", "b")]
    assert "share" in created(outcome)[0].why
    assert reasons(outcome_of({labels.SPREAD_SPEEDS: "zone=0.5"})) == reasons(outcome_of({}))


def test_a_level_that_does_not_exist_is_named_and_the_job_waits():
    notes = {labels.SPREAD_SPEEDS: "row=0.5"}
    (entry,) = levels.run_pass(NODES, queued_job("j", 1, annotations=notes)).entries
    assert entry.reason == "Misconfigured"
    assert all(word in entry.message for word in (labels.SPREAD_SPEEDS, "'row'", f"rack ({RACK})"))
