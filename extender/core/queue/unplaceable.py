"""Jobs that the nodes of today could not hold even if all were empty are shown to autoscalers.

Autoscalers add nodes for pods that kube-scheduler calls ``Unschedulable``. Behind our gate a pod is
``SchedulingGated``, which is right as long as it only waits for others to end; but a job that waits
for nodes which do not exist would wait for ever. So after a time its gate goes, and nothing else:
it is a direct gang then (``direct_gangs``), which filter refuses until a pass plans all of it.
It is still placed whole or not at all, and holds nothing while it waits.

Off unless the settings say after how long.
"""

from collections.abc import Iterable, Iterator
from typing import Final

import numpy as np

from extender.core.cluster.commands import Command, EmitEvent, OpenGate
from extender.core.cluster.jobs import Job, State
from extender.core.cluster.session import Session
from extender.core.cluster.snapshot import Kept, Slot, Snapshot
from extender.core.nodes.node_table import NodeTable
from extender.core.parameters.combined import CoreParameters
from extender.core.placement import planner
from extender.core.placement.planner import Refusal
from extender.core.queue.notices import QueueEntry
from shared.model import HostPort

SHOWN: Final = "GateRemoved"
"""Event reason: the job waits without our gate from now on."""
MESSAGE: Final = (
    "the nodes could not hold the job even if all were empty: it waits without the gate, so that "
    "an autoscaler may add nodes"
)
_NOT_NEW: Final = (State.HELD, State.BOUND, State.RESERVED, State.LOOSE)


def shown(entries: Iterable[QueueEntry], session: Session) -> Iterator[Command]:
    """Yield the commands that show to autoscalers the jobs for which there are no nodes."""
    snapshot, params, now = session.snapshot, session.parameters, session.now
    patience = params.show_unplaceable_seconds
    if patience is None:
        return
    for entry in entries:
        job = entry.job
        old_enough = now - job.created_at >= patience
        if not old_enough or not entry.reason.nodes_help or not _may_be_shown(job):
            continue
        if _fits_the_empty_cluster(job, snapshot, params):
            continue
        gated = job.having(State.GATED)
        yield OpenGate(job.key, tuple((member.pod.key, member.pod.uid) for member in gated))
        # Of its own action: the next reason for waiting does not take its place in the line.
        yield EmitEvent(job.namespace, job.about, SHOWN, MESSAGE, action="OpenGate")


def _may_be_shown(job: Job) -> bool:
    """Return True if the whole job waits behind our gate alone, and for what the planner models."""
    gated = job.having(State.GATED)
    modelled = not any(member.shape.unmodelled for member in gated)
    return bool(gated) and modelled and not job.having(*_NOT_NEW) and planner.missing(job) > 0


def _fits_the_empty_cluster(job: Job, snapshot: Snapshot, params: CoreParameters) -> bool:
    """Return True if the planner places it; one search for equal jobs as long as the nodes stay."""
    result = planner.plan_cached(
        snapshot.cache, job, _empty(snapshot), params, 0.0, was_whole=False, targets={}
    )
    return not isinstance(result, Refusal)


_EMPTIED: Final[Slot[Kept[str, NodeTable]]] = Slot(Kept)


def _empty(snapshot: Snapshot) -> NodeTable:
    """Return the nodes without pods: the same object until a node changes."""
    table, cache = snapshot.node_table, snapshot.cache.of(_EMPTIED)
    source = (table.nodes, table.resources)
    emptied = cache.get("", source)
    if emptied is None:
        no_ports: tuple[frozenset[HostPort], ...] = tuple(frozenset() for _ in table.nodes)
        emptied = table.replaced(used=np.zeros_like(table.used), ports=no_ports)
        cache.put("", source, emptied)
    return emptied
