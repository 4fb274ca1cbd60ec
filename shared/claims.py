"""Volumes and devices that pods claim, as the core sees them (``shared.model``).

Source:
    KEP-5004: a DeviceClass may name an extended resource. A pod that requests it is served with
    devices of that class where the node does not offer the resource itself. Every class is also
    served under a resource name derived from its own.
"""

from collections.abc import Iterable, Mapping
from typing import Final

from msgspec import Struct

from shared.identity import Uid
from shared.pod_shape import NodeSelectorTerm

IMPLICIT: Final = "deviceclass.resource.kubernetes.io/"
"""Prefix of a class's name: the resource under which every class is served."""


class DeviceClass(Struct, frozen=True, kw_only=True, tag=True):
    """A DeviceClass: read for the resources that pods ask for and that nodes need not offer.

    Attributes:
        extended_resource: ``spec.extendedResourceName``; empty if it names none.
    """

    name: str
    uid: Uid = Uid("")
    created_at: float = 0.0
    extended_resource: str = ""

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


class PersistentVolumeClaim(Struct, frozen=True, kw_only=True, tag=True):
    """A claim for a volume: read for what it says about nodes.

    Attributes:
        volume: Name of the PersistentVolume it is bound to; empty while it is not.
        many_nodes: Pods of several nodes may use it: ReadWriteMany or ReadOnlyMany, and not
            ReadWriteOncePod.
        deleting: It is being deleted: kube-scheduler places no pod that names it.
    """

    namespace: str
    name: str
    uid: Uid = Uid("")
    created_at: float = 0.0
    volume: str = ""
    many_nodes: bool = False
    deleting: bool = False

    @property
    def key(self) -> str:
        """``namespace/name``."""
        return f"{self.namespace}/{self.name}"


class PersistentVolume(Struct, frozen=True, kw_only=True, tag=True):
    """A volume: read for the nodes from which it can be reached.

    Attributes:
        affinity: Its required node affinity, as in ``PodShape``; None if every node will do.
        zonal: It has a label of a zone or region, which kube-scheduler compares with the node's.
    """

    name: str
    uid: Uid = Uid("")
    created_at: float = 0.0
    affinity: tuple[NodeSelectorTerm, ...] | None = None
    zonal: bool = False

    @property
    def key(self) -> str:
        """The volume's name."""
        return self.name
