"""A group of plain pods for Kueue.

Source:
    sigs.k8s.io/kueue ``pkg/controller/jobs/pod/constants/constants.go``,
    ``apis/kueue/v1beta2/constants.go``.
"""

from typing import Final

from extender.core.kinds.base import Owners, count, rank
from shared import foreign_labels
from shared.model import Pod

_SIZE: Final = f"annotation {foreign_labels.KUEUE_GROUP_SIZE}"
_INDEX: Final = f"label {foreign_labels.KUEUE_GROUP_INDEX}"


class KueueGroup:
    """Pods that no known operator made; Kueue's operators label theirs as well."""

    kind = "kueue"
    marks = frozenset({foreign_labels.KUEUE_GROUP})
    size_field = _SIZE

    def claims(self, pod: Pod) -> bool:
        """The label is there."""
        return bool(pod.labels.get(foreign_labels.KUEUE_GROUP))

    def job_name(self, pod: Pod) -> str:
        """The group's name."""
        return pod.labels[foreign_labels.KUEUE_GROUP]

    def index(self, pod: Pod, above: Owners) -> int | None:
        """Index in the group, where whoever made the pods wrote one."""
        return rank(_INDEX, pod.labels.get(foreign_labels.KUEUE_GROUP_INDEX))

    def size(self, pod: Pod, above: Owners) -> int | None:
        """What the annotation says."""
        return count(_SIZE, pod.annotations.get(foreign_labels.KUEUE_GROUP_SIZE))
