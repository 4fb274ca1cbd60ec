"""What limits how many pods of a namespace may leave: a part of ``shared.model``."""

from collections.abc import Mapping

from msgspec import Struct

from shared.label_selectors import LabelSelector
from shared.owners import Owner


class PodDisruptionBudget(Struct, frozen=True, kw_only=True, tag=True):
    """A PodDisruptionBudget.

    Attributes:
        selector: Which pods; None: none.
        allowed: How many of them may leave now (``status.disruptionsAllowed``).
    """

    namespace: str
    name: str
    selector: LabelSelector | None = None
    allowed: int = 0

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
