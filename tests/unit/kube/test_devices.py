"""Objects of dynamic resource allocation: what of the JSON counts."""

import json
from typing import Any

import msgspec
import pytest

from shared.kube import device_claims, devices
from shared.kube.errors import OddObjectError
from shared.kube.parse import decode_pod
from shared.model import (
    Entity,
    NodeName,
    NodeSelectorTerm,
    PodClaim,
    Requirement,
    Taint,
    Toleration,
    Uid,
)
from shared.objects.devices import (
    CapacityPolicy,
    ClaimSpec,
    Constraint,
    DeviceId,
    DeviceRequest,
    DeviceTaintRule,
    Version,
)
from tests.fakes.device_builders import (
    make_claim_template,
    make_device,
    make_device_claim,
    make_device_class,
    make_slice,
    make_taint_rule,
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


TAINT_RULES: dict[str, tuple[dict[str, Any], DeviceTaintRule]] = {
    "all names": (
        {"deviceSelector": {"driver": "d", "pool": "p", "device": "gpu-0"}},
        make_taint_rule(driver="d", pool="p", device="gpu-0"),
    ),
    "an empty selector selects all": ({"deviceSelector": {}}, make_taint_rule()),
    "no selector": ({}, make_taint_rule(selects=False)),
    "a selector of an alpha version": (
        {"deviceSelector": {"deviceClassName": "gpu"}},
        make_taint_rule(selects=False),
    ),
}


@pytest.mark.parametrize(("spec", "expected"), TAINT_RULES.values(), ids=TAINT_RULES)
def test_a_rule_of_taints_is_read(spec: dict[str, Any], expected: DeviceTaintRule) -> None:
    meta = {"name": "rule", "uid": "rule-rule"}
    taint = {"key": "ill", "effect": "NoSchedule"}
    raw = json.dumps({"metadata": meta, "spec": {**spec, "taint": taint}}).encode()
    assert devices.decode_taint_rule(raw) == expected


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


def test_what_devices_take_of_counters_and_give_of_their_capacity_is_read() -> None:
    policy = {"default": "1Gi", "validRange": {"min": "1Gi", "max": "8Gi", "step": "1Gi"}}
    device = {
        "name": "gpu-0",
        "allowMultipleAllocations": True,
        "capacity": {"memory": {"value": "8Gi", "requestPolicy": policy}},
        "consumesCounters": [{"counterSet": "c", "counters": {"slices": {"value": "2"}}}],
    }
    found = devices.decode_slice(body({"nodeName": "n", "devices": [device]}))
    expected = make_device(
        capacity={"memory": "8Gi"},
        counters={"c": {"slices": "2"}},
        shared=True,
        policies={"memory": CapacityPolicy(default="1Gi", least="1Gi", most="8Gi", step="1Gi")},
    )
    assert found.devices == (expected,)
    counters = [{"name": "c", "counters": {"slices": {"value": "7"}}}]
    found = devices.decode_slice(body({"nodeName": "n", "sharedCounters": counters}))
    assert found.counters == (("c", (("slices", "7"),)),)


def template(*requests: dict[str, Any], **more: Any) -> bytes:
    return body({"spec": {"devices": {"requests": list(requests), **more}}})


def test_a_template_is_read() -> None:
    exactly = {
        "deviceClassName": "gpu",
        "count": 2,
        "selectors": [{"cel": {"expression": "true"}}],
        "tolerations": [{"key": "ill", "operator": "Exists"}],
    }
    found = device_claims.decode_template(template({"name": "r", "exactly": exactly}))
    wanted = DeviceRequest(
        name="r",
        device_class="gpu",
        count=2,
        selectors=("true",),
        tolerations=(Toleration("ill", "Exists"),),
    )
    assert (found.key, found.spec) == ("default/x", ClaimSpec(requests=(wanted,)))


EXACTLY = {"deviceClassName": "gpu"}
MORE: dict[str, tuple[dict[str, Any], DeviceRequest]] = {
    "alternatives": (
        {"firstAvailable": [{"name": "a", **EXACTLY}, {"name": "b", **EXACTLY, "count": 2}]},
        DeviceRequest(
            name="r",
            alternatives=(
                DeviceRequest(name="a", device_class="gpu"),
                DeviceRequest(name="b", device_class="gpu", count=2),
            ),
        ),
    ),
    "all devices": (
        {"exactly": {**EXACTLY, "allocationMode": "All"}},
        DeviceRequest(name="r", device_class="gpu", every=True),
    ),
    "admin access": (
        {"exactly": {**EXACTLY, "adminAccess": True}},
        DeviceRequest(name="r", device_class="gpu", admin=True),
    ),
    "capacity": (
        {"exactly": {**EXACTLY, "capacity": {"requests": {"memory": "1Gi"}}}},
        DeviceRequest(name="r", device_class="gpu", capacity=(("memory", "1Gi"),)),
    ),
}


@pytest.mark.parametrize(("request_", "expected"), MORE.values(), ids=MORE)
def test_a_request_for_more_than_a_number_is_read(
    request_: dict[str, Any], expected: DeviceRequest
) -> None:
    found = device_claims.decode_template(template({"name": "r", **request_}))
    assert found.spec == ClaimSpec(requests=(expected,))


def test_constraints_are_read() -> None:
    constraints = [
        {"matchAttribute": "a/b", "requests": ["r"]},
        {"distinctAttribute": "a/c"},
    ]
    data = template({"name": "r", "exactly": EXACTLY}, constraints=constraints)
    assert device_claims.decode_template(data).spec.constraints == (
        Constraint(attribute="a/b", requests=("r",)),
        Constraint(attribute="a/c", distinct=True),
    )


UNREAD = {
    "a request of another form": (template({"name": "r"}), "request r is of an unknown form"),
    "a mode of another name": (
        template({"name": "r", "exactly": {**EXACTLY, "allocationMode": "Half"}}),
        "allocationMode Half of request r",
    ),
    "derived attributes": (
        template({"name": "r", "exactly": {**EXACTLY, "derivedAttributes": [{}]}}),
        "derivedAttributes of request r",
    ),
    "a constraint of another form": (
        template({"name": "r", "exactly": EXACTLY}, constraints=[{}]),
        "a constraint of an unknown form",
    ),
}


@pytest.mark.parametrize(("data", "special"), UNREAD.values(), ids=UNREAD)
def test_a_template_of_a_later_version_says_what_is_not_read(data: bytes, special: str) -> None:
    assert device_claims.decode_template(data).spec.special == special


RESULT = {"request": "r", "driver": "d", "pool": "p", "device": "x"}


def claim(*results: dict[str, Any], **meta: Any) -> bytes:
    status = {"allocation": {"devices": {"results": list(results)}}}
    return json.dumps({"metadata": {**META, **meta}, "status": status}).encode()


def test_a_claim_has_its_devices_and_its_pod() -> None:
    owner = {"kind": "Pod", "name": "p", "uid": "pod-uid", "apiVersion": "v1", "controller": True}
    notes = {device_claims.POD_CLAIM: "gpu"}
    found = device_claims.decode_claim(claim(RESULT, ownerReferences=[owner], annotations=notes))
    assert (found.pod, found.pod_claim, found.allocated) == (Uid("pod-uid"), "gpu", True)
    assert found.devices == (DeviceId("d", "p", "x"),)


def test_what_a_claim_does_not_have_alone_is_not_taken() -> None:
    shared = {**RESULT, "shareID": "s", "consumedCapacity": {"memory": "1Gi"}}
    watched = {**RESULT, "adminAccess": True}
    found = device_claims.decode_claim(claim(shared, watched))
    assert found.devices == ()
    assert found.parts == ((DeviceId("d", "p", "x"), (("memory", "1Gi"),)),)


def test_a_claim_that_pods_may_name_says_what_it_requests_and_where_it_is() -> None:
    spec = {"devices": {"requests": [{"name": "r", "exactly": EXACTLY}]}}
    field = {"key": "metadata.name", "operator": "In", "values": ["n"]}
    nodes = {"nodeSelectorTerms": [{"matchFields": [field]}]}
    users = [{"resource": "pods", "name": "p", "uid": "u1"}]
    status = {"allocation": {"nodeSelector": nodes}, "reservedFor": users}
    meta = {**META, "deletionTimestamp": "2026-01-01T00:00:00Z"}
    raw = {"metadata": meta, "spec": spec, "status": status}
    found = device_claims.decode_claim(json.dumps(raw).encode())
    assert found.spec.requests == (DeviceRequest(name="r", device_class="gpu"),)
    assert (found.deleting, found.users, found.allocated) == (True, (Uid("u1"),), True)
    term = NodeSelectorTerm(fields=(Requirement("metadata.name", "In", ("n",)),))
    assert found.nodes == (term,)


def test_a_claim_without_an_allocation_has_nothing() -> None:
    found = device_claims.decode_claim(json.dumps({"metadata": META}).encode())
    assert (found.allocated, found.devices, found.pod) == (False, (), "")


@pytest.mark.parametrize(
    "decode",
    [
        devices.decode_class,
        devices.decode_slice,
        device_claims.decode_template,
        device_claims.decode_claim,
    ],
)
def test_what_cannot_be_read_names_the_object(decode: Any) -> None:
    with pytest.raises(OddObjectError, match="default/x"):
        decode(json.dumps({"metadata": META, "spec": 3, "status": 3}).encode())


def test_a_pod_names_its_claims() -> None:
    named = {"name": "a", "resourceClaimTemplateName": "t"}
    by_name = {"name": "b", "resourceClaimName": "c"}
    pod = decode_pod(body({"resourceClaims": [named, by_name], "containers": []}))
    assert pod.device_claims == (PodClaim("a", "t"), PodClaim("b", claim="c"))
    assert pod.shape.unmodelled == ()
    odd = decode_pod(body({"resourceClaims": [named, {"name": "later"}], "containers": []}))
    assert (odd.device_claims, odd.shape.unmodelled) == ((PodClaim("a", "t"),), ("resourceClaims",))


ENTITIES: list[Entity] = [
    make_device_class("gpu", selectors=["true"]),
    make_slice("n", [make_device(attributes={"a": True, "b": 1, "c": "s", "d": Version("1.0.0")})]),
    make_claim_template("t"),
    make_device_claim("c", ("n", "gpu-0"), pod="u"),
]


@pytest.mark.parametrize("entity", ENTITIES, ids=lambda entity: type(entity).__name__)
def test_the_decision_log_gives_back_the_same(entity: Entity) -> None:
    assert msgspec.json.decode(msgspec.json.encode(entity), type=Entity) == entity
