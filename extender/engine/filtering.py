"""Which of the nodes that kube-scheduler offers may take a pod.

* A pod of another scheduler passes unchanged.
* A pod with a seat passes on its planned node alone.
* A pod released without a pin, and a single pod without our gate, pass wherever bound pods and
  seats leave room.
* A member of a gang without our gate is refused everywhere.

Every message is constant: kube-scheduler writes it into the pod's status, and a text that changes
would wake the pod again and again.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from extender.adapters import registry
from extender.engine import modelling
from extender.engine.above import above
from extender.engine.snapshot import Snapshot
from shared import labels
from shared.model import NodeName, Pod

PLANNED_ELSEWHERE: Final = "shuntyard: planned on another node"
PLANNED_NOT_OFFERED: Final = "shuntyard: the planned node was not offered"
NO_ROOM_BESIDE_SEATS: Final = "shuntyard: no room beside the seats of others"
GATE_REQUIRED: Final = "shuntyard: a gang needs the scheduling gate shuntyard.io/queue"


@dataclass(frozen=True)
class FilterVerdict:
    """Answer to the filter verb.

    Attributes:
        passed: Names out of the request, in its order.
        failed: Refused node -> constant message; kube-scheduler may try preemption there.
        unresolvable: Refused node -> constant message; preemption would not help.
        error: The whole call failed; kube-scheduler retries the pod with back-off.
        not_offered: The planned node, if kube-scheduler's own filters had refused it.
    """

    passed: tuple[str, ...] = ()
    failed: Mapping[str, str] = field(default_factory=dict)
    unresolvable: Mapping[str, str] = field(default_factory=dict)
    error: str = ""
    not_offered: NodeName | None = None


def filter_nodes(
    snapshot: Snapshot, pod: Pod, names: Sequence[str], scheduler_name: str
) -> FilterVerdict:
    """Judge the offered nodes for a pod as kube-scheduler sent it."""
    if pod.scheduler_name != scheduler_name:
        return FilterVerdict(passed=tuple(names))
    planned = planned_node(snapshot, pod)
    if planned is not None:
        return _planned(planned, names)
    if labels.PLAN not in pod.annotations and _gang_size(snapshot, pod) != 1:
        return FilterVerdict(unresolvable=dict.fromkeys(names, GATE_REQUIRED))
    return _with_room(snapshot, pod, names)


def planned_node(snapshot: Snapshot, pod: Pod) -> NodeName | None:
    """Return the node a pod must go to; None for pods we do not pin.

    A pod that our watch has not shown yet is judged by its own annotation.
    """
    if modelling.unmodelled(snapshot, pod):
        return None
    if seat := snapshot.seats.get(pod.uid):
        return seat.node
    known = snapshot.pods.get(pod.key)
    annotated = pod.annotations.get(labels.NODE)
    if annotated is None or (known is not None and known.uid == pod.uid):
        return None
    return NodeName(annotated)


def _planned(planned: NodeName, names: Sequence[str]) -> FilterVerdict:
    if planned in names:
        others = (name for name in names if name != planned)
        return FilterVerdict((planned,), failed=dict.fromkeys(others, PLANNED_ELSEWHERE))
    return FilterVerdict(
        failed=dict.fromkeys(names, PLANNED_NOT_OFFERED),
        not_offered=planned,
    )


def _gang_size(snapshot: Snapshot, pod: Pod) -> int | None:
    return registry.membership(pod, above(snapshot, pod)).size


def _with_room(snapshot: Snapshot, pod: Pod, names: Sequence[str]) -> FilterVerdict:
    room = snapshot.room
    feasible = room.feasible(pod.shape)
    index = room.index
    passed = tuple(n for n in names if (i := index.get(NodeName(n))) is not None and feasible[i])
    refused = set(names).difference(passed)
    failed = {name: NO_ROOM_BESIDE_SEATS for name in names if name in refused}
    return FilterVerdict(passed, failed=failed)
