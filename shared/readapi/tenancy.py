"""Use and shares of namespaces: the response of ``/v1/namespaces``.

Shares are parts of the cluster, 0 to 1 (docs/policies/fair_share.md).
"""

from collections import Counter
from collections.abc import Iterable, Mapping

from msgspec import Struct

from shared.readapi.answer import Listed


class NamespaceEntry(Struct, frozen=True, kw_only=True):
    """A namespace that has jobs of ours.

    Attributes:
        namespace: Its name.
        waiting: Its jobs in the queue.
        running: Its jobs with bound or reserved pods.
        held: Amounts of those by resource, base units, without zeros.
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


class Totals(Struct, frozen=True, kw_only=True):
    """What namespaces hold together.

    Attributes:
        namespaces: How many there are.
        waiting: Their jobs in the queue.
        running: Their jobs with bound or reserved pods.
        held: Amounts of those by resource, base units, without zeros.
    """

    namespaces: int
    waiting: int
    running: int
    held: Mapping[str, int] = {}


class NamespacesResponse(Listed, frozen=True, kw_only=True):
    """The namespaces, by name.

    Attributes:
        acting: Whether the replica that answers is the one that decides.
        fair_share: Whether shares affect decisions; else they are only shown.
        others: Namespaces that are not listed, together; None if all are, and after the first page.
    """

    acting: bool
    fair_share: bool
    entries: tuple[NamespaceEntry, ...] = ()
    others: Totals | None = None


def totals(entries: Iterable[NamespaceEntry]) -> Totals:
    """Return what some namespaces hold together."""
    listed = list(entries)
    held: Counter[str] = Counter()
    for entry in listed:
        held.update(entry.held)
    return Totals(
        namespaces=len(listed),
        waiting=sum(entry.waiting for entry in listed),
        running=sum(entry.running for entry in listed),
        held=dict(sorted(held.items())),
    )
