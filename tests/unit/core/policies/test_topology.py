"""Gangs in domains of the topology: which domain, what else if none, why not, spares."""

import pytest

from extender.core.parameters.placement import (
    LEVELS,
    GangParameters,
    Level,
    ScoringWeights,
    TopologyParameters,
)
from extender.core.placement.domains import domains
from shared.errors import InputError
from tests.fakes.builders import make_node, make_room, make_shape
from tests.unit.core.policies.gangs import (
    PS_AND_WORKERS,
    by_node,
    members,
    nodes,
    place_gang,
    placed,
    refused,
)
from tests.unit.core.policies.racks import RACK, ZONE, racks, tries, used, wants

CPUS_2 = make_shape(cpu="2", memory="0")


def workers(count, shape=CPUS_2):
    return members("worker", count, shape)


CHOSEN = {
    "the domain that holds all, not the node that holds more": (
        {"r1": [8, 2], "r2": [6, 6]},
        [],
        "r2",
    ),
    "least left over among those that hold all": (
        {"r1": [32], "r2": [6, 8], "r3": [8, 8]},
        [],
        "r2",
    ),
    "a big full-enough rack, not a small emptier one": ({"r1": [4] * 4, "r2": [14]}, [], "r2"),
    "the first name among equals": ({"r2": [6, 6], "r1": [6, 6], "r3": [6, 6]}, [], "r1"),
    "where members are, whatever is left": (
        {"r1": [12], "r2": [32, 32]},
        [placed("worker", 9, "r2-0")],
        "r2",
    ),
    "a node without the label is in no rack": ({"": [64], "r1": [6, 6]}, [], "r1"),
    "a member on a node that is gone counts for nothing": (
        {"r1": [12], "r2": [32, 32]},
        [placed("worker", 9, "gone")],
        "r1",
    ),
}


@pytest.mark.parametrize(("cpus", "already", "want"), CHOSEN.values(), ids=CHOSEN.keys())
def test_a_required_rack_is(cpus, already, want):
    room = make_room(*racks(cpus))
    result = place_gang(workers(6), room, already=already, topology=wants("rack"))
    assert used(result, room) == {want: 6}
    assert result.domain is not None
    assert result.domain.name == f"rack {want}"


def test_inside_the_domain_the_other_rules_hold():
    room = make_room(*racks({"r1": [8, 16, 4], "r2": [64, 64]}))
    result = place_gang(workers(8), room, topology=wants("rack"))
    assert (result.rule, by_node(result).keys()) == ("one-node", {"r1-1"})
    result = place_gang(workers(10), room, topology=wants("rack"))
    assert (result.rule, by_node(result).keys()) == ("fewest-nodes", {"r1-1", "r1-2"})


def test_the_highest_weighted_sum_decides_between_racks_of_equal_room():
    busy = {"r2-0": [make_shape(cpu="4", memory="0")]}
    room = make_room(*racks({"r1": [4, 4], "r2": [8, 4]}), placed=busy)
    options = {
        "topology": wants("rack"),
        "weights": ScoringWeights(affinity=0, locality=0, packing=1, price=0),
    }
    assert used(place_gang(workers(2), room, **options), room) == {"r2": 2}
    cheap = {
        "topology": wants("rack"),
        "weights": ScoringWeights(affinity=0, locality=0, packing=0, price=1),
    }
    assert used(place_gang(workers(2), room, **cheap), room) == {"r1": 2}


def test_racks_of_one_name_in_two_zones_are_two_racks():
    labels = ({ZONE: "east", RACK: "r1"}, {ZONE: "west", RACK: "r1"}, {RACK: "r1"})
    room = make_room(*(make_node(f"n{i}", cpu="4", labels=own) for i, own in enumerate(labels)))
    found = domains(room, LEVELS[:3])
    names = ["rack r1", "rack r1 (zone east)", "rack r1 (zone west)"]
    assert [domain.name for domain in found.all] == names
    assert found.of_node.tolist() == [1, 2, 0]
    result = refused(workers(4), room, topology=wants("rack"))
    assert result.detail == "2 of 4 pods fit in rack r1, and no other rack holds more"


FAILED = {
    "how many fit in the best": (
        {"r1": [4, 4], "r2": [8, 4], "r3": [2]},
        [],
        8,
        "6 of 8 pods fit in rack r2, and no other rack holds more",
    ),
    "of equals, the one with most left": (
        {"r1": [8, 4], "r2": [9, 4]},
        [],
        8,
        "6 of 8 pods fit in rack r2",
    ),
    "where the other members are": (
        {"r1": [4], "r2": [32]},
        [placed("worker", 9, "r1-0")],
        3,
        "2 of 3 pods fit in rack r1, where its other members are",
    ),
    "members are apart already": (
        {"r1": [32], "r2": [32]},
        [placed("worker", 8, "r1-0"), placed("worker", 9, "r2-0")],
        2,
        "its other members are not in one rack: rack r1, rack r2",
    ),
    "a member is in no rack": (
        {"r1": [32], "": [32]},
        [placed("worker", 9, "loose-0")],
        2,
        f"its other members are not in one rack: nodes without the label {RACK}",
    ),
    "no rack at all": ({"": [32]}, [], 2, f"no node has the label {RACK}, which makes a rack"),
    "racks that hold no pod": (
        {"": [32], "r1": [1]},
        [],
        2,
        "0 of 2 pods fit in rack r1, and no other rack holds more",
    ),
}


@pytest.mark.parametrize(("cpus", "already", "pods", "want"), FAILED.values(), ids=FAILED.keys())
def test_a_missing_required_rack_is_refused_with(cpus, already, pods, want):
    room = make_room(*racks(cpus))
    result = refused(workers(pods), room, already=already, topology=wants("rack"))
    assert result.reason == "TopologyPlacementFailed"
    assert "no domain of the required topology level" in result.reason.message
    assert want in result.detail


PLAIN_REASONS = {
    "more than is free anywhere": (20, CPUS_2, "GangDoesNotFit"),
    "larger than any node": (1, make_shape(cpu="100"), "NoSuchNode"),
}


@pytest.mark.parametrize(("count", "shape", "reason"), PLAIN_REASONS.values(), ids=PLAIN_REASONS)
def test_what_fails_without_a_topology_keeps_its_reason(count, shape, reason):
    room = make_room(*racks({"r1": [8, 8], "r2": [8]}))
    assert refused(workers(count, shape), room, topology=wants("rack")).reason == reason


def test_a_pod_whose_domain_is_known_but_not_its_node_holds_the_others_there():
    room = make_room(*racks({"r1": [8], "r2": [32]}))
    anchored = wants("rack", anchors=(room.index["r2-0"],))
    assert used(place_gang(workers(4), room, topology=anchored), room) == {"r2": 4}


PREFERRED = {
    "one rack, if one holds all": ({"a/r1": [16], "a/r2": [12], "b/r3": [64]}, 6, {"r2": 6}),
    "else one zone, and few racks of it": (
        {"a/r1": [4, 4], "a/r2": [6], "b/r3": [6, 2], "b/r4": [4], "b/r5": [4]},
        7,
        {"r1": 4, "r2": 3},
    ),
    "else the fullest racks of all": (
        {"a/r1": [8], "a/r2": [2], "b/r3": [6], "b/r4": [2]},
        7,
        {"r1": 4, "r3": 3},
    ),
    "in equal parts rather than the tightest": (
        {"r1": [16], "r2": [12], "r3": [4], "r4": [6]},
        10,
        {"r1": 5, "r2": 5},
    ),
    "the last rack is the tightest where parts cannot be equal": (
        {"r1": [16], "r2": [4], "r3": [6]},
        10,
        {"r1": 8, "r2": 2},
    ),
    "nodes without a rack come last": ({"r1": [4], "": [4, 2]}, 5, {"": 3, "r1": 2}),
}


@pytest.mark.parametrize(("cpus", "pods", "want"), PREFERRED.values(), ids=PREFERRED.keys())
def test_a_preferred_rack_is(cpus, pods, want):
    room = make_room(*racks(cpus))
    result = place_gang(workers(pods), room, topology=wants("rack", required=False))
    assert used(result, room) == want


def test_the_racks_of_members_come_first_where_the_gang_is_spread():
    room = make_room(*racks({"r1": [4], "r2": [8], "r3": [8]}))
    already = [placed("worker", 9, "r1-0")]
    asked = wants("rack", required=False)
    assert used(place_gang(workers(5), room, already=already, topology=asked), room) == {
        "r1": 2,
        "r2": 3,
    }


def test_a_preferred_rack_names_what_holds_the_gang():
    room = make_room(*racks({"a/r1": [4], "a/r2": [4], "b/r3": [2]}))
    asked = wants("rack", required=False)
    domain_of = {n: place_gang(workers(n), room, topology=asked).domain for n in (1, 2, 4, 5)}
    named = {n: domain.name if domain else "" for n, domain in domain_of.items()}
    assert named == {1: "rack r3 (zone b)", 2: "rack r1 (zone a)", 4: "zone a", 5: ""}
    rules = [place_gang(workers(n), room, topology=asked).rule for n in (2, 4, 5)]
    assert rules == ["one-node", "equal-domains", "equal-domains"]


def test_what_fails_everywhere_fails_with_a_preference_too():
    room = make_room(*racks({"r1": [3, 3], "r2": [3]}))
    asked = wants("rack", required=False)
    assert refused(workers(4), room, topology=asked) == refused(workers(4), room)


def test_buckets_are_inside_the_domain():
    room = make_room(*racks({"r1": [32, 4], "r2": [8, 8, 2]}))
    gang = [*members("ps", 2, CPUS_2), *workers(6)]
    result = place_gang(gang, room, relations=PS_AND_WORKERS, topology=wants("rack"))
    assert result.rule == "buckets"
    assert by_node(result) == {
        "r2-0": ["ps-0", "worker-0", "worker-2", "worker-4"],
        "r2-1": ["ps-1", "worker-1", "worker-3", "worker-5"],
    }


def test_buckets_may_have_racks_for_places_inside_a_required_zone():
    room = make_room(*racks({"a/r1": [4, 4], "a/r2": [4, 4], "b/r3": [32, 32]}))
    gang = [*members("ps", 2, CPUS_2), *workers(6)]
    options = {"relations": PS_AND_WORKERS, "topology_key": RACK, "topology": wants("zone")}
    result = place_gang(gang, room, **options)
    assert used(result, room, ZONE) == {"a": 8}
    in_rack = {uid: name.partition("-")[0] for uid, name in result.nodes.items()}
    assert {(result.bucket_of[uid], rack) for uid, rack in in_rack.items()} == {
        (0, "r1"),
        (1, "r2"),
    }


def test_buckets_stay_in_the_racks_that_a_spread_would_use():
    room = make_room(*racks({"r1": [8, 4], "r2": [4], "r3": [8]}))
    gang = [*members("ps", 2, CPUS_2), *workers(6)]
    options = {"relations": PS_AND_WORKERS, "topology": wants("rack", required=False)}
    result = place_gang(gang, room, **options)
    assert (result.rule, used(result, room)) == ("buckets", {"r1": 6, "r2": 2})
    alone = place_gang(gang, room, relations=PS_AND_WORKERS)
    assert used(alone, room) == {"r1": 4, "r3": 4}


SPARES = {
    "in the required rack only": (True, ["r1-1"]),
    "in the preferred rack first": (False, ["r1-1", "r2-0", "r2-1"]),
}


@pytest.mark.parametrize(("required", "want"), SPARES.values(), ids=SPARES.keys())
def test_spares_are(required, want):
    room = make_room(*racks({"r1": [2, 2], "r2": [16, 16]}))
    options = {"topology": wants("rack", required=required), "params": GangParameters(spares=4)}
    result = place_gang(workers(1), room, **options)
    assert result.nodes["worker-0"] == "r1-0"
    assert list(result.spares["worker-0"]) == want


def test_spares_outside_have_their_host_port_free():
    port = make_shape(cpu="1", memory="0", host_ports=[80])
    busy = {"r2-0": [make_shape(cpu="0", memory="0", host_ports=[80])]}
    room = make_room(*racks({"r1": [2], "r2": [16, 16]}), placed=busy)
    result = place_gang(workers(1, port), room, topology=wants("rack", required=False))
    assert list(result.spares["worker-0"]) == ["r2-1"]


MIXED = [*members("ps", 1, cpu="3", memory="0"), *members("worker", 2, cpu="2", memory="0")]


def test_a_mixed_gang_is_tried_in_the_next_domain_where_one_only_seems_to_hold_it():
    room = make_room(*racks({"r1": [3, 3, 1], "r2": [4, 5]}))
    assert used(place_gang(MIXED, room, topology=wants("rack")), room) == {"r2": 3}


def test_of_very_many_domains_the_roomiest_is_tried_too():
    many = {f"r{i}": [3, 3, 1] for i in range(5)}
    room = make_room(*racks({**many, "r9": [8, 8]}))
    asked = {"topology": wants("rack"), "levels": tries(2)}
    assert used(place_gang(MIXED, room, **asked), room) == {"r9": 3}
    result = refused(MIXED, make_room(*racks(many)), **asked)
    assert "2 of 3 pods fit in rack r0, the roomiest rack" in result.detail


def test_each_node_is_a_domain_of_the_finest_level():
    room = make_room(*nodes(a=8, b=4))
    assert set(place_gang(workers(2), room, topology=wants("hostname")).nodes.values()) == {"b"}
    result = refused(workers(5), room, topology=wants("hostname"))
    assert "4 of 5 pods fit in hostname a" in result.detail


def test_nothing_to_place_is_placed_anywhere():
    assert place_gang([], make_room(*racks({"r1": [4]})), topology=wants("rack")).nodes == {}


def test_without_nodes_the_reason_is_the_plain_one():
    assert refused(workers(1), make_room(), topology=wants("rack")).reason == "NoSuchNode"


FOUND = {"by name": "rack", "by label": RACK}


@pytest.mark.parametrize("text", FOUND.values(), ids=FOUND.keys())
def test_a_level_is_found(text):
    assert TopologyParameters().level(text, "annotation x") == 2


def test_an_unknown_level_is_named_with_the_known_ones():
    with pytest.raises(InputError) as caught:
        TopologyParameters().level("row", "annotation x")
    assert "annotation x" in str(caught.value)
    assert "'row'" in str(caught.value)
    assert f"rack ({RACK})" in str(caught.value)
    with pytest.raises(InputError, match="there are none"):
        TopologyParameters(levels=()).level("row", "annotation x")


def test_two_levels_of_one_name_or_label_are_refused():
    for levels in ((Level("a", "x"), Level("a", "y")), (Level("a", "x"), Level("b", "x"))):
        with pytest.raises(ValueError, match="names two levels"):
            TopologyParameters(levels=levels)
    assert TopologyParameters(levels=(Level("a", "a"), Level("b", "b"))).level("b", "") == 1
