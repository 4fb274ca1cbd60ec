"""Dynamic resource allocation: raw JSON to ``shared.devices``.

Source:
    k8s.io/api v0.36.3 resource/v1 (served from 1.34).
"""

from collections.abc import Iterable, Iterator
from typing import Final

import msgspec
from msgspec import Struct

from shared.devices import (
    EXTENDED,
    Device,
    DeviceClass,
    DeviceId,
    DeviceRequest,
    ResourceClaim,
    ResourceClaimTemplate,
    ResourceSlice,
    Version,
)
from shared.kube import interned, parse, stamps
from shared.kube.parse import Data, names_the_object
from shared.kube.shapes import tolerations
from shared.kube.wire import Meta, Present, Toleration
from shared.model import NodeName, Taint, Uid

POD_CLAIM: Final = "resource.kubernetes.io/pod-claim-name"
"""Annotation of a claim made from a template: its name in the pod's spec."""

_NODE_SCOPED: Final = "devices of several nodes"


class _Selected(Struct):
    """``selectors[].cel``."""

    expression: str = ""


class _Selector(Struct):
    """``selectors[]``."""

    cel: _Selected | None = None


class _ClassSpec(Struct, rename="camel"):
    """``spec`` of a DeviceClass."""

    extended_resource_name: str | None = None
    selectors: list[_Selector] | None = None


class _Class(Struct):
    """A DeviceClass."""

    metadata: Meta
    spec: _ClassSpec | None = None


class _Attribute(Struct, rename="camel"):
    """``attributes`` of a device."""

    int_value: int | None = msgspec.field(default=None, name="int")
    bool_value: bool | None = msgspec.field(default=None, name="bool")
    string_value: str | None = msgspec.field(default=None, name="string")
    version_value: str | None = msgspec.field(default=None, name="version")


class _Capacity(Struct, rename="camel"):
    """``capacity`` of a device."""

    value: str = "0"
    request_policy: Present | None = None


class _Taint(Struct):
    """``taints[]`` of a device."""

    key: str = ""
    value: str | None = None
    effect: str = ""


class _Device(Struct, rename="camel"):
    """``devices[]``."""

    name: str
    attributes: dict[str, _Attribute] | None = None
    capacity: dict[str, _Capacity] | None = None
    taints: list[_Taint] | None = None
    consumes_counters: list[Present] | None = None
    allow_multiple_allocations: bool | None = None
    binding_conditions: list[str] | None = None
    binds_to_node: bool | None = None
    node_allocatable_resource_mappings: dict[str, Present] | None = None


class _Pool(Struct, rename="camel"):
    """``pool`` of a slice."""

    name: str = ""
    generation: int = 0
    resource_slice_count: int = 1


class _SliceSpec(Struct, rename="camel"):
    """``spec`` of a ResourceSlice."""

    driver: str = ""
    pool: _Pool | None = None
    node_name: str | None = None
    shared_counters: list[Present] | None = None
    devices: list[_Device] | None = None


class _Slice(Struct):
    """A ResourceSlice."""

    metadata: Meta
    spec: _SliceSpec | None = None


class _Exactly(Struct, rename="camel"):
    """``requests[].exactly``."""

    device_class_name: str = ""
    selectors: list[_Selector] | None = None
    allocation_mode: str | None = None
    count: int | None = None
    admin_access: bool | None = None
    tolerations: list[Toleration] | None = None
    capacity: Present | None = None
    derived_attributes: list[Present] | None = None


class _Request(Struct, rename="camel"):
    """``devices.requests[]``."""

    name: str = ""
    exactly: _Exactly | None = None
    first_available: list[Present] | None = None


class _Devices(Struct):
    """``devices`` of a claim's spec."""

    requests: list[_Request] | None = None
    constraints: list[Present] | None = None


class _ClaimSpec(Struct):
    """``spec`` of a claim."""

    devices: _Devices | None = None


class _Result(Struct, rename="camel"):
    """``status.allocation.devices.results[]``."""

    driver: str = ""
    pool: str = ""
    device: str = ""
    admin_access: bool | None = None
    share_id: str | None = msgspec.field(default=None, name="shareID")


class _Results(Struct):
    """``status.allocation.devices``."""

    results: list[_Result] | None = None


class _Allocation(Struct):
    """``status.allocation``."""

    devices: _Results | None = None


class _Status(Struct):
    """``status`` of a claim."""

    allocation: _Allocation | None = None


class _Claim(Struct):
    """A ResourceClaim."""

    metadata: Meta
    status: _Status | None = None


class _Inner(Struct):
    """``spec`` of a template."""

    spec: _ClaimSpec | None = None


class _Template(Struct):
    """A ResourceClaimTemplate."""

    metadata: Meta
    spec: _Inner | None = None


_CLASS: Final = msgspec.json.Decoder(_Class)
_SLICE: Final = msgspec.json.Decoder(_Slice)
_CLAIM: Final = msgspec.json.Decoder(_Claim)
_TEMPLATE: Final = msgspec.json.Decoder(_Template)


@names_the_object
def decode_class(data: Data) -> DeviceClass:
    """Return a DeviceClass.

    Raises:
        OddObjectError: It cannot be read.
    """
    raw = _CLASS.decode(data)
    meta, spec = raw.metadata, raw.spec or _ClassSpec()
    return DeviceClass(
        name=meta.name,
        uid=Uid(meta.uid or ""),
        created_at=stamps.parse(meta.creation_timestamp),
        extended_resource=spec.extended_resource_name or "",
        selectors=_expressions(spec.selectors),
    )


@names_the_object
def decode_slice(data: Data) -> ResourceSlice:
    """Return a ResourceSlice; names that repeat from device to device are kept once.

    Raises:
        OddObjectError: It cannot be read.
    """
    raw = _SLICE.decode(data)
    meta, spec = raw.metadata, raw.spec or _SliceSpec()
    pool = spec.pool or _Pool()
    special = "" if spec.node_name or spec.shared_counters else _NODE_SCOPED
    return ResourceSlice(
        name=meta.name,
        uid=Uid(meta.uid or ""),
        created_at=stamps.parse(meta.creation_timestamp),
        driver=interned.text(spec.driver),
        node=NodeName(interned.text(spec.node_name or "")),
        pool=interned.text(pool.name),
        generation=pool.generation,
        pool_slices=pool.resource_slice_count,
        devices=tuple(map(_device, spec.devices or ())),
        special=special,
    )


def _device(raw: _Device) -> Device:
    capacity = sorted((raw.capacity or {}).items())
    return Device(
        name=interned.text(raw.name),
        attributes=tuple(
            (interned.text(name), _attribute(a))
            for name, a in sorted((raw.attributes or {}).items())
        ),
        capacity=tuple((interned.text(n), interned.text(c.value)) for n, c in capacity),
        taints=tuple(Taint(t.key, t.value or "", t.effect) for t in raw.taints or ()),
        special=next(_special(raw), ""),
    )


def _attribute(raw: _Attribute) -> bool | int | str | Version:
    """Return the value; one of a later kind is a version that cannot be read."""
    if raw.version_value is not None:
        return Version(raw.version_value)
    values = (raw.string_value, raw.int_value, raw.bool_value)
    value = next((v for v in values if v is not None), None)
    if value is None:
        return Version("")
    return value


def _special(raw: _Device) -> Iterator[str]:
    if raw.consumes_counters:
        yield "partitionable devices"
    if raw.allow_multiple_allocations:
        yield "devices that several claims share"
    if raw.binding_conditions or raw.binds_to_node:
        yield "devices with binding conditions"
    if raw.node_allocatable_resource_mappings:
        yield "devices that take a node's other resources"


@names_the_object
def decode_template(data: Data) -> ResourceClaimTemplate:
    """Return a ResourceClaimTemplate.

    Raises:
        OddObjectError: It cannot be read.
    """
    raw = _TEMPLATE.decode(data)
    meta, inner = raw.metadata, raw.spec or _Inner()
    devices = (inner.spec or _ClaimSpec()).devices or _Devices()
    exact = [r.exactly for r in devices.requests or () if r.exactly is not None]
    return ResourceClaimTemplate(
        namespace=meta.namespace or "",
        name=meta.name,
        uid=Uid(meta.uid or ""),
        created_at=stamps.parse(meta.creation_timestamp),
        requests=tuple(map(_request, exact)),
        special=next(_unread(devices), ""),
    )


def _request(raw: _Exactly) -> DeviceRequest:
    return DeviceRequest(
        device_class=raw.device_class_name,
        count=1 if raw.count is None else raw.count,
        selectors=_expressions(raw.selectors),
        tolerations=tolerations(raw.tolerations),
    )


def _unread(devices: _Devices) -> Iterator[str]:
    """Yield what of a claim's spec is more than a number of devices."""
    for request in devices.requests or ():
        exact = request.exactly
        if exact is None:
            yield f"firstAvailable of request {request.name}"
            continue
        if exact.allocation_mode not in {None, "", "ExactCount"}:
            yield f"allocationMode {exact.allocation_mode} of request {request.name}"
        if exact.admin_access:
            yield f"adminAccess of request {request.name}"
        if exact.capacity is not None:
            yield f"capacity of request {request.name}"
        if exact.derived_attributes:
            yield f"derivedAttributes of request {request.name}"
    if devices.constraints:
        yield "constraints"


@names_the_object
def decode_claim(data: Data) -> ResourceClaim:
    """Return a ResourceClaim; admin access takes no device away from others.

    Raises:
        OddObjectError: It cannot be read.
    """
    raw = _CLAIM.decode(data)
    meta, status = raw.metadata, raw.status or _Status()
    controller = parse.controller(meta)
    of_pod = controller is not None and controller.kind == "Pod"
    results = (status.allocation and status.allocation.devices) or _Results()
    alone = (r for r in results.results or () if not r.admin_access and not r.share_id)
    return ResourceClaim(
        namespace=meta.namespace or "",
        name=meta.name,
        uid=Uid(meta.uid or ""),
        created_at=stamps.parse(meta.creation_timestamp),
        pod=controller.uid if of_pod and controller is not None else Uid(""),
        pod_claim=(meta.annotations or {}).get(POD_CLAIM, EXTENDED),
        allocated=status.allocation is not None,
        devices=tuple(sorted({_id(r) for r in alone})),
    )


def _id(result: _Result) -> DeviceId:
    names = (result.driver, result.pool, result.device)
    return DeviceId(*map(interned.text, names))


def _expressions(selectors: Iterable[_Selector] | None) -> tuple[str, ...]:
    """Return the expressions; a selector of another kind is one that cannot be read."""
    return tuple(s.cel.expression if s.cel is not None else "" for s in selectors or ())
