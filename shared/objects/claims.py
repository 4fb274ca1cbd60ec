"""Volumes that pods claim, as the core sees them (``shared.model``)."""

from msgspec import Struct

from shared.objects.identity import Uid
from shared.objects.pod_shape import NodeSelectorTerm


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
