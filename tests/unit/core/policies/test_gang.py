"""Gangs on one room: which rule, which nodes, spares, order, terms."""

import numpy as np
import pytest

from extender.core.parameters.placement import GangParameters, ScoringWeights
from extender.core.placement.buckets import Relations
from shared.model import HostPort, PodShape
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

ZONE = "topology.kubernetes.io/zone"
CPUS_2 = make_shape(cpu="2", memory="2Gi")
ON_ANY = "0.0.0.0"


def two_ps(workers):
    return [*members("ps", 2, CPUS_2), *members("worker", workers, CPUS_2)]


def test_nothing_to_place_is_placed():
    room = make_room(*nodes(a=4))
    result = place_gang([], room, already=[placed("worker", 0, "a")])
    assert (result.nodes, result.order, result.spares) == ({}, (), {})


RULES = {
    "one node holds all": ({"a": 8, "b": 4}, None, 4, "one-node"),
    "no node holds all": ({"a": 4, "b": 4}, None, 4, "fewest-nodes"),
    "relations declared": ({"a": 16, "b": 16}, PS_AND_WORKERS, 4, "buckets"),
    "relations of other roles": ({"a": 16, "b": 4}, Relations.parse("x,y"), 4, "one-node"),
    "empty relations": ({"a": 16, "b": 4}, Relations(), 4, "one-node"),
}


@pytest.mark.parametrize(("cpus", "relations", "pods", "rule"), RULES.values(), ids=RULES.keys())
def test_rule(cpus, relations, pods, rule):
    gang = members("worker", pods, CPUS_2)
    assert place_gang(gang, make_room(*nodes(**cpus)), relations=relations).rule == rule


ONE_NODE = {
    "the tightest": ({"a": 32, "b": 8, "c": 16}, {}, [], "b"),
    "the tightest by share of what is asked for": ({"a": 16, "b": 32}, {"b": 12}, [], "b"),
    "the one where most of the job is": (
        {"a": 8, "b": 32, "c": 32},
        {},
        [placed("ps", 0, "b"), placed("ps", 1, "c"), placed("ps", 2, "c")],
        "c",
    ),
    "the first name among equals": ({"b": 8, "a": 8, "c": 8}, {}, [], "a"),
    "a member on a node that is gone does not count": ({"a": 8}, {}, [placed("ps", 0, "x")], "a"),
}


@pytest.mark.parametrize(
    ("cpus", "taken", "already", "want"), ONE_NODE.values(), ids=ONE_NODE.keys()
)
def test_one_node_is(cpus, taken, already, want):
    busy = {name: [make_shape(cpu=str(cpu), memory="0")] for name, cpu in taken.items()}
    gang = members("worker", 4, cpu="2", memory="0")
    result = place_gang(gang, make_room(*nodes(**cpus), placed=busy), already=already)
    assert (result.rule, set(result.nodes.values())) == ("one-node", {want})


def test_resources_without_a_request_do_not_make_a_node_tight():
    gpus = make_node("a", cpu="8", allocatable={"nvidia.com/gpu": "8"})
    result = place_gang(members("worker", 2, cpu="1"), make_room(gpus, make_node("b", cpu="4")))
    assert set(result.nodes.values()) == {"b"}


FEWEST = {
    "the largest nodes first, the rest to the tightest": (
        {"a": 4, "b": 8, "c": 8, "d": 6},
        {"ps": 2, "worker": 8},
        [],
        {"a": 2, "b": 4, "c": 4},
    ),
    "the job's own nodes first": (
        {"a": 2, "b": 8, "c": 4},
        {"worker": 5},
        [placed("worker", 9, "a")],
        {"a": 1, "b": 4},
    ),
    "no node is opened while another one is not full": (
        {"a": 2, "b": 2, "c": 2},
        {"worker": 3},
        [],
        {"a": 1, "b": 1, "c": 1},
    ),
}


@pytest.mark.parametrize(("cpus", "roles", "already", "want"), FEWEST.values(), ids=FEWEST.keys())
def test_fewest_nodes(cpus, roles, already, want):
    gang = [p for role, count in roles.items() for p in members(role, count, CPUS_2)]
    result = place_gang(gang, make_room(*nodes(**cpus)), already=already)
    assert result.rule == "fewest-nodes"
    assert {name: len(pods) for name, pods in by_node(result).items()} == want


def test_ps_take_the_first_node_of_a_spread():
    result = place_gang(two_ps(6), make_room(*nodes(a=6, b=8, c=6)))
    assert by_node(result)["b"] == ["ps-0", "ps-1", "worker-0", "worker-1"]


RESCUED = {
    "largest first": (
        make_room(*nodes(a=4, b=3)),
        [*members("ps", 1, cpu="3", memory="0"), *members("worker", 2, cpu="2", memory="0")],
        {"a": ["worker-0", "worker-1"], "b": ["ps-0"]},
    ),
    "most constrained first": (
        make_room(make_node("a", cpu="4", labels={"disk": "ssd"}), make_node("b", cpu="4")),
        [
            *members("ps", 1, cpu="4", memory="0"),
            *members("worker", 1, cpu="3", memory="0", node_selector={"disk": "ssd"}),
        ],
        {"a": ["worker-0"], "b": ["ps-0"]},
    ),
}


@pytest.mark.parametrize(("room", "gang", "want"), RESCUED.values(), ids=RESCUED.keys())
def test_another_order_saves_a_mixed_gang(room, gang, want):
    result = place_gang(gang, room, weights=ScoringWeights(packing=0))
    assert (result.rule, by_node(result)) == ("best-fit", want)


def test_if_buckets_fail_the_other_rules_are_tried():
    gang = [*members("ps", 1, cpu="3", memory="0"), *members("worker", 2, cpu="2", memory="0")]
    room = make_room(*nodes(a=4, b=3))
    result = place_gang(gang, room, relations=PS_AND_WORKERS, weights=ScoringWeights(packing=0))
    assert by_node(result) == {"a": ["worker-0", "worker-1"], "b": ["ps-0"]}
    assert result.rule == "best-fit"
    assert set(result.bucket_of.values()) == {0}


def test_two_ps_and_their_workers_take_a_node_each():
    result = place_gang(two_ps(6), make_room(*nodes(a=16, b=8, c=8)), relations=PS_AND_WORKERS)
    assert by_node(result) == {
        "b": ["ps-0", "worker-0", "worker-2", "worker-4"],
        "c": ["ps-1", "worker-1", "worker-3", "worker-5"],
    }
    assert all(terms["affinity"] == 1.0 for terms in result.terms.values())


def test_a_bucket_that_no_place_holds_takes_the_next_best_for_the_rest():
    result = place_gang(two_ps(6), make_room(*nodes(a=6, b=6, c=4)), relations=PS_AND_WORKERS)
    assert by_node(result) == {
        "a": ["ps-0", "worker-0", "worker-2"],
        "b": ["ps-1", "worker-1", "worker-3"],
        "c": ["worker-4", "worker-5"],
    }


def test_pods_apart_share_a_node_when_there_is_no_other():
    relations = Relations.parse("", "worker")
    result = place_gang(
        members("worker", 5, CPUS_2), make_room(*nodes(a=8, b=4)), relations=relations
    )
    assert {name: len(pods) for name, pods in by_node(result).items()} == {"a": 3, "b": 2}


def test_a_placed_member_draws_the_rest_of_its_bucket():
    busy = {"b": [CPUS_2]}
    result = place_gang(
        members("worker", 2, CPUS_2),
        make_room(*nodes(a=8, b=8), placed=busy),
        already=[placed("ps", 0, "b")],
        relations=PS_AND_WORKERS,
    )
    assert by_node(result) == {"b": ["worker-0", "worker-1"]}


def test_roles_without_a_relation_come_after_the_buckets():
    gang = [*members("evaluator", 1, CPUS_2), *members("ps", 1, CPUS_2), *two_ps(1)[2:]]
    result = place_gang(gang, make_room(*nodes(a=4, b=2)), relations=PS_AND_WORKERS)
    assert by_node(result) == {"a": ["ps-0", "worker-0"], "b": ["evaluator-0"]}
    assert result.bucket_of == {"ps-0": 0, "worker-0": 0}
    assert result.terms["evaluator-0"]["affinity"] == 0.0


def in_zones(**zones):
    return [make_node(n, cpu="4", labels={ZONE: z} if z else {}) for n, z in zones.items()]


def test_a_bucket_stays_in_one_zone():
    room = make_room(*in_zones(a="east", b="west", c="east", d="west"))
    result = place_gang(two_ps(6), room, relations=PS_AND_WORKERS, topology_key=ZONE)
    zone = {node.name: node.labels[ZONE] for node in room.nodes}
    zones = [{zone[result.nodes[u]] for u, b in result.bucket_of.items() if b == i} for i in (0, 1)]
    assert sorted(map(sorted, zones)) == [["east"], ["west"]]


def test_a_node_without_the_label_is_a_zone_of_its_own():
    room = make_room(*in_zones(a="east", b="", c="", d="east"))
    result = place_gang(two_ps(2), room, relations=PS_AND_WORKERS, topology_key=ZONE)
    used = {b: {result.nodes[u] for u, i in result.bucket_of.items() if i == b} for b in (0, 1)}
    assert all(len(names) == 1 for names in used.values())
    assert used[0] != used[1]


def test_a_placed_member_draws_its_bucket_to_its_zone():
    room = make_room(*in_zones(a="east", b="west", c="west"), placed={"b": [CPUS_2] * 2})
    result = place_gang(
        members("worker", 2, CPUS_2),
        room,
        already=[placed("ps", 0, "b"), placed("ps", 1, "gone")],
        relations=Relations.parse("ps,worker"),
        topology_key=ZONE,
    )
    assert by_node(result) == {"c": ["worker-0", "worker-1"]}


def test_spares_of_the_same_zone_come_first():
    room = make_room(*in_zones(a="east", b="west", c="west", d="east"))
    gang = members("worker", 1, CPUS_2)
    result = place_gang(gang, room, relations=Relations.parse("worker"), topology_key=ZONE)
    assert (result.nodes["worker-0"], result.spares["worker-0"]) == ("a", ("d", "b"))


def test_spread_workers_is_a_parameter():
    room = make_room(*nodes(a=8, b=8, c=8, d=8))
    apart = GangParameters(spread_workers=True)
    assert len(by_node(place_gang(two_ps(6), room, relations=PS_AND_WORKERS))) == 2
    assert len(by_node(place_gang(two_ps(6), room, relations=PS_AND_WORKERS, params=apart))) == 4


def test_bind_order_is_ps_then_bucket_then_index():
    gang = [*reversed(two_ps(4)), *members("evaluator", 1, CPUS_2)]
    result = place_gang(gang, make_room(*nodes(a=16)), relations=PS_AND_WORKERS)
    want = "ps-0 ps-1 worker-0 worker-2 worker-1 worker-3 evaluator-0"
    assert " ".join(result.order) == want


SPARES = {
    "the best first, not the own node": (2, ("c", "b")),
    "none wanted": (0, ()),
    "as many as there are": (8, ("c", "b")),
}


@pytest.mark.parametrize(("count", "want"), SPARES.values(), ids=SPARES.keys())
def test_spares(count, want):
    room = make_room(*nodes(a=2, b=32, c=4, d=1))
    result = place_gang(members("worker", 1, CPUS_2), room, params=GangParameters(spares=count))
    assert result.nodes["worker-0"] == "a"
    assert result.spares["worker-0"] == want


def test_a_spare_has_room_after_the_whole_gang():
    result = place_gang(members("worker", 3, CPUS_2), make_room(*nodes(a=2, b=4)))
    assert result.spares == {f"worker-{i}": () for i in range(3)}


def test_the_table_afterwards_holds_the_gang_and_its_ports():
    port = HostPort(ON_ANY, "TCP", 80)
    room = make_room(*nodes(a=8, b=8))
    result = place_gang(members("worker", 2, cpu="2", host_ports=[port]), room)
    assert result.node_table.used.sum(axis=0).tolist() == [4000, 2 * 2**30, 2]
    assert result.node_table.ports == (frozenset({port}), frozenset({port}))
    assert not room.used.any()
    assert room.ports == (frozenset(), frozenset())


def test_the_terms_are_those_of_the_pods_node_before_the_gang():
    room = make_room(*nodes(a=8, b=8), placed={"b": [CPUS_2]})
    result = place_gang(members("worker", 1, CPUS_2), room, already=[placed("ps", 0, "b")])
    assert result.terms["worker-0"] == {
        "affinity": 0.0,
        "locality": 1.0,
        "packing": pytest.approx(1 - (4 / 8 + 28 / 32) / 2),
        "price": 0.0,
    }


PORTS = {
    "the same port twice": ([80], [80], 2),
    "another port": ([80], [81], 1),
    "another protocol": ([80], [HostPort(ON_ANY, "UDP", 80)], 1),
    "two addresses": ([HostPort("10.0.0.1", "TCP", 80)], [HostPort("10.0.0.2", "TCP", 80)], 1),
    "one address and all": ([HostPort("10.0.0.1", "TCP", 80)], [80], 2),
    "none": ([], [], 1),
}


@pytest.mark.parametrize("relations", [None, PS_AND_WORKERS], ids=["plain", "buckets"])
@pytest.mark.parametrize(("one", "other", "want"), PORTS.values(), ids=PORTS.keys())
def test_two_pods_share_a_node_unless_their_host_ports_clash(one, other, want, relations):
    gang = [*members("ps", 1, cpu="1", host_ports=one), *members("worker", 1, host_ports=other)]
    result = place_gang(gang, make_room(*nodes(a=8, b=8)), relations=relations)
    assert len(set(result.nodes.values())) == want


def test_a_pod_without_requests_fits_an_overcommitted_node():
    room = make_room(*nodes(a=2), placed={"a": [make_shape(cpu="3")]})
    assert place_gang(members("worker", 1, cpu="0", memory="1Gi"), room).nodes == {"worker-0": "a"}
    assert refused(members("worker", 1, cpu="1"), room).reason == "GangDoesNotFit"


def test_pods_without_requests_fit_anywhere():
    room = make_room(*nodes(b=1, a=1), placed={"a": [CPUS_2]})
    assert set(place_gang(members("worker", 3, PodShape()), room).nodes.values()) == {"a"}


def test_a_thousand_pods_on_a_thousand_nodes_use_the_fewest():
    room = make_room(*(make_node(f"n{i:04}", cpu=str(1 + i % 4)) for i in range(1000)))
    result = place_gang(members("worker", 1000, cpu="1"), room)
    assert len(by_node(result)) == 250
    assert refused(members("worker", 2501, cpu="1"), room).reason == "GangDoesNotFit"


def test_a_refused_gang_leaves_the_table_unchanged():
    room = make_room(*nodes(a=4, b=4), placed={"a": [CPUS_2]})
    before = room.used.copy()
    refused(two_ps(6), room, relations=PS_AND_WORKERS)
    assert np.array_equal(room.used, before)
