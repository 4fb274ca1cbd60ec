"""What namespaces hold and may hold, as ``/v1/namespaces`` says it.

Shares are parts of the cluster, 0 to 1 (docs/policies/fair_share.md).
"""

from collections.abc import Mapping

from msgspec import Struct

from shared.answer import Listed


class NamespaceEntry(Struct, frozen=True, kw_only=True):
    """A namespace that has jobs of ours.

    Attributes:
        namespace: Its name.
        waiting: Its jobs in the queue.
        running: Its jobs that hold something: bound pods, or seats.
        held: What they hold by resource, base units; what is zero is left out.
        share: Its dominant share.
        weight: By what the share is divided.
        guaranteed_share: The share below which its jobs go first.
        limit: The share beyond which none of its jobs starts; None: there is none.
        problem: What its annotations say that cannot be used; empty if they can.
    """

    namespace: str
    waiting: int
    running: int
    held: Mapping[str, int]
    share: float
    weight: float
    guaranteed_share: float
    limit: float | None = None
    problem: str = ""


class NamespacesResponse(Listed, frozen=True, kw_only=True):
    """The namespaces, by name.

    Attributes:
        acting: Whether the replica that answers is the one that decides.
        fair_share: Whether any of it decides; else it is only shown.
    """

    acting: bool
    fair_share: bool
    entries: tuple[NamespaceEntry, ...] = ()
