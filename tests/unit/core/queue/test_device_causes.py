"""What of devices is not planned: each cause that docs/gpus.md names, as a user meets it."""

from collections.abc import Sequence

import pytest

from extender.core.nodes.device_columns import MOST_KINDS
from extender.store.device_groups import MOST_APART
from shared.model import Entity, PodClaim, Uid
from shared.objects.devices import Constraint, Device, DeviceRequest
from tests.fakes.builders import make_node, make_pod
from tests.fakes.device_builders import (
    make_claim_template,
    make_device,
    make_device_class,
    make_named_claim,
    make_slice,
)
from tests.unit.core.clusters import queued_job
from tests.unit.core.queue.test_claims import (
    ATTRIBUTE,
    PAIR,
    SHARED,
    SLICES,
    cause,
    first_of,
    job,
    models,
    of_model,
    switches,
    template,
)

Entities = Sequence[Entity | list[Entity]]
GPU = "example.com/gpu"
SERVED = make_device_class("served", resource=GPU)
ALIKE = Constraint(attribute="gpu.example.com/switch")


def indexed(count: int, node: str = "a") -> Entity:
    return make_slice(node, [make_device(f"d{i}", attributes={"index": i}) for i in range(count)])


def selecting(expression: str) -> Entity:
    return template(DeviceRequest(name="r", device_class="gpu", selectors=(expression,)))


def by_resource(*devices: Device, **more: object) -> Entities:
    """A job that requests devices by an extended resource."""
    gang = queued_job("j", 1, requests={GPU: "1"})
    return [make_slice("a", devices, **more), SERVED, gang]


def switched(*switches: int, every: bool, count: int = 1) -> Entities:
    """A job whose devices have to be on one switch."""
    devices = [make_device(f"d{i}", attributes={"switch": s}) for i, s in enumerate(switches)]
    wanted = DeviceRequest(name="r", device_class="gpu", count=count, every=every)
    return [make_slice("a", devices), template(wanted, constraints=[ALIKE]), job(1)]


def loops(depth: int) -> str:
    """Return an expression of so many loops inside each other, five turns each."""
    body = f"{ATTRIBUTE}.index >= 0"
    for level in range(depth):
        body = f"[1, 2, 3, 4, 5].all(x{level}, {body})"
    return body


def kinds(count: int) -> Entities:
    """A job of which each pod claims devices of so many kinds."""
    names = [f"k{number}" for number in range(count)]
    requests = [DeviceRequest(device_class="gpu", selectors=(f"{i} == {i}",)) for i in range(count)]
    templates = [make_claim_template(n, r) for n, r in zip(names, requests, strict=True)]
    return [make_slice("a", count), templates, queued_job("j", 1, device_claims=names)]


INDEX_0 = DeviceRequest(device_class="gpu", selectors=(f"{ATTRIBUTE}.index == 0",))
SINGLE = make_claim_template("single")
SITUATIONS: dict[str, list[Entities]] = {
    "it shares some of its devices with": [
        [
            indexed(2),
            make_claim_template("t", INDEX_0),
            SINGLE,
            make_pod("w", device_claims=["single"]),
            job(1),
        ],
        [
            switches("a", 0, 0, 1, 1),
            template(PAIR, constraints=[ALIKE]),
            SINGLE,
            make_pod("w", device_claims=["single"]),
            job(1),
        ],
    ],
    "the pod has two such claims": [
        [
            models("a", "H100", "H100"),
            first_of(of_model("H100"), of_model("A100", 2)),
            queued_job("j", 1, device_claims=[PodClaim("a", "t"), PodClaim("b", "t")]),
        ]
    ],
    "several jobs, or not all pods of a job, name it": [
        [SLICES, make_named_claim("x"), make_pod("o", device_claims=[SHARED]), job(2, SHARED)]
    ],
    "does not exist": [
        [SLICES, job(2, SHARED)],
        [SLICES, job(1)],
        [template(DeviceRequest(device_class="tpu")), job(1)],
    ],
    "it is being deleted": [[SLICES, make_named_claim("x", deleting=True), job(1, SHARED)]],
    "it belongs to another pod": [[SLICES, make_named_claim("x", pod=Uid("o")), job(1, SHARED)]],
    "more than 256 pods name it": [
        [
            SLICES,
            make_named_claim("x", users=tuple(Uid(str(i)) for i in range(256))),
            job(1, SHARED),
        ]
    ],
    "partitionable devices": [by_resource(make_device(counters={"c": {"slices": "1"}}))],
    "devices that several claims share": [by_resource(make_device(shared=True))],
    "partitionable devices of several nodes": [
        [
            *(
                make_slice(
                    node,
                    [make_device(node, counters={"c": {"slices": "1"}})],
                    pool="both",
                    pool_slices=2,
                    counters={"c": {"slices": "2"}},
                )
                for node in "ab"
            ),
            template(DeviceRequest(device_class="gpu")),
            job(1),
        ]
    ],
    "more than 32 devices": [
        [SLICES, template(DeviceRequest(device_class="gpu", count=33)), job(1)]
    ],
    "a constraint that not all devices keep, and All": [switched(0, 1, every=True)],
    "the search for devices takes more than 4096 steps": [
        switched(*(i % 2 for i in range(30)), every=False, count=16)
    ],
    "devices with binding conditions": [
        by_resource(make_device(special="devices with binding conditions"))
    ],
    "devices that take a node's other resources": [
        by_resource(make_device(special="devices that take a node's other resources"))
    ],
    "devices of several nodes": [by_resource(make_device(), special="devices of several nodes")],
    "selector not read: more than 256 steps": [[indexed(1), selecting(loops(3)), job(1)]],
    "steps for all devices": [[indexed(128), selecting(loops(2)), job(1)]],
    "selector not read: it tells more than 512 nodes apart": [
        [
            *(make_node(f"n{i}") for i in range(MOST_APART + 1)),
            *(
                make_slice(f"n{i}", [make_device(attributes={"uuid": f"{i}"})])
                for i in range(MOST_APART + 1)
            ),
            selecting(f'{ATTRIBUTE}.uuid != "x"'),
            job(1),
        ]
    ],
    "selector not read: the function format()": [
        [SLICES, selecting("device.driver.format([]) == 'x'"), job(1)]
    ],
    "more than 32 kinds of devices are requested": [kinds(MOST_KINDS + 1)],
}
CASES = [(shown, found) for shown, several in SITUATIONS.items() for found in several]


@pytest.mark.parametrize(("shown", "entities"), CASES, ids=[shown for shown, _ in CASES])
def test_the_job_is_released_whole_without_a_pin_and_says_why(
    shown: str, entities: Entities
) -> None:
    assert shown in cause(*entities)
