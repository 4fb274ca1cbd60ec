"""Merge of a heartbeat into the report of its node.

**Invariant.** A report that is ``complete`` holds exactly the pods that the agent knew when it sent
the heartbeat of that sequence: a full report, and since then every change in order.

==========================================  ====================================================
heartbeat                                   report afterwards
==========================================  ====================================================
full                                        the heartbeat's content alone; complete
changes, to a complete report of that life  the report with those pods put and those gone taken away
changes, to anything else                   the node's own figures and no pod; not complete
not newer than the last of its life         the report as before: it came twice, or late
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
from shared.progress import GpuHealth, NodeReport, PodReport, Use

MOST_PODS: Final = 1000
"""Pods in one report: as many as a full heartbeat may hold."""


class Kind(StrEnum):
    """How a heartbeat relates to the last report of its node."""

    FULL = "full"
    CHANGES = "changes"
    REPEATED = "repeated"
    """Not newer than the last one of its life: it changes nothing."""
    BASELESS = "baseless"
    """Changes to a report that is missing or not complete."""


class NodeHeartbeat(Struct, frozen=True, kw_only=True):
    """The parts of a heartbeat that decisions read; the fields as in ``NodeReport``.

    Attributes:
        full: ``pods`` are all pods of the node; otherwise those that changed.
        gone: Pods that no longer exist, even if ``pods`` names them.
    """

    node: NodeName
    boot: str
    sequence: int
    sent_at: float
    received_at: float
    full: bool
    use: Use | None = None
    cpu_cores: float | None = None
    gpus: GpuHealth | None = None
    pods: tuple[PodReport, ...] = ()
    gone: tuple[Uid, ...] = ()
    dropped: int = 0


def kind(before: NodeReport | None, heartbeat: NodeHeartbeat) -> Kind:
    """Return how a heartbeat relates to ``before``, the last report of its node."""
    same_life = before is not None and before.boot == heartbeat.boot
    if before is not None and same_life and heartbeat.sequence <= before.sequence:
        return Kind.REPEATED
    if heartbeat.full:
        return Kind.FULL
    whole = before is not None and same_life and before.complete
    return Kind.CHANGES if whole else Kind.BASELESS


def merged(before: NodeReport | None, heartbeat: NodeHeartbeat) -> NodeReport:
    """Return the node's report after a heartbeat; ``before`` itself if nothing changes.

    Changes that would make more than ``MOST_PODS`` pods leave none: the report is not complete,
    and the full one that is then asked for holds no more than that.
    """
    match kind(before, heartbeat):
        case Kind.REPEATED if before is not None:
            return before
        case Kind.FULL:
            return _report(heartbeat, _put({}, heartbeat), complete=True)
        case Kind.CHANGES if before is not None:
            pods = _put(before.pods, heartbeat)
            if len(pods) <= MOST_PODS:
                return _report(heartbeat, pods, complete=True)
    return _report(heartbeat, {}, complete=False)


def stirs(before: NodeReport | None, report: NodeReport) -> bool:
    """Return True if a decision may be waiting for what is new in ``report``.

    That is: the report became complete, a pod came or went, changed its category, or its
    checkpoint went on. Steps and values alone wake no decision.
    """
    if before is None or before.complete != report.complete:
        return True
    if before.pods is report.pods:
        return False
    if before.pods.keys() != report.pods.keys():
        return True
    return any(_differs(before.pods[uid], pod) for uid, pod in report.pods.items())


def for_the_log(heartbeat: NodeHeartbeat) -> NodeHeartbeat:
    """Return the heartbeat without its curves: they are only displayed, and large."""
    return replace(heartbeat, pods=tuple(_without_curve(pod) for pod in heartbeat.pods))


def _put(pods: Mapping[Uid, PodReport], heartbeat: NodeHeartbeat) -> dict[Uid, PodReport]:
    merged_pods = {**pods, **{pod.uid: pod for pod in heartbeat.pods}}
    for uid in heartbeat.gone:
        merged_pods.pop(uid, None)
    return merged_pods


def _report(
    heartbeat: NodeHeartbeat, pods: Mapping[Uid, PodReport], *, complete: bool
) -> NodeReport:
    return NodeReport(
        node=heartbeat.node,
        boot=heartbeat.boot,
        sequence=heartbeat.sequence,
        sent_at=heartbeat.sent_at,
        received_at=heartbeat.received_at,
        complete=complete,
        use=heartbeat.use,
        cpu_cores=heartbeat.cpu_cores,
        gpus=heartbeat.gpus,
        pods=pods,
        dropped=heartbeat.dropped,
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
