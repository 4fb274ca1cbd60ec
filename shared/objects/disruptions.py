"""What limits or asks that pods of a namespace leave: a part of ``shared.model``."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Final

from msgspec import Struct

from shared.objects.label_selectors import LabelSelector
from shared.objects.owners import Owner

RESPONDER: Final = "shuntyard.io/checkpoint-responder"
"""Our name in ``spec.evictionResponders`` of a pod: an eviction of it waits for its checkpoint."""

BUDGET_PREFIX: Final = "shuntyard-"
"""Our PodDisruptionBudgets are named by this and the uid of their owner."""


class PodDisruptionBudget(Struct, frozen=True, kw_only=True, tag=True):
    """A PodDisruptionBudget.

    Attributes:
        selector: Which pods; None: none.
        allowed: How many of them may leave now (``status.disruptionsAllowed``).
        owner: Of one of ours: uid of the object that owns it; empty: it is not ours.
        uid: Its uid, if it is ours.
        min_available: ``spec.minAvailable``, if it is ours.
    """

    namespace: str
    name: str
    selector: LabelSelector | None = None
    allowed: int = 0
    owner: str = ""
    uid: str = ""
    min_available: int = 0

    @property
    def ours(self) -> bool:
        """Whether we made it, so that drains wait for checkpoints."""
        return bool(self.owner)

    @property
    def key(self) -> str:
        """``namespace/name``."""
        return f"{self.namespace}/{self.name}"

    def selects(self, pod_labels: Mapping[str, str]) -> bool:
        """Return True if it is about a pod with these labels."""
        return self.selector is not None and self.selector.matches(pod_labels)


class HorizontalPodAutoscaler(Struct, frozen=True, kw_only=True, tag=True):
    """A HorizontalPodAutoscaler.

    Attributes:
        api_group: Of the object whose number of pods it changes.
        kind: The same.
        target: Name of that object.
    """

    namespace: str
    name: str
    api_group: str
    kind: str
    target: str

    @property
    def key(self) -> str:
        """``namespace/name``."""
        return f"{self.namespace}/{self.name}"

    def scales(self, owner: Owner) -> bool:
        """Return True if it changes the number of pods of an owner."""
        return (self.namespace, self.api_group, self.kind, self.target) == (
            owner.namespace,
            owner.api_version.partition("/")[0],
            owner.kind,
            owner.name,
        )


class Turn(StrEnum):
    """State of one responder of an Eviction (``status.targetResponders[].state``).

    Source:
        k8s.io/api v0.37.2 lifecycle/v1alpha1 ``ResponderStateType``.
    """

    NONE = ""
    """It is no responder of this Eviction, or a version says what is not known here."""
    INACTIVE = "Inactive"
    ACTIVE = "Active"
    INTERRUPTED = "Interrupted"
    CANCELED = "Canceled"
    COMPLETED = "Completed"

    @classmethod
    def named(cls, state: str) -> "Turn":
        """Return the state of that name."""
        return next((turn for turn in cls if turn.value == state), cls.NONE)


class Eviction(Struct, frozen=True, kw_only=True, tag=True):
    """An Eviction of the Eviction Request API, with our report; times in seconds since the epoch.

    Attributes:
        pod: Name of the pod that is to leave; empty if it is about something else.
        pod_uid: Its uid.
        turn: Whether it is our turn to respond.
        row: Place of our report in ``status.responders``.
        started_at: Since when; 0 before.
        heartbeat_at: Our last report; 0 before.
        completed_at: When we were done; 0 before.
        message: What we reported last.
    """

    namespace: str
    name: str
    uid: str
    resource_version: str
    pod: str = ""
    pod_uid: str = ""
    turn: Turn = Turn.NONE
    row: int = 0
    started_at: float = 0.0
    heartbeat_at: float = 0.0
    completed_at: float = 0.0
    message: str = ""

    @property
    def key(self) -> str:
        """``namespace/name``."""
        return f"{self.namespace}/{self.name}"

    @property
    def waits_for_us(self) -> bool:
        """Whether it is our turn, and we are not done."""
        return self.turn is Turn.ACTIVE and not self.completed_at
