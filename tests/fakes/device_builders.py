"""Devices of drivers for tests, and what pods claim of them, with a default for every field."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from shared.model import (
    DeviceClass,
    DeviceTaintRule,
    NodeName,
    NodeSelectorTerm,
    Requirement,
    ResourceClaim,
    ResourceClaimTemplate,
    ResourceSlice,
    Taint,
    Uid,
)
from shared.objects.devices import (
    CapacityPolicy,
    ClaimSpec,
    Constraint,
    Device,
    DeviceId,
    DeviceRequest,
    Version,
)


def make_device_class(
    name: str = "gpu",
    *,
    resource: str = "example.com/gpu",
    created_at: float = 0.0,
    uid: str = "",
    selectors: Sequence[str] = (),
) -> DeviceClass:
    """A DeviceClass that serves an extended resource; none for an empty ``resource``."""
    return DeviceClass(
        name=name,
        uid=Uid(uid or f"of-{name}"),
        created_at=created_at,
        extended_resource=resource,
        selectors=tuple(selectors),
    )


def make_device(
    name: str = "gpu-0",
    *,
    attributes: Mapping[str, bool | int | str | Version] | None = None,
    capacity: Mapping[str, str] | None = None,
    taints: Iterable[Taint] = (),
    counters: Mapping[str, Mapping[str, str]] | None = None,
    shared: bool = False,
    policies: Mapping[str, CapacityPolicy] | None = None,
    special: str = "",
) -> Device:
    """A device; the domain of a name without one is the driver."""
    return Device(
        name=name,
        attributes=tuple(sorted((attributes or {}).items())),
        capacity=tuple(sorted((capacity or {}).items())),
        taints=tuple(taints),
        counters=_counter_sets(counters or {}),
        shared=shared,
        policies=tuple(sorted((policies or {}).items())),
        special=special,
    )


def _counter_sets(
    counters: Mapping[str, Mapping[str, str]],
) -> tuple[tuple[str, tuple[tuple[str, str], ...]], ...]:
    return tuple((name, tuple(sorted(of.items()))) for name, of in sorted(counters.items()))


def make_slice(
    node: str,
    devices: int | Sequence[Device] = 4,
    *,
    name: str = "",
    driver: str = "gpu.example.com",
    pool: str = "",
    generation: int = 1,
    pool_slices: int = 1,
    counters: Mapping[str, Mapping[str, str]] | None = None,
    special: str = "",
) -> ResourceSlice:
    """A ResourceSlice with the devices of a node; a number makes as many that are alike."""
    if isinstance(devices, int):
        devices = [make_device(f"gpu-{i}") for i in range(devices)]
    name = name or f"{driver}-{node}"
    return ResourceSlice(
        name=name,
        uid=Uid(f"slice-{name}"),
        driver=driver,
        node=NodeName("" if special else node),
        pool=pool or node,
        generation=generation,
        pool_slices=pool_slices,
        devices=tuple(devices),
        counters=_counter_sets(counters or {}),
        special=special,
    )


def make_taint_rule(
    name: str = "rule", *, effect: str = "NoSchedule", selects: bool = True, **names: str
) -> DeviceTaintRule:
    """A DeviceTaintRule; ``names`` are those of a driver, a pool and a device."""
    return DeviceTaintRule(
        name=name,
        uid=Uid(f"rule-{name}"),
        taint=Taint("ill", "", effect),
        selects=selects,
        **names,
    )


def make_claim_template(
    name: str = "gpus",
    *requests: DeviceRequest,
    namespace: str = "default",
    constraints: Iterable[Constraint] = (),
    special: str = "",
) -> ResourceClaimTemplate:
    """A ResourceClaimTemplate; by default of one device of class ``gpu``."""
    return ResourceClaimTemplate(
        namespace=namespace,
        name=name,
        uid=Uid(f"template-{namespace}-{name}"),
        spec=_claim_spec(requests, constraints, special),
    )


def make_named_claim(
    name: str,
    *requests: DeviceRequest,
    constraints: Iterable[Constraint] = (),
    node: str | None = None,
    **claim: Any,
) -> ResourceClaim:
    """A ResourceClaim that pods may name; ``node`` is where its devices are, once it has some."""
    nodes = None
    if node is not None:
        requirement = Requirement("metadata.name", "In", (node,))
        nodes = (NodeSelectorTerm(fields=(requirement,)),)
    return ResourceClaim(
        namespace="default",
        name=name,
        uid=Uid(f"claim-default-{name}"),
        spec=_claim_spec(requests, constraints, ""),
        allocated=node is not None,
        nodes=nodes,
        **claim,
    )


def _claim_spec(
    requests: tuple[DeviceRequest, ...], constraints: Iterable[Constraint], special: str
) -> ClaimSpec:
    return ClaimSpec(
        requests=requests or (DeviceRequest(device_class="gpu"),),
        constraints=tuple(constraints),
        special=special,
    )


def make_device_claim(
    name: str,
    *devices: tuple[str, str],
    pod: str = "",
    pod_claim: str = "",
    namespace: str = "default",
    driver: str = "gpu.example.com",
    allocated: bool = True,
) -> ResourceClaim:
    """A ResourceClaim; ``devices`` are pairs of pool and name."""
    ids = sorted(DeviceId(driver, pool, device) for pool, device in devices)
    return ResourceClaim(
        namespace=namespace,
        name=name,
        uid=Uid(f"claim-{namespace}-{name}"),
        pod=Uid(pod),
        pod_claim=pod_claim,
        allocated=allocated,
        devices=tuple(ids),
    )
