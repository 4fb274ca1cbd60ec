"""Columns of devices hold exactly where every request finds devices: brute force is the oracle.

Random devices, kinds and requests on one node. Where the kinds are modelled, a pod more fits by the
columns if and only if the devices can be given out; and kube-scheduler's first fit then finds them.
"""

from collections.abc import Mapping, Sequence
from itertools import combinations

from hypothesis import given
from hypothesis import strategies as st

from extender.core.cluster import pod_shape
from shared.model import Delete, Entity, NodeName, PodClaim, Upsert
from shared.objects.devices import Constraint, DeviceRequest
from tests.fakes.builders import make_node, make_pod
from tests.fakes.device_builders import (
    make_claim_template,
    make_device,
    make_device_claim,
    make_device_class,
    make_named_claim,
    make_slice,
    make_taint_rule,
)
from tests.unit.core.clusters import snapshot_of, store_of

ATTRIBUTE = 'device.attributes["gpu.example.com"]'
KINDS: Mapping[str, tuple[str, ...]] = {
    "any": (),
    "small": (f'{ATTRIBUTE}.size == "s"',),
    "large": (f'{ATTRIBUTE}.size == "l"',),
    "not-small": (f'{ATTRIBUTE}.size != "s"',),
    "first": (f"{ATTRIBUTE}.index < 2",),
}
CLASS = make_device_class("gpu", resource="", selectors=['device.driver == "gpu.example.com"'])
NODE = NodeName("n")
PLACES = (None, str(NODE), str(NODE))
sizes = st.lists(st.sampled_from("sl"), min_size=1, max_size=5)
pods = st.lists(
    st.lists(st.tuples(st.sampled_from(sorted(KINDS)), st.integers(1, 3)), min_size=1, max_size=2),
    max_size=3,
)


def accepts(kind: str, size: str, index: int) -> bool:
    by_hand = {
        "any": True,
        "small": size == "s",
        "large": size == "l",
        "not-small": size != "s",
        "first": index < 2,
    }
    return by_hand[kind]


def possible(wanted: Sequence[frozenset[int]], free: frozenset[int]) -> bool:
    """Return True if each of the wanted sets gets a device of its own."""
    if not wanted:
        return True
    return any(possible(wanted[1:], free - {device}) for device in wanted[0] & free)


def first_fit(wanted: Sequence[tuple[frozenset[int], int]], free: frozenset[int]) -> frozenset[int]:
    """Return what is left when kube-scheduler has allocated a pod's requests, each in order.

    Raises:
        LookupError: It finds no devices.
    """
    if not wanted:
        return free
    accepted, count = wanted[0]
    for chosen in combinations(sorted(accepted & free), count):
        try:
            return first_fit(wanted[1:], free - set(chosen))
        except LookupError:
            continue
    raise LookupError


def cluster(
    of_devices: Sequence[str], requests: Sequence[Sequence[tuple[str, int]]]
) -> list[Entity]:
    devices = [
        make_device(f"gpu-{i}", attributes={"size": size, "index": i})
        for i, size in enumerate(of_devices)
    ]
    templates = [
        make_claim_template(
            f"t{i}",
            *(DeviceRequest(device_class="gpu", count=n, selectors=KINDS[kind]) for kind, n in one),
        )
        for i, one in enumerate(requests)
    ]
    return [make_node(NODE, cpu="64"), CLASS, make_slice(NODE, devices), *templates]


@given(sizes, pods, st.sets(st.integers(0, 4), max_size=2))
def test_pods_fit_by_columns_where_their_devices_can_be_given_out(
    of_devices: list[str], requests: list[list[tuple[str, int]]], held: set[int]
) -> None:
    claim = make_device_claim("held", *((NODE, f"gpu-{i}") for i in sorted(held)))
    members = [make_pod(f"p{i}", device_claims=[f"t{i}"]) for i in range(len(requests))]
    snapshot = snapshot_of(cluster(of_devices, requests), claim, members)
    table = snapshot.node_table
    free = frozenset(range(len(of_devices))) - held
    sets = [
        [
            (frozenset(i for i, size in enumerate(of_devices) if accepts(kind, size, i)), count)
            for kind, count in one
        ]
        for one in requests
    ]
    placed = list[frozenset[int]]()
    left: frozenset[int] | None = free
    for member, of_pod in zip(members, sets, strict=True):
        shape = pod_shape.shape(snapshot, member)
        if shape.unmodelled:
            return
        wanted = [accepted for accepted, count in of_pod for _ in range(count)]
        fits = bool(table.feasible(shape)[0])
        assert fits == possible([*placed, *wanted], free)
        if not fits:
            return
        placed += wanted
        table = table.with_pods([(shape, 0)])
        assert left is not None
        left = first_fit(of_pod, left)  # raises if kube-scheduler finds none


@given(sizes, pods, st.data())
def test_the_store_keeps_what_a_recomputation_gives(
    of_devices: list[str], requests: list[list[tuple[str, int]]], data: st.DataObject
) -> None:
    """In whatever order slices, claims, templates and pods come, and whatever goes again."""
    members = [
        make_pod(f"p{i}", device_claims=[f"t{i}"], node=NODE, requests={"example.com/gpu": "1"})
        for i in range(len(requests))
    ]
    claims: list[Entity] = [
        make_device_claim(f"c{i}", (NODE, f"gpu-{i}"), pod=pod.uid, pod_claim=f"from-t{i}")
        for i, pod in enumerate(members)
    ]
    served = make_device_class("served", created_at=1.0)
    shared = PodClaim("shared", claim="x")
    alike = [Constraint(attribute="gpu.example.com/size")]
    more: list[Entity] = [
        make_named_claim("x", node=data.draw(st.none() | st.just(str(NODE)))),
        make_claim_template("alike", constraints=alike),
        *(make_pod(f"s{i}", device_claims=[shared, "alike"], node=n) for i, n in enumerate(PLACES)),
    ]
    rules = [make_taint_rule("all"), make_taint_rule("one", pool=NODE, device="gpu-0")]
    rules += [make_taint_rule("named", device="gpu-1")]
    rules += [make_taint_rule("driver", driver="gpu.example.com")]
    entities = [*cluster(of_devices, requests), served, *members, *claims, *more, *rules]
    store = store_of()
    for entity in data.draw(st.permutations(entities)):
        store.apply(Upsert(entity))
        if data.draw(st.booleans()):
            store.snapshot()
    store.check_invariants()
    for gone in data.draw(st.lists(st.sampled_from(entities), unique_by=id, max_size=3)):
        store.apply(Delete(type(gone).__name__, gone.key, getattr(gone, "uid", "")))
        store.check_invariants()
