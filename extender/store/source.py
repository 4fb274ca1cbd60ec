"""What readers get of the store: snapshots, and three look-ups that need none.

The store itself is written by the decision log's recorder alone, so that the log lacks no change.
"""

from typing import Protocol

from extender.core.cluster.snapshot import Snapshot
from shared.model import NodeName, Uid


class SnapshotSource(Protocol):
    """Returns the cluster as it is now."""

    def snapshot(self) -> Snapshot:
        """Return the present state; the same object until something changes."""
        ...


class StoreReads(SnapshotSource, Protocol):
    """The reading side of the store."""

    @property
    def generation(self) -> int:
        """The number of the last change."""
        ...

    def has_place(self, uid: Uid) -> bool:
        """Return True if the pod has a reservation or a node."""
        ...

    def takes(self, uid: Uid) -> NodeName | None:
        """Return the node on which a pod takes room, bound or reserved; None: on none."""
        ...
