"""A heartbeat becomes part of what is known of its node.

**Invariant.** A report that is ``complete`` holds exactly the pods that the agent knew when it sent
the heartbeat of that sequence: a full report, and since then every change in order.

==========================================  ====================================================
heartbeat                                   what is known afterwards
==========================================  ====================================================
full                                        what it says, nothing else; complete
changes, to a complete report of that life  the report with those pods put and those gone taken away
changes, to anything else                   the node's own figures and no pod; not complete
not newer than the last of its life         what was known: it came twice, or late
==========================================  ====================================================

A gap in the sequence is none in the content: an agent repeats its changes until a heartbeat with
them is answered. Changes are never merged into a report that is not complete, so that nothing in a
report can be older than it seems; the agent is asked for a full report instead.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from shared.model import NodeName, Uid
from shared.progress import NodeReport, PodReport, Use

MOST_PODS: Final = 1000
"""Pods in one report: as many as a full heartbeat may hold."""


class Kind(StrEnum):
    """What a heartbeat is to what is known."""

    FULL = "full"
    CHANGES = "changes"
    REPEATED = "repeated"
    """Not newer than the last one of its life: it changes nothing."""
    BASELESS = "baseless"
    """Changes to a report that we do not have, or do not have whole."""


class NodeHeartbeat(Struct, frozen=True, kw_only=True):
    """A heartbeat, as far as decisions read it; the fields as in ``NodeReport``.

    Attributes:
        full: ``pods`` are all there are; otherwise those that changed.
        gone: Pods that are there no more; they are also gone if ``pods`` names them.
    """

    node: NodeName
    boot: str
    sequence: int
    sent_at: float
    received_at: float
    full: bool
    use: Use | None = None
    cpu_cores: float | None = None
    pods: tuple[PodReport, ...] = ()
    gone: tuple[Uid, ...] = ()
    dropped: int = 0


def kind(known: NodeReport | None, heard: NodeHeartbeat) -> Kind:
    """Return what a heartbeat is to ``known``, the report of its node so far."""
    same_life = known is not None and known.boot == heard.boot
    if known is not None and same_life and heard.sequence <= known.sequence:
        return Kind.REPEATED
    if heard.full:
        return Kind.FULL
    whole = known is not None and same_life and known.complete
    return Kind.CHANGES if whole else Kind.BASELESS


def merged(known: NodeReport | None, heard: NodeHeartbeat) -> NodeReport:
    """Return the node's report after a heartbeat; ``known`` itself if that changes nothing.

    Changes that would make more than ``MOST_PODS`` pods leave none: the report is not complete,
    and the full one that is then asked for holds no more than that.
    """
    match kind(known, heard):
        case Kind.REPEATED if known is not None:
            return known
        case Kind.FULL:
            return _report(heard, _put({}, heard), complete=True)
        case Kind.CHANGES if known is not None:
            pods = _put(known.pods, heard)
            if len(pods) <= MOST_PODS:
                return _report(heard, pods, complete=True)
    return _report(heard, {}, complete=False)


def stirs(known: NodeReport | None, report: NodeReport) -> bool:
    """Return True if a decision may be waiting for what is new in ``report``.

    That is: the node became known as a whole, a pod came or went, changed its category, or its
    checkpoint went on. Steps and values alone wake no decision.
    """
    if known is None or known.complete != report.complete:
        return True
    if known.pods is report.pods:
        return False
    if known.pods.keys() != report.pods.keys():
        return True
    return any(_differs(known.pods[uid], pod) for uid, pod in report.pods.items())


def for_the_log(heard: NodeHeartbeat) -> NodeHeartbeat:
    """Return the heartbeat without its curves: they are shown only, and a good part of its size."""
    return replace(heard, pods=tuple(_without_curve(pod) for pod in heard.pods))


def _put(pods: Mapping[Uid, PodReport], heard: NodeHeartbeat) -> dict[Uid, PodReport]:
    found = {**pods, **{pod.uid: pod for pod in heard.pods}}
    for uid in heard.gone:
        found.pop(uid, None)
    return found


def _report(heard: NodeHeartbeat, pods: Mapping[Uid, PodReport], *, complete: bool) -> NodeReport:
    return NodeReport(
        node=heard.node,
        boot=heard.boot,
        sequence=heard.sequence,
        sent_at=heard.sent_at,
        received_at=heard.received_at,
        complete=complete,
        use=heard.use,
        cpu_cores=heard.cpu_cores,
        pods=pods,
        dropped=heard.dropped,
    )


def _differs(old: PodReport, new: PodReport) -> bool:
    if old is new:
        return False
    before, after = old.progress, new.progress
    category = before.category if before else None
    return old.checkpoint != new.checkpoint or category != (after.category if after else None)


def _without_curve(pod: PodReport) -> PodReport:
    if pod.progress is None or not pod.progress.curve:
        return pod
    return replace(pod, progress=replace(pod.progress, curve=()))
