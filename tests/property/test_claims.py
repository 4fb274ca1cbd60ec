"""Columns of claims hold as many as kube-scheduler can serve: brute force is the oracle.

Random devices and claims on one node. Of all ways to give a claim its devices, in the order in
which kube-scheduler tries them, it takes the first that is valid; then the next claim has its turn.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, product

from hypothesis import given
from hypothesis import strategies as st

from extender.core.cluster import pod_shape
from shared.model import NodeName
from shared.objects.devices import Constraint, Device, DeviceRequest
from tests.fakes.builders import make_node, make_pod
from tests.fakes.device_builders import (
    make_claim_template,
    make_device,
    make_device_claim,
    make_device_class,
    make_slice,
)
from tests.unit.core.clusters import snapshot_of

ATTRIBUTE = 'device.attributes["gpu.example.com"]'
CLASS = make_device_class("gpu", resource="", selectors=['device.driver == "gpu.example.com"'])
NODE = NodeName("n")
SLICES = 4
PODS = 5


@st.composite
def devices(draw: st.DrawFn, index: int, *, divided: bool) -> Device:
    size = draw(st.sampled_from("sl"))
    attributes: dict[str, int | str] = {"size": size}
    if draw(st.integers(0, 4)):
        attributes["switch"] = draw(st.integers(0, 2))
    counters = {"gpu": {"slices": str(draw(st.sampled_from([1, 2, 4])))}} if divided else None
    return make_device(f"d{index}", attributes=attributes, counters=counters)


@st.composite
def nodes(draw: st.DrawFn) -> list[Device]:
    divided = draw(st.booleans())
    return [draw(devices(i, divided=divided)) for i in range(draw(st.integers(1, 5)))]


@st.composite
def options(draw: st.DrawFn, name: str) -> DeviceRequest:
    size = draw(st.none() | st.sampled_from("sl"))
    return DeviceRequest(
        name=name,
        device_class="gpu",
        count=draw(st.integers(1, 2)),
        every=draw(st.integers(0, 4)) == 0,
        admin=draw(st.integers(0, 5)) == 0,
        selectors=() if size is None else (f'{ATTRIBUTE}.size == "{size}"',),
    )


@st.composite
def claims(draw: st.DrawFn) -> tuple[list[DeviceRequest], list[Constraint]]:
    requests = list[DeviceRequest]()
    for name in ("a", "b")[: draw(st.integers(1, 2))]:
        if draw(st.booleans()):
            requests.append(draw(options(name)))
        else:
            alternatives = (draw(options("x")), draw(options("y")))
            requests.append(DeviceRequest(name=name, alternatives=alternatives))
    constraints = list[Constraint]()
    if draw(st.booleans()):
        only = ("a",) if draw(st.booleans()) else ()
        distinct = draw(st.booleans())
        switch = "gpu.example.com/switch"
        constraints.append(Constraint(attribute=switch, requests=only, distinct=distinct))
    return requests, constraints


@dataclass(frozen=True)
class Given:
    """Devices that one alternative of a request is given."""

    request: str
    option: DeviceRequest
    devices: tuple[int, ...]


@dataclass
class Brute:
    """The devices of a node, and those that claims have alone."""

    devices: Sequence[Device]
    taken: frozenset[int]

    def serve(self, requests: Sequence[DeviceRequest], constraints: Sequence[Constraint]) -> bool:
        """Give one claim its devices; return False if it finds none."""
        for ways in product(*(list(self._ways(request)) for request in requests)):
            if self._valid(ways, constraints):
                self.taken |= {d for way in ways if not way.option.admin for d in way.devices}
                return True
        return False

    def _ways(self, request: DeviceRequest) -> Iterator[Given]:
        for option in request.alternatives or (request,):
            accepted = [i for i, device in enumerate(self.devices) if _accepts(option, device)]
            if option.every:
                if accepted:
                    yield Given(request.name, option, tuple(accepted))
                continue
            for chosen in combinations(accepted, option.count):
                yield Given(request.name, option, chosen)

    def _valid(self, ways: Sequence[Given], constraints: Sequence[Constraint]) -> bool:
        everything = [device for way in ways for device in way.devices]
        own = [device for way in ways if not way.option.admin for device in way.devices]
        if len(set(everything)) < len(everything) or not self.taken.isdisjoint(own):
            return False
        slices = sum(_slices(self.devices[i]) for i in (*everything, *self.taken))
        if any(_slices(self.devices[i]) for i in everything) and slices > SLICES:
            return False
        return all(self._holds(constraint, ways) for constraint in constraints)

    def _holds(self, constraint: Constraint, ways: Sequence[Given]) -> bool:
        values = [
            dict(self.devices[i].attributes).get("switch")
            for way in ways
            if not constraint.requests or way.request in constraint.requests
            for i in way.devices
        ]
        different = len(values) if constraint.distinct else min(1, len(values))
        return None not in values and len(set(values)) == different


def _accepts(option: DeviceRequest, device: Device) -> bool:
    size = str(dict(device.attributes)["size"])
    return all(f'"{size}"' in selector for selector in option.selectors)


def _slices(device: Device) -> int:
    return sum(int(amount) for _, of in device.counters for _, amount in of)


@given(nodes(), claims(), st.sets(st.integers(0, 4), max_size=2))
def test_claims_fit_as_often_as_they_can_be_served(
    of_node: list[Device],
    claim: tuple[list[DeviceRequest], list[Constraint]],
    held: set[int],
) -> None:
    requests, constraints = claim
    held = {i for i in held if i < len(of_node)}
    template = make_claim_template("t", *requests, constraints=constraints)
    holding = make_device_claim("held", *((NODE, f"d{i}") for i in sorted(held)))
    pods = [make_pod(f"p{i}", device_claims=["t"]) for i in range(PODS)]
    published = make_slice(NODE, of_node, counters={"gpu": {"slices": str(SLICES)}})
    node = make_node(NODE, cpu="64")
    snapshot = snapshot_of([node, CLASS, template, published], holding, pods)
    table, brute = snapshot.node_table, Brute(of_node, frozenset(held))
    for pod in pods:
        shape = pod_shape.shape(snapshot, pod)
        if shape.unmodelled:
            assert constraints
            assert any(o.every for r in requests for o in r.alternatives or (r,))
            return
        fits = bool(table.feasible(shape)[0])
        assert fits == brute.serve(requests, constraints)
        if not fits:
            return
        table = table.with_pods([(shape, 0)])


@given(nodes(), claims(), st.integers(0, 3))
def test_pods_that_wait_for_their_devices_count_as_if_they_had_them(
    of_node: list[Device], claim: tuple[list[DeviceRequest], list[Constraint]], placed: int
) -> None:
    requests, constraints = claim
    template = make_claim_template("t", *requests, constraints=constraints)
    published = make_slice(NODE, of_node, counters={"gpu": {"slices": str(SLICES)}})
    brute = Brute(of_node, frozenset())
    for number in range(placed):
        if not brute.serve(requests, constraints):
            placed = number
            break
    holders = [
        make_pod(f"h{i}", device_claims=["t"], reservation=NODE, job="h") for i in range(placed)
    ]
    pod = make_pod("p", device_claims=["t"])
    node = make_node(NODE, cpu="64")
    snapshot = snapshot_of([node, CLASS, template, published], holders, pod)
    shape = pod_shape.shape(snapshot, pod)
    fits = bool(snapshot.node_table.feasible(shape)[0])
    assert shape.unmodelled or fits == brute.serve(requests, constraints)
