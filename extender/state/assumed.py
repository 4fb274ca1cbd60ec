"""What we did and have not yet seen: assumptions, in the order in which we made them.

**Invariant.** An assumption lives from the write until one of three ends: the observed pod shows it
(or shows that it has become pointless), the write failed (``forget``), or it is too old
(``expire``). Nothing of it is ever written into observed state.

One pod may have several: a seat, then a Binding, then a deletion. When the pod shows one of them,
the earlier ones are settled as well.
"""

from collections.abc import Iterator, Mapping
from enum import StrEnum

from msgspec import Struct

from shared import labels
from shared.model import NodeName, Pod, Uid


class Act(StrEnum):
    """What we did to a pod."""

    SEAT = "Seat"
    BIND = "Bind"
    DELETE = "Delete"


class Assumption(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One write of ours.

    ``at`` is the time of the write, of whatever clock ``expire`` is asked with; ``node`` is empty
    for a deletion; ``plan`` and ``plan_size`` belong to seats.
    """

    uid: Uid
    act: Act
    at: float
    node: NodeName = NodeName("")
    plan: str = ""
    plan_size: int = 0

    def settled_by(self, pod: Pod) -> bool:
        """Say whether the observed pod shows this assumption, or leaves it without a point."""
        if pod.finished or pod.deleting:
            return True
        if self.act is Act.DELETE:
            return False
        if pod.node_name is not None:
            return True
        return self.act is Act.SEAT and (
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
        """Drop every assumption made earlier than ``before``; return whose, sorted."""
        late = sorted(uid for uid, held in self._by_uid.items() if any(_late(held, before)))
        for uid in late:
            self._set(uid, tuple(a for a in self.of(uid) if a.at >= before))
        return tuple(late)

    def _set(self, uid: Uid, held: tuple[Assumption, ...]) -> None:
        if held:
            self._by_uid[uid] = held
        else:
            self._by_uid.pop(uid, None)


def _late(held: tuple[Assumption, ...], before: float) -> Iterator[bool]:
    return (assumption.at < before for assumption in held)
