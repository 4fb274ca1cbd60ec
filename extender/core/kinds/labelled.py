"""Jobs named by our own label ``shuntyard.io/job``: pods of one or several owners, or of none."""

from extender.core.kinds.base import Owners, rank, size_of_namesake
from shared import labels
from shared.model import Pod

_INDEX_LABELS = (
    labels.JOB_INDEX_LABEL,
    labels.STATEFULSET_INDEX_LABEL,
    labels.TRAINING_REPLICA_INDEX,
)


class LabelledJob:
    """A group that the user named. Its size is the owner's only if the owner has the same name.

    A label that differs from the owner's name says that the group reaches beyond one owner, so its
    size must be stated by ``shuntyard.io/min-available``.
    """

    kind = "group"
    marks = frozenset({labels.JOB})

    def claims(self, pod: Pod) -> bool:
        """The label is there."""
        return bool(pod.labels.get(labels.JOB))

    def job_name(self, pod: Pod) -> str:
        """The label's value."""
        return pod.labels[labels.JOB]

    def index(self, pod: Pod, above: Owners) -> int | None:
        """The index that a well-known label states, where the maker of the pod has none."""
        for key in _INDEX_LABELS:
            if key in pod.labels:
                return rank(f"label {key}", pod.labels[key])
        return None

    def size(self, pod: Pod, above: Owners) -> int | None:
        """The size of the group or owner that has the label's value as name."""
        return size_of_namesake(above, self.job_name(pod))
