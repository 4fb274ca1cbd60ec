"""Laws of gangs in topology domains, against brute force on small clusters."""

from itertools import product

from hypothesis import assume, given
from hypothesis import strategies as st

from extender.core.parameters.placement import TopologyParameters
from extender.core.placement.placement import Placement, Unschedulable
from extender.core.placement.topology import Wanted
from tests.fakes.builders import make_node, make_room, make_shape
from tests.unit.core.policies.gangs import PS_AND_WORKERS, members, place, placed
from tests.unit.core.policies.racks import INDEX, RACK, ZONE

node_rows = st.fixed_dictionaries(
    {
        "cpu": st.integers(0, 6),
        "pods": st.sampled_from([9, 9, 9, 1]),
        "zone": st.sampled_from(["a", "a", "b", ""]),
        "rack": st.sampled_from(["r1", "r2", "r3", ""]),
        "disk": st.sampled_from(["ssd", "ssd", "ssd", "hdd"]),
        "port": st.sampled_from([False, False, False, True]),
    }
)
node_lists = st.lists(node_rows, min_size=1, max_size=5)
shapes = st.builds(
    make_shape,
    cpu=st.sampled_from(["0", "1", "1", "2", "3"]),
    memory=st.just("0"),
    node_selector=st.sampled_from([{}, {}, {"disk": "ssd"}]),
    host_ports=st.sampled_from([[], [], [80]]),
)
levels = st.sampled_from(["zone", "rack", "hostname"])
relations = st.sampled_from([None, None, PS_AND_WORKERS])


def room_of(rows, *, reverse=False):
    nodes = [
        make_node(
            f"n{i}",
            cpu=str(row["cpu"]),
            pods=row["pods"],
            labels={"disk": row["disk"]}
            | {k: v for k, v in ((ZONE, row["zone"]), (RACK, row["rack"])) if v},
        )
        for i, row in enumerate(rows)
    ]
    busy = make_shape(cpu="0", memory="0", host_ports=[80])
    taken = {f"n{i}": [busy] for i, row in enumerate(rows) if row["port"]}
    return make_room(*(nodes[::-1] if reverse else nodes), placed=taken)


def gang_of(shape, count):
    return [*members("ps", count // 2, shape), *members("worker", count - count // 2, shape)]


def domain(room, node, level):
    """Return the labels down to the level, which identify a node's domain; None for no domain."""
    labels = room.nodes[room.index[node]].labels
    if level == "hostname":
        return node
    zone, rack = labels.get(ZONE), labels.get(RACK)
    own = zone if level == "zone" else rack
    return None if own is None else (zone if level == "zone" else (zone, rack))


def by_hand(shape, count, room, level):
    """Return by brute force whether one domain holds so many pods of the shape, one by one."""
    for wanted in {domain(room, node.name, level) for node in room.nodes} - {None}:
        here, left = room, count
        for index in range(len(room.nodes)):
            inside = domain(room, room.nodes[index].name, level) == wanted
            while left and inside and here.feasible(shape)[index]:
                here, left = here.with_pods([(shape, index)]), left - 1
        if not left:
            return True
    return False


def asked(level, *, required=True):
    return Wanted(INDEX[level], required)


@given(node_lists, shapes, st.integers(1, 6), levels, relations)
def test_pods_that_are_alike_are_placed_if_and_only_if_some_domain_holds_them(
    rows, shape, count, level, related
):
    room = room_of(rows)
    result = place(gang_of(shape, count), room, relations=related, topology=asked(level))
    assert isinstance(result, Placement) == by_hand(shape, count, room, level)


@st.composite
def mixed(draw):
    return [
        *members("ps", draw(st.integers(0, 2)), draw(shapes)),
        *members("worker", draw(st.integers(1, 4)), draw(shapes)),
    ]


@given(
    node_lists,
    mixed(),
    levels,
    relations,
    st.sampled_from(["", RACK]),
    st.none() | st.integers(0, 4),
)
def test_a_required_gang_never_spans_domains_nor_do_its_spares(
    rows, gang, level, related, key, home
):
    room = room_of(rows)
    already = [] if home is None else [placed("worker", 9, f"n{home}")]
    options = {"relations": related, "topology_key": key, "already": already}
    result = place(gang, room, topology=asked(level), **options)
    if isinstance(result, Unschedulable):
        assert result.reason.message
        assert result.detail
        return
    nodes = {*result.nodes.values(), *(name for names in result.spares.values() for name in names)}
    nodes |= {f"n{home}"} & room.index.keys()
    found = {domain(room, node, level) for node in nodes}
    assert len(found) == 1
    assert None not in found


@given(node_lists, mixed(), levels, relations, st.booleans())
def test_a_placed_gang_fits_by_brute_force(rows, gang, level, related, required):
    room = room_of(rows)
    result = place(gang, room, relations=related, topology=asked(level, required=required))
    if isinstance(result, Unschedulable):
        return
    after = room
    for pod in gang:
        index = room.index[result.nodes[pod.uid]]
        assert after.feasible(pod.shape)[index]
        after = after.with_pods([(pod.shape, index)])
    assert (after.used == result.node_table.used).all()
    assert after.ports == result.node_table.ports
    for pod in gang:
        spares = [room.index[name] for name in result.spares[pod.uid]]
        assert after.feasible(pod.shape)[spares].all()


@given(node_lists, mixed(), levels, relations)
def test_a_preferred_level_never_keeps_a_gang_waiting(rows, gang, level, related):
    room = room_of(rows)
    plain = place(gang, room, relations=related)
    result = place(gang, room, relations=related, topology=asked(level, required=False))
    assert isinstance(result, Placement) or isinstance(plain, Unschedulable)


@given(node_lists, shapes, st.integers(1, 5), levels)
def test_a_preferred_level_is_kept_wherever_a_required_one_could_be(rows, shape, count, level):
    room, gang = room_of(rows), gang_of(shape, count)
    must = place(gang, room, topology=asked(level))
    if isinstance(must, Placement):
        should = place(gang, room, topology=asked(level, required=False))
        assert isinstance(should, Placement)
        assert (should.nodes, should.domain) == (must.nodes, must.domain)


@given(node_lists, shapes, st.integers(1, 4))
def test_pods_that_are_alike_are_spread_over_the_fewest_racks_there_can_be(rows, shape, count):
    rows = [{**row, "rack": row["rack"] or "r9", "zone": ""} for row in rows]
    room = room_of(rows)
    result = place(gang_of(shape, count), room, topology=asked("rack", required=False))
    if isinstance(result, Unschedulable):
        return
    fewest = min(
        len({rows[node]["rack"] for node in nodes})
        for nodes in product(range(len(rows)), repeat=count)
        if one_by_one(shape, nodes, room)
    )
    assert len({domain(room, node, "rack") for node in result.nodes.values()}) == fewest


def one_by_one(shape, nodes, room):
    for node in nodes:
        if not room.feasible(shape)[node]:
            return False
        room = room.with_pods([(shape, node)])
    return True


@given(node_lists, shapes, st.integers(1, 5), levels, st.data())
def test_more_room_never_turns_yes_into_no(rows, shape, count, level, data):
    gang = gang_of(shape, count)
    assume(isinstance(place(gang, room_of(rows), topology=asked(level)), Placement))
    more = [dict(row) for row in rows]
    data.draw(st.sampled_from(more))["cpu"] += 2
    more += data.draw(st.lists(node_rows, max_size=2))
    assert isinstance(place(gang, room_of(more), topology=asked(level)), Placement)


@given(
    node_lists, mixed(), levels, relations, st.booleans(), st.sampled_from([2, 16]), st.randoms()
)
def test_the_order_of_nodes_and_pods_in_the_input_does_not_matter(
    rows, gang, level, related, required, tries, random
):
    options = {
        "relations": related,
        "topology": asked(level, required=required),
        "levels": TopologyParameters(most_tries=tries),
    }
    one = place(gang, room_of(rows), **options)
    shuffled = random.sample(gang, len(gang))
    other = place(shuffled, room_of(rows, reverse=True), **options)
    if isinstance(one, Unschedulable):
        assert other == one
    else:
        assert isinstance(other, Placement)
        assert (other.nodes, other.order, other.spares) == (one.nodes, one.order, one.spares)
        assert (other.rule, other.domain) == (one.rule, one.domain)


@given(node_lists, shapes, st.integers(2, 6), levels)
def test_a_refusal_says_truly_how_many_fit_in_the_best_domain(rows, shape, count, level):
    room = room_of(rows)
    result = place(gang_of(shape, count), room, topology=asked(level))
    if isinstance(result, Placement) or not result.detail[:1].isdigit():
        return
    if result.reason == "TopologyPlacementFailed":
        fit = int(result.detail.partition(" ")[0])
        assert fit < count
        assert fit == 0 or by_hand(shape, fit, room, level)
        assert not by_hand(shape, fit + 1, room, level)


def capacity_by_hand(shape, room, rack):
    """Return how many pods of the shape a rack holds."""
    held, here = 0, room
    for index, node in enumerate(room.nodes):
        while domain(room, node.name, "rack") == rack and here.feasible(shape)[index] and held < 9:
            here, held = here.with_pods([(shape, index)]), held + 1
    return held


@given(node_lists, shapes, st.integers(2, 6))
def test_a_spread_gang_is_in_equal_parts_wherever_the_fewest_racks_can_hold_such(
    rows, shape, count
):
    labelled = [{**row, "zone": "a", "rack": row["rack"] or "r1"} for row in rows]
    room, gang = room_of(labelled), members("worker", count, shape)
    result = place(gang, room, topology=Wanted(INDEX["rack"], required=False))
    found = {domain(room, node.name, "rack") for node in room.nodes}
    holds = sorted((capacity_by_hand(shape, room, rack) for rack in found), reverse=True)
    assert isinstance(result, Placement) == (sum(holds) >= count)
    if isinstance(result, Placement):
        parts = next(k for k in range(1, len(holds) + 1) if sum(holds[:k]) >= count)
        sizes = sorted((count // parts + (i < count % parts) for i in range(parts)), reverse=True)
        racks = [domain(room, node, "rack") for node in result.nodes.values()]
        got = sorted((racks.count(rack) for rack in set(racks)), reverse=True)
        assert len(got) == parts
        if all(has >= size for has, size in zip(holds, sizes, strict=False)):
            assert got == sizes


@given(node_lists, shapes, st.integers(1, 5))
def test_a_required_level_holds_whatever_is_preferred_inside_it(rows, shape, count):
    room, gang = room_of(rows), members("worker", count, shape)
    both = Wanted(INDEX["zone"], required=True, inside=INDEX["rack"])
    result = place(gang, room, topology=both)
    assert isinstance(result, Placement) == by_hand(shape, count, room, "zone")
    if isinstance(result, Placement):
        assert len({domain(room, node, "zone") for node in result.nodes.values()}) == 1
        (zone,) = {domain(room, node, "zone") for node in result.nodes.values()}
        inside = [row for row in rows if row["zone"] == zone]
        if by_hand(shape, count, room_of(inside), "rack"):
            assert len({domain(room, node, "rack") for node in result.nodes.values()}) == 1
