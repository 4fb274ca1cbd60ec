"""Which of the nodes that kube-scheduler offers may take a pod.

* A pod of another scheduler passes unchanged.
* A pod of which the spec is more than we read (``Pod.excess``) passes nowhere.
* A pod that is bound already passes on its own node alone: kube-scheduler has not observed it yet.
* A pod with a reservation passes on its planned node alone.
* A second pod of an index of a Job passes nowhere (``index_copies``).
* A single pod without our gate passes on the node where the planner would put it: a gang of one
  (docs/adr/0009-one-node-for-a-single-pod.md). Nothing is kept for it; a second call plans it
  again.
* A single pod without our gate whose job comes back after it was parked passes on the node that is
  kept for it.
* A single pod without our gate is refused while its namespace may not hold more
  (``namespace_shares``).
* A pod released without a pin, a member of a gang that kube-scheduler itself keeps whole, and a
  single pod of which kube-scheduler knows more than we (what is not modelled, what the pod only
  prefers, a topology) pass wherever bound pods and reservations leave room.
* A member of a gang without our gate gets a reservation (``direct_gangs``), or is refused
  everywhere until the queue has one for it.

Every message is constant: kube-scheduler writes it into the pod's status, and a text that changes
would wake the pod again and again. Where a node passes, the others' messages have no effect and
are left out: at thousands of nodes they are most of the answer.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import compress
from typing import Final

import numpy as np

from extender.core.cluster import index_copies, job_views, pod_shape
from extender.core.cluster.snapshot import Snapshot
from extender.core.kinds import registry
from extender.core.nodes.node_table import BoolVector, NodeTable
from extender.core.parameters.combined import CoreParameters
from extender.core.placement import shared_devices
from extender.core.placement.single_pod import SINGLE_PODS
from extender.core.queue import namespace_shares, slot_gate
from extender.core.records import parked_jobs
from extender.core.scheduler import direct_gangs
from extender.core.scheduler.binding import CallError, planned_node
from extender.core.scheduler.direct_gangs import Grant, QueueView
from shared.model import NodeName, Pod, PodShape

PLANNED_NOT_OFFERED: Final = "shuntyard: the planned node was not offered"


BOUND_ALREADY: Final = "shuntyard: the pod is bound to another node"


NO_ROOM_BESIDE_RESERVATIONS: Final = "shuntyard: the free room is reserved for other jobs"


NO_RESERVATIONS: Final = "shuntyard: no nodes are reserved for the gang yet"


SECOND_OF_INDEX: Final = "shuntyard: another pod of the Job has the pod's completion index"


NO_QUOTA: Final = "shuntyard: the namespace has reached its borrowing limit"


@dataclass(frozen=True)
class FilterVerdict:
    """Answer to the filter verb.

    Attributes:
        passed: Names out of the request, in its order.
        failed: Refused node -> constant message; kube-scheduler may try preemption there.
        unresolvable: Refused node -> constant message; preemption would not help.
        nowhere: Constant message; every offered node is refused so, as ``unresolvable``.
        error: Why the whole call fails; None if it does not.
        not_offered: The planned node, if kube-scheduler's own filters had refused it.
        grant: Reservations that this answer gives away; None if it gives none.
        settled: It was the planned node's, and it was offered: what else was decides nothing.
    """

    passed: tuple[str, ...] = ()
    failed: Mapping[str, str] = field(default_factory=dict)
    unresolvable: Mapping[str, str] = field(default_factory=dict)
    nowhere: str = ""
    error: CallError | None = None
    not_offered: NodeName | None = None
    grant: Grant | None = None
    settled: bool = False


WITHOUT_RESERVATIONS: Final = FilterVerdict(nowhere=NO_RESERVATIONS)
"""The answer for a member of a gang that waits in the queue."""


def filter_nodes(
    snapshot: Snapshot,
    pod: Pod,
    names: Sequence[str],
    params: CoreParameters,
    view: QueueView = direct_gangs.NEVER,
) -> FilterVerdict:
    """Judge the offered nodes for a pod as kube-scheduler sent it."""
    if pod.scheduler_name != params.scheduler_name:
        return FilterVerdict(passed=tuple(names))
    if pod.excess:
        return FilterVerdict(nowhere=f"shuntyard: {pod.excess}")
    if (known := _known_node(snapshot, pod, names)) is not None:
        return known
    if index_copies.is_copy(snapshot, pod):
        return FilterVerdict(nowhere=SECOND_OF_INDEX)
    if not direct_gangs.needs_reservation(snapshot, pod):
        return _unplanned(snapshot, pod, names, params)
    granted = direct_gangs.grant(snapshot, pod, names, view, params)
    return WITHOUT_RESERVATIONS if granted is None else _planned(granted.node, names, granted)


def _unplanned(
    snapshot: Snapshot, pod: Pod, names: Sequence[str], params: CoreParameters
) -> FilterVerdict:
    """Judge the offered nodes for a pod that needs no reservation."""
    if not namespace_shares.may_hold(snapshot, pod, params):
        return FilterVerdict(nowhere=NO_QUOTA)
    table = slot_gate.others(snapshot.node_table, snapshot, params)
    shape = pod_shape.with_devices(snapshot, pod)
    if (limited := _apart(snapshot, pod, shape, table)) is not None:
        return _with_room(*limited, names)
    return _best(snapshot, pod, names, params) or _with_room(table, shape, names)


def _known_node(snapshot: Snapshot, pod: Pod, names: Sequence[str]) -> FilterVerdict | None:
    """Judge the offered nodes for a pod that is bound or has a planned node; None for others."""
    bound = snapshot.bound.get(pod.uid)
    if bound is not None and bound not in names:
        return FilterVerdict(failed=dict.fromkeys(names, BOUND_ALREADY))
    node = bound or planned_node(snapshot, pod) or _kept_node(snapshot, pod)
    return None if node is None else _planned(node, names)


def _kept_node(snapshot: Snapshot, pod: Pod) -> NodeName | None:
    """Return the node kept for a single pod whose job comes back after it was parked."""
    places = parked_jobs.kept_for(snapshot, registry.job_key(pod))
    if not places or direct_gangs.needs_reservation(snapshot, pod):
        return None
    return places[0][0]


def _planned(
    planned: NodeName, names: Sequence[str], granted: Grant | None = None
) -> FilterVerdict:
    if planned in names:
        return FilterVerdict((planned,), grant=granted, settled=True)
    return FilterVerdict(
        failed=dict.fromkeys(names, PLANNED_NOT_OFFERED),
        not_offered=planned,
        grant=granted,
    )


def _best(
    snapshot: Snapshot, pod: Pod, names: Sequence[str], params: CoreParameters
) -> FilterVerdict | None:
    """Let a single pod pass on its best offered node alone; None where all with room are named."""
    if not direct_gangs.is_single(snapshot, pod):
        return None
    table = slot_gate.others(snapshot.node_table, snapshot, params)
    node = snapshot.cache.of(SINGLE_PODS).node(
        pod_shape.with_devices(snapshot, pod),
        table,
        weights=params.weights,
        pricing=params.pricing,
        within=_offered(names, table),
    )
    return None if node is None else FilterVerdict((node,))


def _apart(
    snapshot: Snapshot, pod: Pod, shape: PodShape, table: NodeTable
) -> tuple[NodeTable, PodShape] | None:
    """Return nodes and shape with the limit of shared devices; None where it changes nothing."""
    key = registry.job_key(pod)
    if key not in snapshot.jobs or not shared_devices.concerns(shape, table):
        return None
    (with_limit,), limited = shared_devices.limited_shapes(
        job_views.view(snapshot, key), [shape], table
    )
    return None if limited is table else (limited, with_limit)


def _offered(names: Sequence[str], table: NodeTable) -> BoolVector | None:
    """Return which nodes were offered; None for all of them."""
    offered = frozenset(names)
    if offered.issuperset(table.index):
        return None
    return np.fromiter(map(offered.__contains__, table.index), np.bool_, len(table.index))


def _with_room(table: NodeTable, shape: PodShape, names: Sequence[str]) -> FilterVerdict:
    usable = frozenset(compress(table.index, table.feasible(shape).tolist()))
    passed = tuple(filter(usable.__contains__, names))  # thousands of names: no loop of ours
    return FilterVerdict(
        passed, {} if passed else dict.fromkeys(names, NO_ROOM_BESIDE_RESERVATIONS)
    )
