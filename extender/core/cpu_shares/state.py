"""The state of the decision: resizes under way, and pauses after refused ones."""

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
"""A node may take so long to grant a request."""
FIRST_REST_SECONDS: Final = 60.0
MOST_REST_SECONDS: Final = 3600.0
"""A pod whose resize was refused is not weighed for a minute, two, four, … an hour."""
PAUSE_SECONDS: Final = 10.0
"""After a refusal a pod is not touched for so long; a change not observed after the same time did
not happen."""
INFEASIBLE: Final = "Infeasible"


class Sent(Struct, frozen=True):
    """A change to be observed: the request and the note, until it is given up (monotonic)."""

    milli: int
    noted: bool
    until: float


class Pending(Struct, frozen=True):
    """A change that its node has not granted: why, since when, and whether the pod rests for it."""

    reason: str
    since: float
    struck: bool


class CpuSharesState(Struct, frozen=True):
    """State that one pass leaves for the next; losing it costs time, not correctness.

    Attributes:
        efforts: CPU time of steps, by pod.
        silent_since: Pods with a changed request and without enough reports, since when.
        pending: Changes that nodes have not granted.
        rests: Pods that are not weighed for a while.
        pauses: Pods that are not touched, until when.
        sent: Changes not observed yet.
    """

    efforts: Mapping[Uid, Effort] = {}
    silent_since: Mapping[Uid, float] = {}
    pending: Mapping[Uid, Pending] = {}
    rests: Mapping[Uid, Backoff] = {}
    pauses: Mapping[Uid, float] = {}
    sent: Mapping[Uid, Sent] = {}


def learned(state: CpuSharesState, results: Iterable[ResizeResult], now: float) -> CpuSharesState:
    """Add the outcomes of the last pass's commands; ``now`` is monotonic."""
    rests, pauses, sent = dict(state.rests), dict(state.pauses), dict(state.sent)
    for outcome in results:
        asked = outcome.asked
        if outcome.result in {Resized.DONE, Resized.UNCLEAR}:
            sent[asked.uid] = Sent(asked.to_milli, not asked.restores, now + PAUSE_SECONDS)
        elif outcome.result is Resized.REFUSED:
            pauses[asked.uid] = now + PAUSE_SECONDS
            _rest(rests, asked.uid, now)
    return replace(state, rests=rests, pauses=pauses, sent=sent)


def _rest(rests: dict[Uid, Backoff], uid: Uid, now: float) -> None:
    strike(rests, uid, now, first=FIRST_REST_SECONDS, most=MOST_REST_SECONDS)


def kept(state: CpuSharesState, pods: Mapping[Uid, WeightedPod], now: float) -> CpuSharesState:
    """Drop pods that are gone, observed changes and ended pauses; ``now`` is monotonic."""
    return CpuSharesState(
        efforts={u: e for u, e in state.efforts.items() if u in pods},
        silent_since={u: at for u, at in state.silent_since.items() if u in pods},
        pending={u: p for u, p in state.pending.items() if u in pods},
        rests={u: r for u, r in state.rests.items() if u in pods},
        pauses={u: at for u, at in state.pauses.items() if u in pods and now < at},
        sent={
            u: s
            for u, s in state.sent.items()
            if u in pods and now < s.until and not _is_observed(pods[u], s)
        },
    )


def _is_observed(pod: WeightedPod, sent: Sent) -> bool:
    return (pod.now_milli, pod.noted) == (sent.milli, sent.noted)


def followed_pending(
    state: CpuSharesState, pods: Mapping[Uid, WeightedPod], now: float
) -> tuple[CpuSharesState, tuple[str, ...]]:
    """Give up changes that cannot be granted, at once, and those that are not granted in time.

    Also returns the reasons of new ones; ``now`` is monotonic.
    """
    pending: dict[Uid, Pending] = {}
    rests, new_reasons = dict(state.rests), []
    for uid, weighted in pods.items():
        reason = weighted.pod.resize_pending if weighted.noted else ""
        if not reason:
            continue
        change = state.pending.get(uid)
        if change is None or change.reason != reason:
            change = Pending(reason, now, struck=False)
            new_reasons.append(reason)
        late = reason == INFEASIBLE or now - change.since >= DEFERRED_SECONDS
        if late and not change.struck:
            _rest(rests, uid, now)
            change = replace(change, struck=True)
        pending[uid] = change
    return replace(state, pending=pending, rests=rests), tuple(new_reasons)
