"""``apps/v1`` StatefulSet; as a gang it needs ``podManagementPolicy: Parallel``."""

from collections.abc import Sequence
from typing import Final

from extender.core.kinds.base import NO_MARKS, Owners, integer, last_index_first, rank
from shared import labels
from shared.model import Pod

_INDEX: Final = f"label {labels.STATEFULSET_INDEX_LABEL}"


class StatefulSet:
    """The gang is all replicas."""

    kind = "statefulset"
    marks = NO_MARKS
    any_worker = False

    def claims(self, pod: Pod) -> bool:
        """The pod is controlled by a StatefulSet of group apps."""
        owner = pod.controller
        return (
            owner is not None
            and owner.kind == "StatefulSet"
            and owner.api_version.startswith("apps/")
        )

    def job_name(self, pod: Pod) -> str:
        """The StatefulSet's name."""
        return pod.controller.name if pod.controller else pod.name

    def index(self, pod: Pod, above: Owners) -> int | None:
        """Ordinal, from the label or the end of the name."""
        label = rank(_INDEX, pod.labels.get(labels.STATEFULSET_INDEX_LABEL))
        return label if label is not None else integer(pod.name.rpartition("-")[2])

    def size(self, pod: Pod, above: Owners) -> int | None:
        """``replicas`` once the StatefulSet was seen."""
        return above.owner.size if above.owner else None

    def removal_order(self, workers: Sequence[Pod]) -> tuple[Pod, ...]:
        """The highest ordinal goes first."""
        return last_index_first(workers, self.index)
