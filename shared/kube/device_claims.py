"""Claims for devices and their templates: raw JSON to ``shared.objects.devices``.

Source:
    k8s.io/api v0.36.3 resource/v1 (served from 1.34).
"""

from collections.abc import Iterator
from typing import Final

import msgspec
from msgspec import Struct

from shared.kube import interned, parse, stamps
from shared.kube.devices import Selector, amounts, expressions
from shared.kube.parse import Data, names_the_object
from shared.kube.shapes import terms, tolerations
from shared.kube.wire import Meta, NodeSelector, Present, Toleration
from shared.model import Uid
from shared.objects.devices import (
    EXTENDED,
    ClaimSpec,
    Constraint,
    DeviceId,
    DeviceRequest,
    ResourceClaim,
    ResourceClaimTemplate,
)

POD_CLAIM: Final = "resource.kubernetes.io/pod-claim-name"
"""Annotation of a claim made from a template: its name in the pod's spec."""

ALL: Final = "All"
"""Allocation mode: all devices that match."""


class _Capacity(Struct):
    """``capacity`` of a request."""

    requests: dict[str, str] | None = None


class _Exactly(Struct, rename="camel"):
    """``requests[].exactly``; with a name, one of ``requests[].firstAvailable``."""

    name: str = ""
    device_class_name: str = ""
    selectors: list[Selector] | None = None
    allocation_mode: str | None = None
    count: int | None = None
    admin_access: bool | None = None
    tolerations: list[Toleration] | None = None
    capacity: _Capacity | None = None
    derived_attributes: list[Present] | None = None


class _Request(Struct, rename="camel"):
    """``devices.requests[]``."""

    name: str = ""
    exactly: _Exactly | None = None
    first_available: list[_Exactly] | None = None


class _Constraint(Struct, rename="camel"):
    """``devices.constraints[]``."""

    requests: list[str] | None = None
    match_attribute: str | None = None
    distinct_attribute: str | None = None


class _Devices(Struct):
    """``devices`` of a claim's spec."""

    requests: list[_Request] | None = None
    constraints: list[_Constraint] | None = None


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
    consumed_capacity: dict[str, str] | None = None


class _Results(Struct):
    """``status.allocation.devices``."""

    results: list[_Result] | None = None


class _Allocation(Struct, rename="camel"):
    """``status.allocation``."""

    devices: _Results | None = None
    node_selector: NodeSelector | None = None


class _User(Struct):
    """``status.reservedFor[]``."""

    uid: str = ""


class _Status(Struct, rename="camel"):
    """``status`` of a claim."""

    allocation: _Allocation | None = None
    reserved_for: list[_User] | None = None


class _Claim(Struct):
    """A ResourceClaim."""

    metadata: Meta
    spec: _ClaimSpec | None = None
    status: _Status | None = None


class _Inner(Struct):
    """``spec`` of a template."""

    spec: _ClaimSpec | None = None


class _Template(Struct):
    """A ResourceClaimTemplate."""

    metadata: Meta
    spec: _Inner | None = None


_CLAIM: Final = msgspec.json.Decoder(_Claim)
_TEMPLATE: Final = msgspec.json.Decoder(_Template)


@names_the_object
def decode_template(data: Data) -> ResourceClaimTemplate:
    """Return a ResourceClaimTemplate.

    Raises:
        OddObjectError: It cannot be read.
    """
    raw = _TEMPLATE.decode(data)
    meta, inner = raw.metadata, raw.spec or _Inner()
    return ResourceClaimTemplate(
        namespace=meta.namespace or "",
        name=meta.name,
        uid=Uid(meta.uid or ""),
        created_at=stamps.parse(meta.creation_timestamp),
        spec=_spec(inner.spec),
    )


def _spec(raw: _ClaimSpec | None) -> ClaimSpec:
    devices = (raw or _ClaimSpec()).devices or _Devices()
    constraints = devices.constraints or ()
    return ClaimSpec(
        requests=tuple(map(_request, devices.requests or ())),
        constraints=tuple(map(_constraint, constraints)),
        special=next(_unread(devices), ""),
    )


def _request(raw: _Request) -> DeviceRequest:
    if raw.exactly is not None:
        return _exactly(raw.exactly, raw.name)
    alternatives = tuple(_exactly(one, one.name) for one in raw.first_available or ())
    return DeviceRequest(name=raw.name, alternatives=alternatives)


def _exactly(raw: _Exactly, name: str) -> DeviceRequest:
    return DeviceRequest(
        name=name,
        device_class=raw.device_class_name,
        count=1 if raw.count is None else raw.count,
        every=raw.allocation_mode == ALL,
        selectors=expressions(raw.selectors),
        tolerations=tolerations(raw.tolerations),
        admin=bool(raw.admin_access),
        capacity=amounts(raw.capacity.requests if raw.capacity is not None else None),
    )


def _constraint(raw: _Constraint) -> Constraint:
    return Constraint(
        attribute=raw.match_attribute or raw.distinct_attribute or "",
        requests=tuple(raw.requests or ()),
        distinct=raw.match_attribute is None,
    )


def _unread(devices: _Devices) -> Iterator[str]:
    """Yield what of a claim's spec we do not read, or later versions have."""
    for request in devices.requests or ():
        found = [request.exactly] if request.exactly is not None else request.first_available or ()
        if not found:
            yield f"request {request.name} is of an unknown form"
        for one in found:
            if one.allocation_mode not in {None, "", "ExactCount", ALL}:
                yield f"allocationMode {one.allocation_mode} of request {request.name}"
            if one.derived_attributes:
                yield f"derivedAttributes of request {request.name}"
    for constraint in devices.constraints or ():
        if not (constraint.match_attribute or constraint.distinct_attribute):
            yield "a constraint of an unknown form"


@names_the_object
def decode_claim(data: Data) -> ResourceClaim:
    """Return a ResourceClaim; admin access takes no device away from others.

    Raises:
        OddObjectError: It cannot be read.
    """
    raw = _CLAIM.decode(data)
    meta, status = raw.metadata, raw.status or _Status()
    allocation = status.allocation or _Allocation()
    controller = parse.controller(meta)
    of_pod = controller is not None and controller.kind == "Pod"
    held = [r for r in (allocation.devices or _Results()).results or () if not r.admin_access]
    parts = ((_id(r), amounts(r.consumed_capacity)) for r in held if r.share_id)
    return ResourceClaim(
        namespace=meta.namespace or "",
        name=meta.name,
        uid=Uid(meta.uid or ""),
        created_at=stamps.parse(meta.creation_timestamp),
        pod=controller.uid if of_pod and controller is not None else Uid(""),
        pod_claim=(meta.annotations or {}).get(POD_CLAIM, EXTENDED),
        spec=ClaimSpec() if of_pod else _spec(raw.spec),
        deleting=meta.deletion_timestamp is not None,
        users=tuple(sorted(Uid(user.uid) for user in status.reserved_for or ())),
        allocated=status.allocation is not None,
        devices=tuple(sorted({_id(r) for r in held if not r.share_id})),
        parts=tuple(sorted(parts)),
        nodes=None if allocation.node_selector is None else terms(allocation.node_selector),
    )


def _id(result: _Result) -> DeviceId:
    names = (result.driver, result.pool, result.device)
    return DeviceId(*map(interned.text, names))
