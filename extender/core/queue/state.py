"""What the engine must remember from one decision to the next and cannot read from the API server.

A value: it goes in and comes out of every cycle, so that a replay needs nothing else. Losing it (a
restart) costs patience, never correctness: every entry is found again from the pods or expires.
"""

from collections.abc import Iterable, Mapping

from msgspec import Struct
from msgspec.structs import replace

from extender.core.cluster.backoff import Backoff
from extender.core.cluster.reasons import Reason
from shared.model import JobKey, NodeName, Uid


class Told(Struct, frozen=True):
    """What the last Events about a job said.

    Attributes:
        reason: Why it waits; empty if no Event said so yet.
        note: Keys and annotations without effect.
        at: When the Event about the reason was written, seconds since the epoch.
    """

    reason: str = ""
    note: str = ""
    at: float = 0.0


class Priced(Struct, frozen=True):
    """Why a job with a utility has no plan, as admission saw it last."""

    reason: Reason
    message: str


class QueueState(Struct, frozen=True):
    """See the module.

    Attributes:
        known: Jobs that some cycle has seen.
        complete: Jobs whose gang was whole before the store saw it, as far as that can be inferred:
            what they lack was lost, their burst is not broken.
        open: Jobs with seats or a broken burst, to be looked at even if nothing of them waits.
        backoff: Jobs that gave seats back.
        lost_since: Released pods without a usable pinned node, since when (monotonic).
        partial_since: Jobs that are neither unbound nor whole, and when that began or the last
            member was bound (monotonic).
        most_bound: Of each of them, how many members have been bound at one time.
        refused: Pinned nodes that kube-scheduler did not offer for a pod.
        told: What the last Events about a job said.
        turned_away: Direct gangs that filter refused: they stand in the queue.
        running: Jobs whose gang is whole and has not ended, since when (seconds since the epoch).
        runs: How long the last runs of a name took, in seconds, the newest last; names in the order
            of their last run.
        priced: Jobs with a utility that admission has looked at and that have no plan.
    """

    known: frozenset[JobKey] = frozenset()
    complete: frozenset[JobKey] = frozenset()
    open: frozenset[JobKey] = frozenset()
    backoff: Mapping[JobKey, Backoff] = {}
    lost_since: Mapping[Uid, float] = {}
    partial_since: Mapping[JobKey, float] = {}
    most_bound: Mapping[JobKey, int] = {}
    refused: Mapping[Uid, frozenset[NodeName]] = {}
    told: Mapping[JobKey, Told] = {}
    turned_away: frozenset[JobKey] = frozenset()
    running: Mapping[JobKey, float] = {}
    runs: Mapping[str, tuple[float, ...]] = {}
    priced: Mapping[JobKey, Priced] = {}


def refuse(memory: QueueState, refusals: Iterable[tuple[Uid, NodeName]]) -> QueueState:
    """Remember that kube-scheduler did not offer these planned nodes for these pods."""
    refused = dict(memory.refused)
    for uid, node in refusals:
        refused[uid] = refused.get(uid, frozenset()) | {node}
    return replace(memory, refused=refused)


def turn_away(memory: QueueState, turned_away: Iterable[JobKey]) -> QueueState:
    """Remember that filter had no seats for these direct gangs."""
    return replace(memory, turned_away=memory.turned_away.union(turned_away))


def price(memory: QueueState, priced: Mapping[JobKey, Priced] | None) -> QueueState:
    """Remember how jobs without a plan stand; None: as before."""
    return memory if priced is None else replace(memory, priced=priced)
