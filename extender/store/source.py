"""What others get of the store: snapshots, look-ups without one, and its whole content as a value.

The store itself is written by the decision log's recorder alone, so that the log lacks no change.
"""

from operator import attrgetter
from typing import Protocol

from msgspec import Struct
from msgspec.structs import replace

from extender.core.cluster.snapshot import PlaceholderReservations, Snapshot
from extender.store.assumed import Assumption
from extender.store.most_placed import Companions
from shared.model import Entity, NodeName, Uid
from shared.progress import NodeReport


class Content(Struct, frozen=True, kw_only=True):
    """A store can be built from it that answers and goes on exactly like the one it came from.

    Attributes:
        scheduler_name: Whose pods are ours.
        generation: As in ``Snapshot``.
        entities: Observed objects of all kinds, by kind and key.
        assumptions: By uid; those of one pod oldest first.
        removed: Uids that never come back, oldest first.
        reports: What is known of nodes through their agents, by node.
        placeholders: For members of direct gangs that do not exist yet, by job.
        companions: Of placed pods, by uid, what the pods themselves do not state.
    """

    scheduler_name: str
    generation: int
    entities: tuple[Entity, ...] = ()
    assumptions: tuple[Assumption, ...] = ()
    removed: tuple[Uid, ...] = ()
    reports: tuple[NodeReport, ...] = ()
    placeholders: tuple[PlaceholderReservations, ...] = ()
    companions: tuple[Companions, ...] = ()


def ordered(content: Content) -> Content:
    """Return the same, objects by kind and key and reports by node: equal stores give the same."""
    return replace(
        content,
        entities=tuple(sorted(content.entities, key=attrgetter("__class__.__name__", "key"))),
        reports=tuple(sorted(content.reports, key=attrgetter("node"))),
    )


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

    def promised(self) -> tuple[Uid, ...]:
        """Return the pods with a promised reservation."""
        ...

    def awaits(self, uid: Uid) -> bool:
        """Return True if a write of ours to the pod was not observed yet."""
        ...

    def takes(self, uid: Uid) -> NodeName | None:
        """Return the node on which a pod takes room, bound or reserved; None: on none."""
        ...
