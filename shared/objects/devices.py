"""Devices that drivers publish and pods claim (dynamic resource allocation), as the core sees them.

Source:
    k8s.io/api v0.36.3 resource/v1. KEP-5004: a DeviceClass may name an extended resource. A pod
    that requests it is served with devices of that class where the node does not offer the
    resource itself. Every class is also served under a resource name derived from its own.
"""

from collections.abc import Iterable, Mapping
from typing import Final

from msgspec import Struct

from shared.objects.identity import NodeName, Uid
from shared.objects.pod_shape import NodeSelectorTerm, Taint, Toleration

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


Amounts = tuple[tuple[str, str], ...]
"""Quantities by name, sorted."""


class CapacityPolicy(Struct, frozen=True, kw_only=True):
    """How much of a capacity of a device one request may take (``requestPolicy``).

    Attributes:
        default: What a request takes that does not name the capacity.
        values: What it may take, in ascending order; empty for any.
        least: It takes at least this; empty: there is no range.
        most: And at most this; empty for any.
        step: What it takes is ``least`` and so many steps more; empty for any.
    """

    default: str = ""
    values: tuple[str, ...] = ()
    least: str = ""
    most: str = ""
    step: str = ""


class Device(Struct, frozen=True, kw_only=True):
    """A device of a ResourceSlice.

    Attributes:
        attributes: By name as the driver writes it, sorted.
        capacity: Quantities likewise.
        taints: Of the device, not of its node.
        counters: What it takes of the counters of its pool, by counter set.
        shared: Several claims may have it, each with a part of its capacity.
        policies: Of its capacities, by name.
        special: What else makes it more than a device; empty if nothing does.
    """

    name: str
    attributes: tuple[tuple[str, bool | int | str | Version], ...] = ()
    capacity: Amounts = ()
    taints: tuple[Taint, ...] = ()
    counters: tuple[tuple[str, Amounts], ...] = ()
    shared: bool = False
    policies: tuple[tuple[str, CapacityPolicy], ...] = ()
    special: str = ""


class ResourceSlice(Struct, frozen=True, kw_only=True, tag=True):
    """A ResourceSlice: devices of one pool of one driver.

    Attributes:
        node: The node that has the devices; empty if ``special``.
        pool: Name of the pool within the driver.
        generation: Only the slices of the latest one count.
        pool_slices: How many slices the pool has in that generation.
        counters: What its devices take parts of, by counter set.
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
    counters: tuple[tuple[str, Amounts], ...] = ()
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


class DeviceTaintRule(Struct, frozen=True, kw_only=True, tag=True):
    """A DeviceTaintRule: one more taint of the devices that it selects.

    Attributes:
        driver: Whose devices; empty: of all drivers. Likewise ``pool`` and ``device``.
        selects: It has a selector that we read; without one it selects nothing.
    """

    name: str
    uid: Uid = Uid("")
    created_at: float = 0.0
    driver: str = ""
    pool: str = ""
    device: str = ""
    taint: Taint = Taint("", "", "")
    selects: bool = True

    @property
    def key(self) -> str:
        """The rule's name."""
        return self.name

    def of_pool(self, driver: str, pool: str) -> bool:
        """Return True if it may select devices of a pool."""
        return self.selects and self.driver in {"", driver} and self.pool in {"", pool}


class DeviceRequest(Struct, frozen=True, kw_only=True):
    """Devices of one class, or of the first of several requests that can be served.

    Attributes:
        name: Constraints name it.
        device_class: Empty if there are alternatives.
        count: How many.
        every: All devices that the request accepts, and at least one; ``count`` does not count.
        selectors: All hold for each of the devices.
        tolerations: Taints of devices that are accepted.
        admin: Devices count that others have, and remain theirs (``adminAccess``).
        capacity: How much of the capacity of each device.
        alternatives: Of which the first possible one is served (``firstAvailable``).
    """

    name: str = ""
    device_class: str = ""
    count: int = 1
    every: bool = False
    selectors: tuple[str, ...] = ()
    tolerations: tuple[Toleration, ...] = ()
    admin: bool = False
    capacity: Amounts = ()
    alternatives: tuple["DeviceRequest", ...] = ()


class Constraint(Struct, frozen=True, kw_only=True):
    """What the devices of a claim have in common (``matchAttribute``), or not one twice.

    Attributes:
        attribute: Its full name, ``domain/name``.
        requests: Whose devices; empty for all of the claim. ``request/alternative`` names one.
        distinct: All values differ (``distinctAttribute``).
    """

    attribute: str
    requests: tuple[str, ...] = ()
    distinct: bool = False


class ClaimSpec(Struct, frozen=True, kw_only=True):
    """What a claim requests.

    Attributes:
        requests: All of them are served, or none.
        constraints: All hold.
        special: What we do not read of it; empty if nothing.
    """

    requests: tuple[DeviceRequest, ...] = ()
    constraints: tuple[Constraint, ...] = ()
    special: str = ""


class ResourceClaimTemplate(Struct, frozen=True, kw_only=True, tag=True):
    """A ResourceClaimTemplate: each pod that names it gets a claim of its own."""

    namespace: str
    name: str
    uid: Uid = Uid("")
    created_at: float = 0.0
    spec: ClaimSpec = ClaimSpec()

    @property
    def key(self) -> str:
        """``namespace/name``."""
        return f"{self.namespace}/{self.name}"


class ResourceClaim(Struct, frozen=True, kw_only=True, tag=True):
    """A ResourceClaim.

    Attributes:
        pod: Uid of the pod that it was made for; empty if a person made it.
        pod_claim: Its name in that pod's spec; ``EXTENDED`` for extended resources.
        spec: What it requests, if a person made it: pods may name it.
        deleting: No further pod may use it.
        users: The pods that it is reserved for.
        allocated: It has an allocation.
        devices: Those that it has alone, sorted.
        parts: Devices that it shares with others, and what it takes of their capacity.
        nodes: From where its devices can be reached; None: from everywhere.
    """

    namespace: str
    name: str
    uid: Uid = Uid("")
    created_at: float = 0.0
    pod: Uid = Uid("")
    pod_claim: str = EXTENDED
    spec: ClaimSpec = ClaimSpec()
    deleting: bool = False
    users: tuple[Uid, ...] = ()
    allocated: bool = False
    devices: tuple[DeviceId, ...] = ()
    parts: tuple[tuple[DeviceId, Amounts], ...] = ()
    nodes: tuple[NodeSelectorTerm, ...] | None = None

    @property
    def key(self) -> str:
        """``namespace/name``."""
        return f"{self.namespace}/{self.name}"


class PodClaim(Struct, frozen=True):
    """A claim of a pod: its name in the pod, and the template that it is made from.

    Attributes:
        template: Empty for a claim that exists by itself.
        claim: Name of that one, which several pods may name.
    """

    name: str
    template: str = ""
    claim: str = ""
