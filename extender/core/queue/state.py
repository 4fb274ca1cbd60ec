"""State of the queue: what one pass keeps for the next and cannot read from the API server.

An immutable value: it goes into and comes out of every pass, so that a replay needs nothing else. A
restart that loses it costs waiting time, never correctness: every entry is derived again from the
pods or expires.
"""

from collections.abc import Iterable, Mapping

from msgspec import Struct
from msgspec.structs import replace

from extender.core.cluster.reasons import Reason
from extender.core.cluster.session import Backoff
from shared.model import JobKey, NodeName, Uid


class Priced(Struct, frozen=True):
    """Why a job with a utility has no slot plan, by the last pass of pricing."""

    reason: Reason
    message: str


class QueueTrigger(Struct, frozen=True, omit_defaults=True):
    """What happened since the last pass.

    Attributes:
        refusals: Pods whose reserved node kube-scheduler did not offer, and the node.
        turned_away: Direct gangs for which filter had no reservation.
        priced: Why jobs with a utility have no slot plan; None: as before.
        bursts: Answers to filter may be held now, and gangs be bound meanwhile.
    """

    refusals: tuple[tuple[Uid, NodeName], ...] = ()
    turned_away: tuple[JobKey, ...] = ()
    priced: Mapping[JobKey, Priced] | None = None
    bursts: bool = False


class Notice(Struct, frozen=True):
    """The last Events about a job.

    Attributes:
        reason: Why it waits; empty if there was no Event yet.
        note: Keys and annotations without effect.
        at: When the Event about the reason was written, seconds since the epoch.
    """

    reason: str = ""
    note: str = ""
    at: float = 0.0


class QueueState(Struct, frozen=True):
    """See the module.

    Attributes:
        known: Jobs that an earlier pass viewed.
        complete: Jobs whose gang was whole before the store saw it, as far as that can be inferred:
            what they lack was lost, their burst is not broken.
        open: Jobs with reservations or a broken burst, to be viewed even if nothing of them waits.
        backoff: Jobs that gave reservations back.
        lost_since: Released pods without a usable pinned node, since when (monotonic).
        partial_since: Jobs that are neither unbound nor whole, and when that began or the last
            member was bound (monotonic).
        most_bound: Of each of them, how many members have been bound at one time.
        refused: Pinned nodes that kube-scheduler did not offer for a pod.
        notices: The last Events about each job.
        turned_away: Direct gangs that filter refused: they wait in the queue.
        running: Jobs whose gang is whole and has not ended, since when (seconds since the epoch).
        runs: How long the last runs of a name took, in seconds, the newest last; names in the order
            of their last run.
        stated_ratios: Of the last runs whose owner stated a duration: how long they took, as a
            multiple of it; the newest last.
        priced: Jobs with a utility that were priced and have no slot plan.
    """

    known: frozenset[JobKey] = frozenset()
    complete: frozenset[JobKey] = frozenset()
    open: frozenset[JobKey] = frozenset()
    backoff: Mapping[JobKey, Backoff] = {}
    lost_since: Mapping[Uid, float] = {}
    partial_since: Mapping[JobKey, float] = {}
    most_bound: Mapping[JobKey, int] = {}
    refused: Mapping[Uid, frozenset[NodeName]] = {}
    notices: Mapping[JobKey, Notice] = {}
    turned_away: frozenset[JobKey] = frozenset()
    running: Mapping[JobKey, float] = {}
    runs: Mapping[str, tuple[float, ...]] = {}
    stated_ratios: tuple[float, ...] = ()
    priced: Mapping[JobKey, Priced] = {}


def refuse(state: QueueState, refusals: Iterable[tuple[Uid, NodeName]]) -> QueueState:
    """Add planned nodes that kube-scheduler did not offer for these pods."""
    refused = dict(state.refused)
    for uid, node in refusals:
        refused[uid] = refused.get(uid, frozenset()) | {node}
    return replace(state, refused=refused)


def turn_away(state: QueueState, turned_away: Iterable[JobKey]) -> QueueState:
    """Add direct gangs for which filter had no reservations."""
    return replace(state, turned_away=state.turned_away.union(turned_away))


def price(state: QueueState, priced: Mapping[JobKey, Priced] | None) -> QueueState:
    """Replace why jobs have no plan; None: as before."""
    return state if priced is None else replace(state, priced=priced)
