"""What each namespace holds, and its fair share."""

import math
from collections import Counter

from extender.core.cluster.reasons import Reason
from extender.core.cluster.session import Session
from extender.core.cluster.snapshot import Snapshot
from extender.core.queue import fair_share, namespace_shares
from extender.core.queue.decision import QueueOutcome
from shared.model import PodShape
from shared.tenancy import NamespaceEntry, NamespacesResponse


def namespaces(session: Session, cycle: QueueOutcome | None, *, acting: bool) -> NamespacesResponse:
    """Return every namespace that has jobs of ours; waiting jobs are those of the last pass."""
    snapshot = session.snapshot
    entries = cycle.entries if cycle else ()
    waiting = Counter(e.job.namespace for e in entries if e.reason is not Reason.RELEASING)
    by_job = namespace_shares.by_job(snapshot)
    names = {key.partition("/")[0] for key in snapshot.jobs} | waiting.keys()
    shapes: dict[str, list[PodShape]] = {name: [] for name in names}
    running: Counter[str] = Counter()
    for key, held in by_job:
        name = key.partition("/")[0]
        running[name] += 1
        shapes[name] += held
    listed = (
        _entry(name, snapshot, shapes[name], waiting=waiting[name], running=running[name])
        for name in sorted(names)
    )
    return NamespacesResponse(
        generated_at=session.now,
        acting=acting,
        fair_share=session.parameters.fair_share.enabled,
        entries=tuple(listed),
    )


def _entry(
    name: str, snapshot: Snapshot, shapes: list[PodShape], *, waiting: int, running: int
) -> NamespaceEntry:
    entitled, problem = namespace_shares.entitlement(name, snapshot)
    room = snapshot.node_table
    total = namespace_shares.total(shapes, room)
    return NamespaceEntry(
        namespace=name,
        waiting=waiting,
        running=running,
        held={r: int(n) for r, n in zip(room.resources, total, strict=True) if n},
        share=round(fair_share.dominant_share(total, room.allocatable.sum(axis=0)), 6),
        weight=entitled.weight,
        guaranteed_share=entitled.guaranteed,
        limit=None if math.isinf(entitled.limit) else round(entitled.limit, 6),
        problem=problem,
    )
