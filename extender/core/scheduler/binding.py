"""Binding: whether a pod may be bound, when its gang may, and why a call fails.

A gang is bound when every member with a reservation has reached bind, and together with the placed
ones they are as many as the gang needs. A member that joins a whole gang is bound at once. After an
error kube-scheduler tries the pod again with back-off.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Final

from extender.core.cluster import job_views, pod_shape
from extender.core.cluster.jobs import Member, State
from extender.core.cluster.snapshot import Snapshot
from extender.core.kinds import registry
from extender.core.parameters.combined import CoreParameters
from extender.core.scheduler import direct_gangs
from shared import labels
from shared.model import JobKey, NodeName, Pod, PodKey, Uid


@dataclass(frozen=True)
class CallError:
    """Why a call fails as a whole; ``text`` is shown in the pod's Events."""

    text: str


POD_GONE: Final = CallError("shuntyard: the pod is gone")
POD_LEAVING: Final = CallError("shuntyard: the pod is being deleted")
BOUND_ELSEWHERE: Final = CallError("shuntyard: the pod is bound to another node")
NODE_GONE: Final = CallError("shuntyard: the node is gone")
PLAN_CHANGED: Final = CallError("shuntyard: the pod is planned on another node")
NO_RESERVATION: Final = CallError("shuntyard: no node is reserved for the pod any more")
GANG_NOT_THERE: Final = CallError("shuntyard: the rest of the gang did not arrive in time")
NO_NEED_TO_WAIT: Final = CallError(
    "shuntyard: too many bind calls wait; the pod is bound with its gang"
)
STANDBY: Final = CallError("shuntyard: this replica is not the leader")


def binding_failed(reason: str) -> CallError:
    """Return the error of a Binding that the API server refused for a reason of its own."""
    return CallError(f"shuntyard: binding failed: {reason}")


@dataclass(frozen=True)
class Burst:
    """Members to bind now: ``first`` (ps) before ``rest``; each in order of index and name."""

    first: tuple[Uid, ...]
    rest: tuple[Uid, ...]


def objection(
    snapshot: Snapshot, key: PodKey, uid: Uid, node: NodeName, params: CoreParameters
) -> CallError | None:
    """Return why this pod cannot be bound to this node; None if it can.

    The plan of a pod of another scheduler is ignored, whatever its annotations name.
    """
    pod = snapshot.pods.get(key)
    if pod is None or pod.uid != uid:
        return POD_GONE
    if pod.deleting or pod.finished:
        return POD_LEAVING
    bound = snapshot.bound.get(uid)
    if bound is not None and bound != node:
        return BOUND_ELSEWHERE
    if node not in snapshot.node_table.index:
        return NODE_GONE
    if pod.scheduler_name != params.scheduler_name:
        return None
    return _against_the_plan(snapshot, pod, node)


def _against_the_plan(snapshot: Snapshot, pod: Pod, node: NodeName) -> CallError | None:
    planned = planned_node(snapshot, pod)
    if planned is None:
        unreserved = pod.uid not in snapshot.bound and pod.uid not in snapshot.reservations
        return (
            NO_RESERVATION if unreserved and direct_gangs.needs_reservation(snapshot, pod) else None
        )
    return PLAN_CHANGED if planned != node else None


def is_bound(snapshot: Snapshot, uid: Uid, node: NodeName) -> bool:
    """Return True if the pod is bound to that node already (a repeated call)."""
    return snapshot.bound.get(uid) == node


def burst(
    snapshot: Snapshot, pod: Pod, arrived: Collection[Uid], params: CoreParameters
) -> Burst | None:
    """Return the pods to bind now that ``arrived`` have reached bind; None: wait for the others.

    Args:
        snapshot: The cluster.
        pod: A pod that has arrived.
        arrived: Uids of all pods that wait at bind, of any job.
        params: Of the core.
    """
    if pod.scheduler_name != params.scheduler_name:
        return Burst((), (pod.uid,))
    key = registry.job_key(pod)
    if _is_left_alone(pod):
        others = (p for p in snapshot.jobs[key] if p.uid in arrived and _is_left_alone(p))
        return Burst((), tuple(p.uid for p in others))
    job = job_views.view(snapshot, key)
    arrived_members = [
        m for m in job.having(State.RESERVED, State.LOOSE, State.DIRECT) if m.pod.uid in arrived
    ]
    due = {m.pod.uid for m in job.having(State.RESERVED, State.LOOSE)}
    size = job.min_available or 1
    if job.placed < size and (due.difference(arrived) or job.placed + len(arrived_members) < size):
        return None
    return _in_order(arrived_members)


def annotations(
    snapshot: Snapshot, pod: Pod, generations: Mapping[JobKey, int]
) -> Mapping[str, str]:
    """Return what the Binding writes on the pod beside its node.

    The number of the job's start, of ``generations``; the decision; and for a promised reservation
    everything that a release would have written: from then on the pod itself names its plan.
    """
    notes, reservation = pod.annotations, snapshot.reservations.get(pod.uid)
    promised = reservation is not None and reservation.promised
    decision = notes.get(labels.DECISION) or (reservation.decision if reservation else "")
    number = generations.get(registry.job_key(pod))
    written = {} if number is None else {labels.GENERATION: str(number)}
    if decision:
        written[labels.DECISION] = decision
    if reservation is None or labels.PLAN in notes:
        return written
    if labels.GATE in pod.gates and not promised:  # our release names the plan; it is on its way
        return written
    plan = {labels.PLAN: reservation.plan, labels.PLAN_SIZE: str(reservation.plan_size)}
    direct = {} if reservation.gated else {labels.DIRECT: "true"}
    return {**written, labels.NODE: reservation.node, **plan, **direct}


def _is_left_alone(pod: Pod) -> bool:
    """Return True if kube-scheduler itself keeps the pod's gang whole: it has done so already."""
    ours = labels.PLAN in pod.annotations or labels.GATE in pod.gates
    return bool(pod.scheduling_group) and not ours


def _in_order(members: list[Member]) -> Burst:
    ranked = sorted(members, key=lambda m: (m.rank, m.pod.name))
    return Burst(
        first=tuple(m.pod.uid for m in ranked if m.role == "ps"),
        rest=tuple(m.pod.uid for m in ranked if m.role != "ps"),
    )


def planned_node(snapshot: Snapshot, pod: Pod) -> NodeName | None:
    """Return the node a pod must go to; None for pods we do not pin.

    A pod that our watch has not shown yet is judged by its own annotation.
    """
    if pod_shape.unmodelled(snapshot, pod):
        return None
    if reservation := snapshot.reservations.get(pod.uid):
        return reservation.node
    observed = snapshot.pods.get(pod.key)
    annotated = pod.annotations.get(labels.NODE)
    if annotated is None or (observed is not None and observed.uid == pod.uid):
        return None
    return NodeName(annotated)
