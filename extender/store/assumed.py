"""The state of one pod: as observed, together with what we did to it and have not yet seen.

**Invariant.** An assumption lives from the write until one of three ends: the observed pod shows it
(or shows that it has become pointless), the write failed (``forget``; ``unpromise``), or it is too
old (``expire``). Nothing of it is ever written into observed state. One pod may have several: a
reservation, then a Binding, then a deletion. When the pod shows one of them, the earlier ones are
settled as well.

``pod_state`` combines both by these rules:

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

An annotation counts only for pods of our scheduler without gates: one with a foreign gate cannot be
bound, and would hold its room for as long as its owner likes.
"""

from collections.abc import Iterator, Mapping
from enum import StrEnum

from msgspec import Struct
from msgspec.structs import replace

from extender.core.cluster import replacements
from extender.core.cluster.snapshot import Reservation
from extender.core.kinds import registry
from extender.core.kinds.base import integer
from shared import labels
from shared.model import JobKey, NodeName, Pod, Uid


class Act(StrEnum):
    """What we did to a pod."""

    RESERVE = "Reserve"
    PROMISE = "Promise"
    """A reservation given in the answer to filter, or for a burst: the Binding writes it."""
    BIND = "Bind"
    DELETE = "Delete"


class Assumption(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One write of ours, or a promise to write.

    ``at`` is the time of the write, by the clock that ``expire`` is called with; ``node`` is empty
    for a deletion; ``plan``, ``plan_size`` belong to reservations, ``decision`` to promised ones,
    ``gated`` to promised ones of pods that had our gate.
    """

    uid: Uid
    act: Act
    at: float
    node: NodeName = NodeName("")
    plan: str = ""
    plan_size: int = 0
    decision: str = ""
    gated: bool = False

    @classmethod
    def reserved(
        cls, uid: Uid, node: NodeName, *, plan: str, plan_size: int, at: float
    ) -> "Assumption":
        """Record that the pod was released, or that its planned node was rewritten."""
        return cls(uid=uid, act=Act.RESERVE, node=node, plan=plan, plan_size=plan_size, at=at)

    @classmethod
    def promised(
        cls,
        uid: Uid,
        node: NodeName,
        *,
        plan_of: tuple[str, int],
        decision: str,
        at: float,
        gated: bool = False,
    ) -> "Assumption":
        """Record that the pod got a node of a plan: its name, and how many pods it binds."""
        plan, size = plan_of
        return cls(
            uid=uid,
            act=Act.PROMISE,
            node=node,
            plan=plan,
            plan_size=size,
            decision=decision,
            at=at,
            gated=gated,
        )

    @classmethod
    def bound(cls, uid: Uid, node: NodeName, *, at: float) -> "Assumption":
        """Record that we wrote the pod's Binding."""
        return cls(uid=uid, act=Act.BIND, node=node, at=at)

    @classmethod
    def deleted(cls, uid: Uid, *, at: float) -> "Assumption":
        """Record that we deleted the pod: it takes room until it is observed to be gone."""
        return cls(uid=uid, act=Act.DELETE, at=at)

    def settled_by(self, pod: Pod) -> bool:
        """Return True if the observed pod shows this assumption, or leaves it without a point."""
        if pod.finished or pod.deleting:
            return True
        if self.act is Act.DELETE:
            return False
        if pod.node_name is not None:
            return True
        if self.act is Act.PROMISE:
            return labels.NODE in pod.annotations
        return self.act is Act.RESERVE and (
            labels.GATE not in pod.gates and pod.annotations.get(labels.NODE) == self.node
        )


class Overlay:
    """The assumptions of all pods."""

    def __init__(self) -> None:
        self._by_uid: dict[Uid, tuple[Assumption, ...]] = {}

    def of(self, uid: Uid) -> tuple[Assumption, ...]:
        """The pod's assumptions, oldest first."""
        return self._by_uid.get(uid, ())

    def all(self) -> Mapping[Uid, tuple[Assumption, ...]]:
        """Every pod that has any."""
        return self._by_uid

    def add(self, assumption: Assumption) -> None:
        """Remember one more; it overrides earlier ones of the same act."""
        self._set(assumption.uid, (*self.of(assumption.uid), assumption))

    def forget(self, uid: Uid) -> bool:
        """Take the latest back; False if there is none."""
        held = self.of(uid)
        self._set(uid, held[:-1])
        return bool(held)

    def unpromise(self, uid: Uid) -> bool:
        """Withdraw a promised reservation; False if there is none."""
        held = self.of(uid)
        self._set(uid, tuple(a for a in held if a.act is not Act.PROMISE))
        return len(held) != len(self.of(uid))

    def drop(self, uid: Uid) -> None:
        """The pod is gone, and with it whatever we assumed of it."""
        self._by_uid.pop(uid, None)

    def settle(self, pod: Pod) -> None:
        """Drop what the observed pod shows, and what we did before that."""
        held = self.of(pod.uid)
        shown = [i for i, assumption in enumerate(held) if assumption.settled_by(pod)]
        if shown:
            self._set(pod.uid, held[shown[-1] + 1 :])

    def expire(self, before: float) -> tuple[Uid, ...]:
        """Drop every write earlier than ``before``; return whose, sorted. Promises are kept."""
        late = sorted(uid for uid, held in self._by_uid.items() if any(_late(held, before)))
        for uid in late:
            self._set(uid, tuple(a for a in self.of(uid) if not _is_late(a, before)))
        return tuple(late)

    def _set(self, uid: Uid, held: tuple[Assumption, ...]) -> None:
        if held:
            self._by_uid[uid] = held
        else:
            self._by_uid.pop(uid, None)


def _late(held: tuple[Assumption, ...], before: float) -> Iterator[bool]:
    return (_is_late(assumption, before) for assumption in held)


def _is_late(assumption: Assumption, before: float) -> bool:
    return assumption.at < before and assumption.act is not Act.PROMISE


class PodState(Struct, frozen=True, gc=False):
    """What the indices hold of one pod; nothing in it can lead back to it.

    Attributes:
        pod: The pod as decisions see it.
        job: Its job; None if it is not of our scheduler.
        bound: Node it is bound to.
        reservation: Place kept for it.
        takes: Node on which it takes room.
        waits: It is ours, not bound, not finished, not deleting.
        marked: We have begun to replace it, and it is not seen or assumed to be deleted.
        provisional: It is the copy of a pod of which we have not sent the deletion; likewise.
        placed: It is ours, seen bound, and counts for its gang: it has neither failed nor leaves.
    """

    pod: Pod
    job: JobKey | None
    bound: NodeName | None
    reservation: Reservation | None
    takes: NodeName | None
    waits: bool
    marked: bool
    provisional: bool
    placed: bool


def pod_state(pod: Pod, assumptions: tuple[Assumption, ...], scheduler_name: str) -> PodState:
    """Put an observed pod and the assumptions about it together."""
    latest = {assumption.act: assumption for assumption in assumptions}
    ours = pod.scheduler_name == scheduler_name
    stays = ours and Act.DELETE not in latest and not pod.deleting
    marked = stays and replacements.is_marked(pod)
    leaves = Act.DELETE in latest or (marked and not pod.finished)
    shown = replace(pod, deleting=True) if leaves else pod
    bind = latest.get(Act.BIND)
    bound = pod.node_name or (bind.node if bind else None)
    reservation = _reservation(shown, latest, ours=ours)
    place = bound or (reservation.node if reservation else None)
    return PodState(
        pod=shown,
        job=registry.job_key(pod) if ours else None,
        bound=bound,
        reservation=reservation,
        takes=None if pod.finished else place,
        waits=ours and bound is None and not (shown.finished or shown.deleting),
        marked=marked,
        provisional=stays and replacements.is_provisional(pod),
        placed=ours and pod.node_name is not None and _counts(shown),
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
    return Reservation(
        node, plan, size, assumed=True, decision=assumption.decision, gated=assumption.gated
    )


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
