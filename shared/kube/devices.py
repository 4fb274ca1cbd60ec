"""Devices and their classes (dynamic resource allocation): raw JSON to ``shared.objects.devices``.

Source:
    k8s.io/api v0.36.3 resource/v1 (served from 1.34); v0.37.2 of DeviceTaintRule.
"""

from collections.abc import Iterable, Iterator, Mapping
from operator import attrgetter
from typing import Final

import msgspec
from msgspec import Struct

from shared.kube import interned, stamps
from shared.kube.parse import Data, names_the_object
from shared.kube.wire import Meta, Present
from shared.model import NodeName, Taint, Uid
from shared.objects.devices import (
    Amounts,
    CapacityPolicy,
    Device,
    DeviceClass,
    DeviceTaintRule,
    ResourceSlice,
    Version,
)

_NODE_SCOPED: Final = "devices of several nodes"


class _Selected(Struct):
    """``selectors[].cel``."""

    expression: str = ""


class Selector(Struct):
    """``selectors[]``."""

    cel: _Selected | None = None


class _ClassSpec(Struct, rename="camel"):
    """``spec`` of a DeviceClass."""

    extended_resource_name: str | None = None
    selectors: list[Selector] | None = None


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


class _Range(Struct):
    """``validRange`` of a policy."""

    least: str | None = msgspec.field(default=None, name="min")
    most: str | None = msgspec.field(default=None, name="max")
    step: str | None = None


class _Policy(Struct, rename="camel"):
    """``requestPolicy`` of a capacity."""

    default: str | None = None
    valid_values: list[str] | None = None
    valid_range: _Range | None = None


class _Capacity(Struct, rename="camel"):
    """``capacity`` of a device."""

    value: str = "0"
    request_policy: _Policy | None = None


class _Counter(Struct):
    """A counter, or what a device takes of it."""

    value: str = "0"


class _CounterSet(Struct):
    """``sharedCounters[]``."""

    name: str = ""
    counters: dict[str, _Counter] | None = None


class _Consumed(Struct, rename="camel"):
    """``consumesCounters[]`` of a device."""

    counter_set: str = ""
    counters: dict[str, _Counter] | None = None


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
    consumes_counters: list[_Consumed] | None = None
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
    shared_counters: list[_CounterSet] | None = None
    devices: list[_Device] | None = None


class _Slice(Struct):
    """A ResourceSlice."""

    metadata: Meta
    spec: _SliceSpec | None = None


class _TaintSelector(Struct, rename="camel"):
    """``deviceSelector`` of a DeviceTaintRule; class and selectors ended with Kubernetes 1.34."""

    driver: str | None = None
    pool: str | None = None
    device: str | None = None
    device_class_name: str | None = None
    selectors: list[Selector] | None = None


class _TaintRuleSpec(Struct, rename="camel"):
    """``spec`` of a DeviceTaintRule."""

    device_selector: _TaintSelector | None = None
    taint: _Taint | None = None


class _TaintRule(Struct):
    """A DeviceTaintRule."""

    metadata: Meta
    spec: _TaintRuleSpec | None = None


_CLASS: Final = msgspec.json.Decoder(_Class)
_SLICE: Final = msgspec.json.Decoder(_Slice)
_TAINT_RULE: Final = msgspec.json.Decoder(_TaintRule)


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
        selectors=expressions(spec.selectors),
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
    counters = spec.shared_counters or ()
    special = "" if spec.node_name or counters else _NODE_SCOPED
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
        counters=tuple((interned.text(c.name), _counts(c.counters)) for c in counters),
        special=special,
    )


@names_the_object
def decode_taint_rule(data: Data) -> DeviceTaintRule:
    """Return a DeviceTaintRule.

    Raises:
        OddObjectError: It cannot be read.
    """
    raw = _TAINT_RULE.decode(data)
    meta, spec = raw.metadata, raw.spec or _TaintRuleSpec()
    selector, taint = spec.device_selector, spec.taint or _Taint()
    found = selector or _TaintSelector()
    return DeviceTaintRule(
        name=meta.name,
        uid=Uid(meta.uid or ""),
        created_at=stamps.parse(meta.creation_timestamp),
        driver=interned.text(found.driver or ""),
        pool=interned.text(found.pool or ""),
        device=interned.text(found.device or ""),
        taint=_taint(taint),
        selects=selector is not None and not (found.device_class_name or found.selectors),
    )


def _taint(raw: _Taint) -> Taint:
    return Taint(raw.key, raw.value or "", raw.effect)


def _counts(counters: Mapping[str, _Counter] | None) -> Amounts:
    return amounts({name: counter.value for name, counter in (counters or {}).items()})


def _device(raw: _Device) -> Device:
    capacity = raw.capacity or {}
    consumed = sorted(raw.consumes_counters or (), key=attrgetter("counter_set"))
    return Device(
        name=interned.text(raw.name),
        attributes=tuple(
            (interned.text(name), _attribute(a))
            for name, a in sorted((raw.attributes or {}).items())
        ),
        capacity=amounts({name: c.value for name, c in capacity.items()}),
        taints=tuple(map(_taint, raw.taints or ())),
        counters=tuple((interned.text(c.counter_set), _counts(c.counters)) for c in consumed),
        shared=bool(raw.allow_multiple_allocations),
        policies=tuple(
            (interned.text(name), _policy(c.request_policy))
            for name, c in sorted(capacity.items())
            if c.request_policy is not None
        ),
        special=next(_special(raw), ""),
    )


def _policy(raw: _Policy) -> CapacityPolicy:
    within = raw.valid_range or _Range()
    return CapacityPolicy(
        default=raw.default or "",
        values=tuple(raw.valid_values or ()),
        least=within.least or "",
        most=within.most or "",
        step=within.step or "",
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
    if raw.binding_conditions or raw.binds_to_node:
        yield "devices with binding conditions"
    if raw.node_allocatable_resource_mappings:
        yield "devices that take a node's other resources"


def expressions(selectors: Iterable[Selector] | None) -> tuple[str, ...]:
    """Return the expressions; a selector of another kind is one that cannot be read."""
    return tuple(s.cel.expression if s.cel is not None else "" for s in selectors or ())


def amounts(texts: Mapping[str, str] | None) -> Amounts:
    """Return quantities by name, sorted; names and texts that repeat are kept once."""
    return tuple((interned.text(n), interned.text(t)) for n, t in sorted((texts or {}).items()))
