"""Devices that drivers publish and pods claim (dynamic resource allocation), as the core sees them.

Source:
    k8s.io/api v0.36.3 resource/v1. KEP-5004: a DeviceClass may name an extended resource. A pod
    that requests it is served with devices of that class where the node does not offer the
    resource itself. Every class is also served under a resource name derived from its own.
"""

from collections.abc import Iterable, Mapping
from typing import Final

from msgspec import Struct

from shared.identity import NodeName, Uid
from shared.pod_shape import Taint, Toleration

IMPLICIT: Final = "deviceclass.resource.kubernetes.io/"
"""Prefix of a class's name: the resource under which every class is served."""

EXTENDED: Final = ""
"""Name of the claim that kube-scheduler makes for a pod's extended resources."""


class DeviceClass(Struct, frozen=True, kw_only=True, tag=True):
    """A DeviceClass.

    Attributes:
        extended_resource: ``spec.extendedResourceName``; empty if it names none.
        selectors: CEL expressions that all hold for its devices.
    """

    name: str
    uid: Uid = Uid("")
    created_at: float = 0.0
    extended_resource: str = ""
    selectors: tuple[str, ...] = ()

    @property
    def key(self) -> str:
        """The class's name."""
        return self.name


def served_resources(classes: Iterable[DeviceClass]) -> Mapping[str, str]:
    """Return the resources that classes serve, each with the name of its class.

    Of several classes with one resource the latest counts, then the first by name.
    """
    by_resource: dict[str, str] = {}
    for device_class in sorted(classes, key=lambda c: (-c.created_at, c.name)):
        by_resource[f"{IMPLICIT}{device_class.name}"] = device_class.name
        if device_class.extended_resource:
            by_resource.setdefault(device_class.extended_resource, device_class.name)
    return by_resource


class Version(Struct, frozen=True, tag=True):
    """An attribute that is a semantic version."""

    text: str


class Device(Struct, frozen=True, kw_only=True):
    """A device of a ResourceSlice.

    Attributes:
        attributes: By name as the driver writes it, sorted.
        capacity: Quantities likewise.
        taints: Of the device, not of its node.
        special: What makes it more than one device that one claim has alone; empty if nothing does.
    """

    name: str
    attributes: tuple[tuple[str, bool | int | str | Version], ...] = ()
    capacity: tuple[tuple[str, str], ...] = ()
    taints: tuple[Taint, ...] = ()
    special: str = ""


class ResourceSlice(Struct, frozen=True, kw_only=True, tag=True):
    """A ResourceSlice: devices of one pool of one driver.

    Attributes:
        node: The node that has the devices; empty if ``special``.
        pool: Name of the pool within the driver.
        generation: Only the slices of the latest one count.
        pool_slices: How many slices the pool has in that generation.
        special: Why its devices are not of one node; empty if they are.
    """

    name: str
    uid: Uid = Uid("")
    created_at: float = 0.0
    driver: str = ""
    node: NodeName = NodeName("")
    pool: str = ""
    generation: int = 0
    pool_slices: int = 1
    devices: tuple[Device, ...] = ()
    special: str = ""

    @property
    def key(self) -> str:
        """The slice's name."""
        return self.name


class DeviceId(Struct, frozen=True, order=True):
    """Which device: a name is unique within the pool of a driver."""

    driver: str
    pool: str
    device: str


class DeviceRequest(Struct, frozen=True, kw_only=True):
    """Devices of one class: as many as ``count``, and the same class's only if all selectors hold.

    Attributes:
        tolerations: Taints of devices that are accepted.
    """

    device_class: str
    count: int = 1
    selectors: tuple[str, ...] = ()
    tolerations: tuple[Toleration, ...] = ()


class ResourceClaimTemplate(Struct, frozen=True, kw_only=True, tag=True):
    """A ResourceClaimTemplate: each pod that names it gets a claim of its own.

    Attributes:
        requests: What a claim requests.
        special: What of it is more than that; empty if nothing is.
    """

    namespace: str
    name: str
    uid: Uid = Uid("")
    created_at: float = 0.0
    requests: tuple[DeviceRequest, ...] = ()
    special: str = ""

    @property
    def key(self) -> str:
        """``namespace/name``."""
        return f"{self.namespace}/{self.name}"


class ResourceClaim(Struct, frozen=True, kw_only=True, tag=True):
    """A ResourceClaim: read for the devices that are allocated to it.

    Attributes:
        pod: Uid of the pod that it was made for; empty if a person made it.
        pod_claim: Its name in that pod's spec; ``EXTENDED`` for extended resources.
        allocated: It has an allocation.
        devices: Those that it has alone, sorted.
    """

    namespace: str
    name: str
    uid: Uid = Uid("")
    created_at: float = 0.0
    pod: Uid = Uid("")
    pod_claim: str = EXTENDED
    allocated: bool = False
    devices: tuple[DeviceId, ...] = ()

    @property
    def key(self) -> str:
        """``namespace/name``."""
        return f"{self.namespace}/{self.name}"


class PodClaim(Struct, frozen=True):
    """A claim that a pod gets from a template."""

    name: str
    template: str
