"""Objects of dynamic resource allocation: what of the JSON counts."""

import json
from typing import Any

import msgspec
import pytest

from shared.devices import DeviceId, DeviceRequest, Version
from shared.kube import devices
from shared.kube.errors import OddObjectError
from shared.kube.parse import decode_pod
from shared.model import Entity, NodeName, PodClaim, Taint, Toleration, Uid
from tests.fakes.builders import (
    make_claim_template,
    make_device,
    make_device_claim,
    make_device_class,
    make_slice,
)

META = {"name": "x", "namespace": "default", "uid": "u"}


def body(spec: dict[str, Any] | None = None, **more: Any) -> bytes:
    return json.dumps({"metadata": META, **({"spec": spec} if spec else {}), **more}).encode()


def test_a_device_class_is_read() -> None:
    selectors = [{"cel": {"expression": "true"}}]
    meta = {"name": "gpu", "uid": "u", "creationTimestamp": "1970-01-01T00:00:09Z"}
    spec = {"extendedResourceName": "example.com/gpu", "selectors": selectors}
    found = devices.decode_class(json.dumps({"metadata": meta, "spec": spec}).encode())
    assert found == make_device_class("gpu", created_at=9.0, uid="u", selectors=["true"])
    assert devices.decode_class(b'{"metadata": {"name": "bare"}}').extended_resource == ""


def test_a_slice_is_read() -> None:
    spec = {
        "driver": "gpu.example.com",
        "nodeName": "n",
        "pool": {"name": "p", "generation": 3, "resourceSliceCount": 2},
        "devices": [
            {
                "name": "gpu-0",
                "attributes": {
                    "model": {"string": "A100"},
                    "index": {"int": 0},
                    "mig": {"bool": False},
                    "driverVersion": {"version": "1.0.0"},
                },
                "capacity": {"memory": {"value": "40Gi"}},
                "taints": [{"key": "ill", "effect": "NoSchedule"}],
            }
        ],
    }
    found = devices.decode_slice(body(spec))
    attributes = {"model": "A100", "index": 0, "mig": False, "driverVersion": Version("1.0.0")}
    taints = [Taint("ill", "", "NoSchedule")]
    device = make_device(attributes=attributes, capacity={"memory": "40Gi"}, taints=taints)
    assert found.devices == (device,)
    assert (found.node, found.pool, found.generation, found.pool_slices) == ("n", "p", 3, 2)
    assert found.special == ""


SPECIAL = {
    "all nodes": ({"allNodes": True}, "devices of several nodes"),
    "a node selector": ({"nodeSelector": {}}, "devices of several nodes"),
    "each device has its node": ({"perDeviceNodeSelection": True}, "devices of several nodes"),
    "counters alone are no devices": ({"sharedCounters": [{"name": "c"}]}, ""),
}


@pytest.mark.parametrize(("spec", "special"), SPECIAL.values(), ids=SPECIAL)
def test_a_slice_that_is_not_of_one_node_says_so(spec: dict[str, Any], special: str) -> None:
    found = devices.decode_slice(body({"driver": "d", "devices": [{"name": "x"}], **spec}))
    assert (found.node, found.special) == (NodeName(""), special)


DEVICES = {
    "counters": ({"consumesCounters": [{"counterSet": "c"}]}, "partitionable devices"),
    "shared": ({"allowMultipleAllocations": True}, "devices that several claims share"),
    "conditions": ({"bindingConditions": ["ready"]}, "devices with binding conditions"),
    "other resources": (
        {"nodeAllocatableResourceMappings": {"cpu": {}}},
        "devices that take a node's other resources",
    ),
    "plain": ({}, ""),
}


@pytest.mark.parametrize(("more", "special"), DEVICES.values(), ids=DEVICES)
def test_a_device_that_is_more_than_one_device_says_so(more: dict[str, Any], special: str) -> None:
    found = devices.decode_slice(body({"nodeName": "n", "devices": [{"name": "x", **more}]}))
    assert found.devices[0].special == special


def template(*requests: dict[str, Any], **more: Any) -> bytes:
    return body({"spec": {"devices": {"requests": list(requests), **more}}})


def test_a_template_is_read() -> None:
    exactly = {
        "deviceClassName": "gpu",
        "count": 2,
        "selectors": [{"cel": {"expression": "true"}}],
        "tolerations": [{"key": "ill", "operator": "Exists"}],
    }
    found = devices.decode_template(template({"name": "r", "exactly": exactly}))
    wanted = DeviceRequest(
        device_class="gpu",
        count=2,
        selectors=("true",),
        tolerations=(Toleration("ill", "Exists"),),
    )
    assert (found.key, found.requests, found.special) == ("default/x", (wanted,), "")


EXACTLY = {"deviceClassName": "gpu"}
UNREAD = {
    "alternatives": (
        template({"name": "r", "firstAvailable": [{}]}),
        "firstAvailable of request r",
    ),
    "all devices": (
        template({"name": "r", "exactly": {**EXACTLY, "allocationMode": "All"}}),
        "allocationMode All of request r",
    ),
    "admin access": (
        template({"name": "r", "exactly": {**EXACTLY, "adminAccess": True}}),
        "adminAccess of request r",
    ),
    "capacity": (
        template({"name": "r", "exactly": {**EXACTLY, "capacity": {"requests": {}}}}),
        "capacity of request r",
    ),
    "constraints": (
        template({"name": "r", "exactly": EXACTLY}, constraints=[{"matchAttribute": "a/b"}]),
        "constraints",
    ),
}


@pytest.mark.parametrize(("data", "special"), UNREAD.values(), ids=UNREAD)
def test_a_template_that_requests_more_than_a_number_says_so(data: bytes, special: str) -> None:
    assert devices.decode_template(data).special == special


RESULT = {"request": "r", "driver": "d", "pool": "p", "device": "x"}


def claim(*results: dict[str, Any], **meta: Any) -> bytes:
    status = {"allocation": {"devices": {"results": list(results)}}}
    return json.dumps({"metadata": {**META, **meta}, "status": status}).encode()


def test_a_claim_has_its_devices_and_its_pod() -> None:
    owner = {"kind": "Pod", "name": "p", "uid": "pod-uid", "apiVersion": "v1", "controller": True}
    notes = {devices.POD_CLAIM: "gpu"}
    found = devices.decode_claim(claim(RESULT, ownerReferences=[owner], annotations=notes))
    assert (found.pod, found.pod_claim, found.allocated) == (Uid("pod-uid"), "gpu", True)
    assert found.devices == (DeviceId("d", "p", "x"),)


def test_what_a_claim_does_not_have_alone_is_not_taken() -> None:
    shared = {**RESULT, "shareID": "s"}
    watched = {**RESULT, "adminAccess": True}
    assert devices.decode_claim(claim(shared, watched)).devices == ()


def test_a_claim_without_an_allocation_has_nothing() -> None:
    found = devices.decode_claim(json.dumps({"metadata": META}).encode())
    assert (found.allocated, found.devices, found.pod) == (False, (), "")


@pytest.mark.parametrize(
    "decode",
    [
        devices.decode_class,
        devices.decode_slice,
        devices.decode_template,
        devices.decode_claim,
    ],
)
def test_what_cannot_be_read_names_the_object(decode: Any) -> None:
    with pytest.raises(OddObjectError, match="default/x"):
        decode(json.dumps({"metadata": META, "spec": 3, "status": 3}).encode())


def test_a_pod_names_its_claims_and_those_without_a_template_are_not_modelled() -> None:
    named = {"name": "a", "resourceClaimTemplateName": "t"}
    by_name = {"name": "b", "resourceClaimName": "c"}
    spec = {"resourceClaims": [named], "containers": []}
    pod = decode_pod(body(spec))
    assert (pod.device_claims, pod.shape.unmodelled) == ((PodClaim("a", "t"),), ())
    both = decode_pod(body({**spec, "resourceClaims": [named, by_name]}))
    assert (both.device_claims, both.shape.unmodelled) == (pod.device_claims, ("resourceClaims",))


ENTITIES: list[Entity] = [
    make_device_class("gpu", selectors=["true"]),
    make_slice("n", [make_device(attributes={"a": True, "b": 1, "c": "s", "d": Version("1.0.0")})]),
    make_claim_template("t"),
    make_device_claim("c", ("n", "gpu-0"), pod="u"),
]


@pytest.mark.parametrize("entity", ENTITIES, ids=lambda entity: type(entity).__name__)
def test_the_decision_log_gives_back_the_same(entity: Entity) -> None:
    assert msgspec.json.decode(msgspec.json.encode(entity), type=Entity) == entity
