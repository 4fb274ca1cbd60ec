"""A group of plain pods for Kueue.

Source:
    sigs.k8s.io/kueue ``pkg/controller/jobs/pod/constants/constants.go``,
    ``apis/kueue/v1beta2/constants.go``.
"""

from typing import Final

from typing_extensions import override

from extender.core.kinds.base import JobKind, Owners, count, rank
from shared import foreign_labels
from shared.model import Pod

_SIZE: Final = f"annotation {foreign_labels.KUEUE_GROUP_SIZE}"
_INDEX: Final = f"label {foreign_labels.KUEUE_GROUP_INDEX}"


class KueueGroup(JobKind):
    """Pods that no known operator made; Kueue's operators label theirs as well."""

    kind = "kueue"
    marks = frozenset({foreign_labels.KUEUE_GROUP})
    size_field = _SIZE

    @override
    def claims(self, pod: Pod) -> bool:
        """Return True if the label is there."""
        return bool(pod.labels.get(foreign_labels.KUEUE_GROUP))

    @override
    def job_name(self, pod: Pod) -> str:
        """Return the name of the group."""
        return pod.labels[foreign_labels.KUEUE_GROUP]

    @override
    def index(self, pod: Pod, above: Owners) -> int | None:
        """Return the index in the group; None if the maker of the pods wrote none."""
        return rank(_INDEX, pod.labels.get(foreign_labels.KUEUE_GROUP_INDEX))

    def size(self, pod: Pod, above: Owners) -> int | None:
        """Return the size that the annotation states."""
        return count(_SIZE, pod.annotations.get(foreign_labels.KUEUE_GROUP_SIZE))
