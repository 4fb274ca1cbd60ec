"""What is remembered of resizes from one pass to the next.

A value, as in ``core.queue.state``: it goes in and comes out of every pass.
"""

from collections.abc import Iterable, Mapping
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from extender.core.cluster.session import Backoff, strike
from extender.core.cpu_shares.commands import Resized, ResizeResult
from extender.core.cpu_shares.effort import Effort
from extender.core.cpu_shares.portions import WeightedPod
from shared.model import Uid

DEFERRED_SECONDS: Final = 120.0
"""A node may take so long to find room for what it was asked to grant."""
FIRST_REST_SECONDS: Final = 60.0
MOST_REST_SECONDS: Final = 3600.0
"""A pod that was refused a change is not weighed for a minute, two, four, … an hour."""
PAUSE_SECONDS: Final = 10.0
"""After a refusal a pod is not touched at all for so long; a change that is not seen after the
same time did not happen."""
INFEASIBLE: Final = "Infeasible"


class Sent(Struct, frozen=True):
    """A change that must show: the request and the note, until it is given up (monotonic)."""

    milli: int
    noted: bool
    until: float


class Pending(Struct, frozen=True):
    """A change that its node has not granted: why, since when, and whether the pod rests for it."""

    reason: str
    since: float
    struck: bool


class CpuSharesState(Struct, frozen=True):
    """What is remembered from one pass to the next; losing it costs time, not correctness.

    Attributes:
        efforts: What steps cost, by pod.
        silent_since: Pods with a changed request of which too little is known, since when.
        pending: Changes that nodes have not granted.
        rests: Pods that are not weighed for a while.
        pauses: Pods that are not touched, until when.
        sent: Changes not seen yet.
    """

    efforts: Mapping[Uid, Effort] = {}
    silent_since: Mapping[Uid, float] = {}
    pending: Mapping[Uid, Pending] = {}
    rests: Mapping[Uid, Backoff] = {}
    pauses: Mapping[Uid, float] = {}
    sent: Mapping[Uid, Sent] = {}


def learned(memory: CpuSharesState, outcomes: Iterable[ResizeResult], now: float) -> CpuSharesState:
    """Remember what came of the last pass's commands; ``now`` is monotonic."""
    rests, pauses, sent = dict(memory.rests), dict(memory.pauses), dict(memory.sent)
    for outcome in outcomes:
        asked = outcome.asked
        if outcome.result in {Resized.DONE, Resized.UNCLEAR}:
            sent[asked.uid] = Sent(asked.to_milli, not asked.restores, now + PAUSE_SECONDS)
        elif outcome.result is Resized.REFUSED:
            pauses[asked.uid] = now + PAUSE_SECONDS
            _rest(rests, asked.uid, now)
    return replace(memory, rests=rests, pauses=pauses, sent=sent)


def _rest(rests: dict[Uid, Backoff], uid: Uid, now: float) -> None:
    strike(rests, uid, now, first=FIRST_REST_SECONDS, most=MOST_REST_SECONDS)


def kept(
    memory: CpuSharesState, everybody: Mapping[Uid, WeightedPod], now: float
) -> CpuSharesState:
    """Forget pods that are gone, changes that show, and what is over; ``now`` is monotonic."""
    return CpuSharesState(
        efforts={u: e for u, e in memory.efforts.items() if u in everybody},
        silent_since={u: at for u, at in memory.silent_since.items() if u in everybody},
        pending={u: p for u, p in memory.pending.items() if u in everybody},
        rests={u: r for u, r in memory.rests.items() if u in everybody},
        pauses={u: at for u, at in memory.pauses.items() if u in everybody and now < at},
        sent={
            u: s
            for u, s in memory.sent.items()
            if u in everybody and now < s.until and not _shows(everybody[u], s)
        },
    )


def _shows(one: WeightedPod, sent: Sent) -> bool:
    return (one.now_milli, one.noted) == (sent.milli, sent.noted)


def followed_pending(
    memory: CpuSharesState, everybody: Mapping[Uid, WeightedPod], now: float
) -> tuple[CpuSharesState, tuple[str, ...]]:
    """Give up changes that cannot be granted, at once, and those that are not granted in time.

    Also returns the reasons of those that are newly seen; ``now`` is monotonic.
    """
    pending: dict[Uid, Pending] = {}
    rests, found = dict(memory.rests), []
    for uid, one in everybody.items():
        reason = one.pod.resize_pending if one.noted else ""
        if not reason:
            continue
        known = memory.pending.get(uid)
        if known is None or known.reason != reason:
            known = Pending(reason, now, struck=False)
            found.append(reason)
        late = reason == INFEASIBLE or now - known.since >= DEFERRED_SECONDS
        if late and not known.struck:
            _rest(rests, uid, now)
            known = replace(known, struck=True)
        pending[uid] = known
    return replace(memory, pending=pending, rests=rests), tuple(found)
