"""What agents say about pods, where it is complete and not too old."""

from extender.engine.memory import Reading
from extender.engine.snapshot import Snapshot
from shared.model import NodeName, Uid
from shared.progress import NodeReport, PodReport


def fresh(
    snapshot: Snapshot, node: NodeName, reading: Reading, stale_seconds: float
) -> NodeReport | None:
    """Return the report of a node; None unless it is complete and no older than ``stale_seconds``.

    A takeover thus waits for the first full report of every agent.
    """
    report = snapshot.reports.get(node)
    if report is None or not report.complete:
        return None
    return report if reading.monotonic - report.received_at <= stale_seconds else None


def of_pod(
    snapshot: Snapshot, uid: Uid, reading: Reading, stale_seconds: float
) -> PodReport | None:
    """Return what is freshly known of a pod on the node it is bound to; None if nothing is."""
    node = snapshot.bound.get(uid)
    report = None if node is None else fresh(snapshot, node, reading, stale_seconds)
    return None if report is None else report.pods.get(uid)
