"""Laws of gang placement, on small random rooms."""

from itertools import product

from hypothesis import assume, given
from hypothesis import strategies as st

from extender.core.parameters.placement import ScoringWeights
from extender.core.placement.buckets import Relations
from extender.core.placement.placement import Placement, Unschedulable
from shared.model import NodeName
from tests.fakes.builders import make_node, make_room, make_shape
from tests.unit.core.policies.gangs import members, place, placed

GPU = "nvidia.com/gpu"
ZONE = "topology.kubernetes.io/zone"
UNSPARING = ScoringWeights(sparing=0.0)
"""More nodes may be used, so that those with GPUs are not."""


def seldom(usual, *others):
    """``usual`` in most draws, so that most gangs fit and the rules are really exercised."""
    return st.sampled_from([usual] * 5 + list(others))


node_rows = st.fixed_dictionaries(
    {
        "cpu": st.integers(0, 8),
        "memory": seldom(8, 0, 1, 2, 3),
        "gpu": st.integers(0, 2),
        "pods": seldom(9, 1, 2, 3),
        "disk": seldom("ssd", "hdd"),
        "zone": st.sampled_from(["", "east", "west"]),
        "taken": seldom(0, 1, 2, 3),
        "port": seldom(False, True),
    }
)
shape_rows = st.fixed_dictionaries(
    {
        "cpu": st.integers(0, 4),
        "memory": seldom(1, 0, 2, 3),
        "gpu": seldom(0, 1),
        "disk": seldom("", "ssd"),
        "port": seldom(False, True),
    }
)
relation_texts = st.sampled_from(["", "ps", "worker", "ps,worker", "ps,worker;worker"])
declared = st.builds(Relations.parse, relation_texts, relation_texts)
node_lists = st.lists(node_rows, min_size=2, max_size=5)


def room_of(rows, *, reverse=False):
    nodes = [
        make_node(
            f"n{i}",
            cpu=str(row["cpu"]),
            memory=f"{row['memory']}Gi",
            pods=row["pods"],
            allocatable={GPU: str(row["gpu"])},
            labels={"disk": row["disk"]} | ({ZONE: row["zone"]} if row["zone"] else {}),
        )
        for i, row in enumerate(rows)
    ]
    taken = {
        f"n{i}": [
            make_shape(cpu=str(row["taken"]), memory="0", host_ports=[80] if row["port"] else [])
        ]
        for i, row in enumerate(rows)
        if row["taken"] or row["port"]
    }
    return make_room(*(nodes[::-1] if reverse else nodes), placed=taken)


def shape_of(row):
    return make_shape(
        cpu=str(row["cpu"]),
        memory=f"{row['memory']}Gi",
        requests={GPU: str(row["gpu"])},
        node_selector={"disk": row["disk"]} if row["disk"] else {},
        host_ports=[80] if row["port"] else [],
    )


rooms = node_lists.map(room_of)
shapes = shape_rows.map(shape_of)


@st.composite
def gangs(draw, most=5):
    """Up to three roles, each of one shape."""
    return [
        *members("ps", draw(st.integers(0, 2)), draw(shapes)),
        *members("worker", draw(st.integers(1, most)), draw(shapes)),
        *members("evaluator", draw(st.integers(0, 1)), draw(shapes)),
    ]


def fits_one_by_one(pods, nodes, room):
    """Place pods as kube-scheduler would, one after the other; None if one is refused."""
    for pod, node in zip(pods, nodes, strict=True):
        if not room.feasible(pod.shape)[node]:
            return None
        room = room.with_pods([(pod.shape, node)])
    return room


def any_way(pods, room):
    """Brute force: try all nodes for all pods."""
    indices = range(len(room.nodes))
    return any(
        fits_one_by_one(pods, choice, room) is not None
        for choice in product(indices, repeat=len(pods))
    )


@given(rooms, gangs(), declared, st.sampled_from(["", ZONE]))
def test_all_pods_get_a_node_that_the_filters_accept_or_none_does(room, gang, relations, key):
    result = place(gang, room, relations=relations, topology_key=key)
    if isinstance(result, Unschedulable):
        assert result.reason.message
        assert result.detail
        return
    assert set(result.nodes) == set(result.order) == set(result.spares) == {p.uid for p in gang}
    assert len(result.order) == len(gang)
    nodes = [room.index[result.nodes[pod.uid]] for pod in gang]
    after = fits_one_by_one(gang, nodes, room)
    assert after is not None
    assert (after.used == result.node_table.used).all()
    assert after.ports == result.node_table.ports


@given(rooms, shapes, st.integers(1, 4), declared, st.sampled_from(["", ZONE]))
def test_pods_that_are_alike_fit_exactly_when_brute_force_fits_them(
    room, shape, count, relations, key
):
    gang = [*members("ps", count // 2, shape), *members("worker", count - count // 2, shape)]
    result = place(gang, room, relations=relations, topology_key=key)
    assert isinstance(result, Placement) == any_way(gang, room)


@given(rooms, gangs(most=2))
def test_a_placed_gang_fits_and_the_reason_of_an_unschedulable_gang_is_true(room, gang):
    result = place(gang, room)
    if isinstance(result, Placement):
        return
    empty = room.replaced(used=room.used * 0, ports=(frozenset(),) * len(room.nodes))
    never = any(not empty.feasible(pod.shape).any() for pod in gang)
    assert (result.reason == "NoSuchNode") == never
    if result.reason == "GangDoesNotFit":
        assert not any_way(gang, room)


@given(node_lists, shapes, st.integers(1, 5), st.data())
def test_more_room_never_turns_yes_into_no(rows, shape, count, data):
    gang = members("worker", count, shape)
    assume(isinstance(place(gang, room_of(rows)), Placement))
    more = [dict(row) for row in rows]
    grown = data.draw(st.sampled_from(more))
    grown[data.draw(st.sampled_from(["cpu", "memory", "gpu", "pods"]))] += 2
    more += data.draw(st.lists(node_rows, max_size=2))
    assert isinstance(place(gang, room_of(more)), Placement)


@given(node_lists, gangs(), declared, st.sampled_from(["", ZONE]), st.randoms())
def test_the_order_of_nodes_and_pods_in_the_input_does_not_matter(
    rows, gang, relations, key, random
):
    options = {"relations": relations, "topology_key": key}
    one = place(gang, room_of(rows), **options)
    shuffled = random.sample(gang, len(gang))
    other = place(shuffled, room_of(rows, reverse=True), **options)
    if isinstance(one, Unschedulable):
        assert other == one
    else:
        assert isinstance(other, Placement)
        assert (other.nodes, other.order, other.spares) == (one.nodes, one.order, one.spares)
        assert (other.rule, other.bucket_of, other.terms) == (one.rule, one.bucket_of, one.terms)


@given(rooms, gangs(), st.lists(st.integers(0, 4), max_size=3))
def test_one_node_is_used_whenever_a_node_holds_all(room, gang, homes):
    already = [placed("worker", 9 + i, f"n{home}") for i, home in enumerate(homes)]
    result = place(gang, room, already=already, weights=UNSPARING)
    indices = range(len(room.nodes))
    holds = any(fits_one_by_one(gang, [i] * len(gang), room) is not None for i in indices)
    used = set(result.nodes.values()) if isinstance(result, Placement) else set()
    assert (len(used) == 1) == holds
    assert (isinstance(result, Placement) and result.rule == "one-node") == holds


@given(rooms, shapes, st.integers(1, 4))
def test_pods_that_are_alike_use_as_few_nodes_as_possible(room, shape, count):
    gang = members("worker", count, shape)
    result = place(gang, room, weights=UNSPARING)
    if isinstance(result, Unschedulable):
        return
    choices = product(range(len(room.nodes)), repeat=count)
    fewest = min(len(set(c)) for c in choices if fits_one_by_one(gang, c, room) is not None)
    assert len(set(result.nodes.values())) == fewest


@given(rooms, gangs(), declared, st.sampled_from(["", ZONE]))
def test_every_spare_takes_one_more_pod_after_the_gang(room, gang, relations, key):
    result = place(gang, room, relations=relations, topology_key=key)
    if isinstance(result, Unschedulable):
        return
    for pod in gang:
        feasible = result.node_table.feasible(pod.shape)
        feasible[room.index[result.nodes[pod.uid]]] = False
        assert len(result.spares[pod.uid]) == min(2, feasible.sum())
        assert all(feasible[room.index[NodeName(name)]] for name in result.spares[pod.uid])


@given(rooms, gangs(), declared)
def test_ps_are_bound_first_and_every_bucket_in_one_go(room, gang, relations):
    result = place(gang, room, relations=relations)
    if isinstance(result, Unschedulable):
        return
    role = {pod.uid: pod.role for pod in gang}
    is_ps = [role[uid] == "ps" for uid in result.order]
    assert is_ps == sorted(is_ps, reverse=True)
    for part in (True, False):
        among = [u for u in result.order if (role[u] == "ps") is part]
        indices = [result.bucket_of.get(u, len(gang)) for u in among]
        assert indices == sorted(indices)
