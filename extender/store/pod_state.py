"""Where one pod stands: what its observed object and our assumptions about it say together.

Every index of the store is a sum over standings, so this is the one place with the rules:

========================  ==========================  =======================================
pod                       reservation                 takes room
========================  ==========================  =======================================
bound, observed           none                        on its node until it has finished
bound, assumed            where we bound it           there
unbound                   assumed, else annotation,   where its reservation is
                          else promised
unbound and deleting,     none (it cannot be bound)   nowhere
or to be replaced
finished                  none                        nowhere
========================  ==========================  =======================================

An annotation counts only for pods of our scheduler that nobody gates: one with a foreign gate
cannot be bound, and would hold its room for as long as its owner likes.
"""

from dataclasses import dataclass

from msgspec.structs import replace

from extender.core.cluster import replacements
from extender.core.cluster.snapshot import Reservation
from extender.core.kinds import registry
from extender.core.kinds.base import integer
from extender.store.assumed import Act, Assumption
from shared import labels
from shared.model import JobKey, NodeName, Pod


@dataclass(frozen=True)
class PodState:
    """What the indices hold of one pod.

    Attributes:
        pod: The pod as decisions see it.
        job: Its job; None if it is not of our scheduler.
        bound: Node it is bound to.
        reservation: Place kept for it.
        takes: Node on which it takes room.
        waits: It is ours, not bound, not finished, not deleting.
        marked: We have begun to replace it, and it is not seen or assumed to be deleted.
        placed: It is ours, seen bound, and counts for its gang: it has neither failed nor leaves.
    """

    pod: Pod
    job: JobKey | None
    bound: NodeName | None
    reservation: Reservation | None
    takes: NodeName | None
    waits: bool
    marked: bool
    placed: bool


def standing(pod: Pod, assumptions: tuple[Assumption, ...], scheduler_name: str) -> PodState:
    """Put an observed pod and the assumptions about it together."""
    latest = {assumption.act: assumption for assumption in assumptions}
    ours = pod.scheduler_name == scheduler_name
    marked = ours and Act.DELETE not in latest and not pod.deleting and replacements.is_marked(pod)
    leaves = Act.DELETE in latest or (marked and not pod.finished)
    seen = replace(pod, deleting=True) if leaves else pod
    bind = latest.get(Act.BIND)
    bound = pod.node_name or (bind.node if bind else None)
    reservation = _reservation(seen, latest, ours=ours)
    place = bound or (reservation.node if reservation else None)
    return PodState(
        pod=seen,
        job=registry.job_key(pod) if ours else None,
        bound=bound,
        reservation=reservation,
        takes=None if pod.finished else place,
        waits=ours and bound is None and not (seen.finished or seen.deleting),
        marked=marked,
        placed=ours and pod.node_name is not None and _counts(seen),
    )


def _counts(pod: Pod) -> bool:
    return pod.phase == "Succeeded" or not (pod.finished or pod.deleting)


def _reservation(pod: Pod, latest: dict[Act, Assumption], *, ours: bool) -> Reservation | None:
    if pod.node_name is not None or pod.finished:
        return None
    bind, assumed = latest.get(Act.BIND), latest.get(Act.RESERVE)
    observed = _annotated(pod) if ours else None
    planned = _assumed(assumed) if assumed else observed
    if planned is None and (promised := latest.get(Act.PROMISE)):
        planned = _assumed(promised)
    if bind is None:
        return None if pod.deleting else planned
    if planned is not None and planned.node == bind.node:
        return planned
    return _assumed(bind)


def _assumed(assumption: Assumption) -> Reservation:
    node, plan, size = assumption.node, assumption.plan, assumption.plan_size
    return Reservation(node, plan, size, assumed=True, decision=assumption.decision)


def _annotated(pod: Pod) -> Reservation | None:
    node = pod.annotations.get(labels.NODE)
    if not node or pod.gates:
        return None
    return Reservation(
        node=NodeName(node),
        plan=pod.annotations.get(labels.PLAN, ""),
        plan_size=integer(pod.annotations.get(labels.PLAN_SIZE)) or 0,
        assumed=False,
    )
