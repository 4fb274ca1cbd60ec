"""Scores of nodes for kube-scheduler's prioritize calls."""

from extender.core.parameters.combined import CoreParameters
from extender.core.parameters.placement import ScoringWeights
from extender.core.scheduler import prioritizing
from tests.fakes.builders import make_node, make_pod
from tests.unit.core.clusters import released_job, snapshot_of

PARAMS = CoreParameters()


def test_scores_have_the_node_names_of_the_request_in_its_order():
    pod = make_pod("x", cpu="3", memory="16Gi")
    nodes = [make_node("a", cpu="4"), make_node("d", cpu="16")]
    packing = CoreParameters(weights=ScoringWeights(affinity=0, locality=0, packing=1, price=0))
    scores = prioritizing.scores(snapshot_of(nodes, pod), pod, ["d", "unknown", "a"], packing)
    assert [name for name, _ in scores] == ["d", "unknown", "a"]
    points = dict(scores)
    assert points["unknown"] == 0
    assert points["a"] > points["d"]


def test_the_node_of_the_other_members_scores_higher_for_a_late_member():
    job = released_job("j", ["d", "d"], bound=2, size=2)
    late = make_pod("late", owner=job[0])
    snapshot = snapshot_of([make_node("a"), make_node("d")], job, late)
    points = dict(prioritizing.scores(snapshot, late, ["a", "d"], PARAMS))
    assert points["d"] > points["a"]


def test_pods_of_other_schedulers_are_not_scored():
    pod = make_pod(scheduler_name="other")
    snapshot = snapshot_of(make_node("a", cpu="4"), pod)
    assert prioritizing.scores(snapshot, pod, ["a"], PARAMS) == (("a", 0),)
