"""Laws of slices and of sets of pods, against brute force on small clusters."""

from itertools import product

from hypothesis import given
from hypothesis import strategies as st

from extender.core.cluster import job_views
from extender.core.parameters.combined import CoreParameters
from extender.core.parameters.placement import TopologyParameters
from extender.core.placement import planner, topology
from extender.core.placement.placement import Placement, Unschedulable
from extender.core.placement.slice_parts import Layer, WantedSlices
from extender.core.placement.topology import Wanted
from shared import labels
from tests.fakes.builders import make_pod
from tests.property.test_topology import domain, mixed, node_lists, room_of, shapes
from tests.unit.core.clusters import snapshot_of
from tests.unit.core.policies.gangs import members, place, placed
from tests.unit.core.policies.racks import INDEX

slice_sizes = st.integers(1, 3)


def in_slices(level, size, *, whole=None, required=True):
    slices = WantedSlices((Layer(INDEX[level], size),))
    return Wanted(INDEX[whole or level], whole is not None and required, slices=slices)


def slices_by_hand(shape, count, size, room, level, whole=None):
    """Return by brute force whether the slices fit, each in one domain, all in one of ``whole``."""
    names = [node.name for node in room.nodes]
    own = [domain(room, name, level) for name in names]
    outer = [domain(room, name, whole) if whole else "" for name in names]
    sizes = [min(size, count - at) for at in range(0, count, size)]
    for places in product(sorted({d for d in own if d is not None}, key=str), repeat=len(sizes)):
        for around in {one for one in outer if one is not None}:
            here = room
            for place_, pods in zip(places, sizes, strict=True):
                for at in range(len(names)):
                    while pods and (own[at], outer[at]) == (place_, around):
                        if not here.feasible(shape)[at]:
                            break
                        here, pods = here.with_pods([(shape, at)]), pods - 1  # noqa: PLW2901
                if pods:
                    break
            else:
                return True
    return False


@given(
    node_lists,
    shapes,
    st.integers(1, 6),
    slice_sizes,
    st.sampled_from([("rack", None), ("rack", "zone"), ("rack", "rack"), ("hostname", "rack")]),
)
def test_slices_are_placed_if_and_only_if_each_finds_a_domain(rows, shape, count, size, levels_):
    room, (level, whole) = room_of(rows), levels_
    gang = members("worker", count, shape)
    result = place(gang, room, topology=in_slices(level, size, whole=whole))
    assert isinstance(result, Placement) == slices_by_hand(shape, count, size, room, level, whole)
    if isinstance(result, Placement):
        whole_ones = {domain(room, node, whole) if whole else "" for node in result.nodes.values()}
        assert len(whole_ones) == 1
        assert None not in whole_ones


@given(node_lists, shapes, st.integers(1, 6), slice_sizes, st.data())
def test_each_slice_with_its_spares_and_its_other_members_is_in_one_rack(
    rows, shape, count, size, data
):
    room = room_of(rows)
    at = data.draw(st.dictionaries(st.integers(0, 7), st.integers(0, len(rows) - 1), max_size=3))
    already = [placed("worker", index, f"n{node}") for index, node in at.items()]
    gang = [pod for pod in members("worker", count + 2, shape) if pod.index not in at]
    result = place(gang, room, already=already, topology=in_slices("rack", size))
    if isinstance(result, Unschedulable):
        assert result.detail
        return
    nodes = {pod.index: [result.nodes[pod.uid], *result.spares[pod.uid]] for pod in gang}
    for number in {index // size for index in nodes}:
        found = {
            domain(room, node, "rack")
            for index, names in (nodes | {i: [f"n{n}"] for i, n in at.items()}).items()
            for node in names
            if index // size == number
        }
        assert len(found) == 1
        assert None not in found
        assert all(result.held_in[p.uid].name for p in gang)


@given(node_lists, mixed(), slice_sizes, st.sampled_from([None, "zone"]), st.randoms())
def test_slices_of_several_shapes_hold_too_and_the_order_of_the_input_does_not_matter(
    rows, gang, size, whole, random
):
    room, asked_ = room_of(rows), in_slices("rack", size, whole=whole)
    result = place(gang, room, topology=asked_)
    other = place(random.sample(gang, len(gang)), room_of(rows, reverse=True), topology=asked_)
    if isinstance(result, Unschedulable):
        assert other == result
        return
    assert isinstance(other, Placement)
    assert (other.nodes, other.spares) == (result.nodes, result.spares)
    parts = {}
    for pod in gang:
        found = domain(room, result.nodes[pod.uid], "rack")
        parts.setdefault((pod.role, pod.index // size), set()).add(found)
    assert all(len(found) == 1 and None not in found for found in parts.values())
    after = room
    for pod in gang:
        index = room.index[result.nodes[pod.uid]]
        assert after.feasible(pod.shape)[index]
        after = after.with_pods([(pod.shape, index)])


@given(node_lists, shapes, st.integers(2, 6), slice_sizes)
def test_a_refusal_says_truly_how_many_slices_fit(rows, shape, count, size):
    room = room_of(rows)
    result = place(members("worker", count, shape), room, topology=in_slices("rack", size))
    if isinstance(result, Placement) or " slices of " not in result.detail:
        return
    held, total = int(result.detail.split()[0]), -(-count // size)
    assert held < total
    whole = count // size  # the last slice, if smaller, is placed last
    if held and held <= whole:
        assert slices_by_hand(shape, held * size, size, room, "rack")
    if held < whole:
        assert not slices_by_hand(shape, (held + 1) * size, size, room, "rack")


@given(node_lists, shapes, shapes, st.integers(1, 2), st.integers(1, 4), slice_sizes)
def test_sets_of_pods_keep_what_each_requires(rows, of_ps, of_worker, ps, workers, size):
    room = room_of(rows)
    request = {
        "ps": {labels.REQUIRED_TOPOLOGY: "rack"},
        "worker": {labels.SLICE_REQUIRED_TOPOLOGY: "rack", labels.SLICE_SIZE: str(size)},
    }
    pods = [
        make_pod(f"{role}-{i}", job="j", role=role, index=i, gated=True, shape=shape,
                 annotations=request[role] | {labels.MIN_AVAILABLE: str(ps + workers)})
        for role, count, shape in (("ps", ps, of_ps), ("worker", workers, of_worker))
        for i in range(count)
    ]  # fmt: skip
    job = view_of(pods)
    result = planner.place_members(job, job.members, room, CoreParameters())
    if isinstance(result, Unschedulable):
        return
    racks = {m.pod.name: domain(room, result.nodes[m.pod.uid], "rack") for m in job.members}
    assert len({racks[f"ps-{i}"] for i in range(ps)}) == 1
    for number in range(-(-workers // size)):
        assert len({racks[f"worker-{i}"] for i in range(workers) if i // size == number}) == 1
    assert None not in racks.values()
    after = room
    for member in job.members:
        index = room.index[result.nodes[member.pod.uid]]
        assert after.feasible(member.shape)[index]
        after = after.with_pods([(member.shape, index)])
    for member in job.members:
        spares = [room.index[name] for name in result.spares[member.pod.uid]]
        assert after.feasible(member.shape)[spares].all()
    targets = {m.pod.uid: result.nodes[m.pod.uid] for m in job.members}
    assert topology.keeps(job, targets, room, TopologyParameters())


def view_of(pods):
    snapshot = snapshot_of(*pods)
    return job_views.view(snapshot, next(iter(snapshot.jobs)))
