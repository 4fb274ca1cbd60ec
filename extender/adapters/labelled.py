"""Jobs named by our own label ``shuntyard.io/job``: pods of one or several owners, or of none."""

from extender.adapters.base import Above, integer
from shared import labels
from shared.model import Pod


class LabelledJob:
    """A group that the user named. Its size is the owner's only if the owner has the same name.

    A label that differs from the owner's name says that the group reaches beyond one owner, so its
    size must be stated by ``shuntyard.io/min-available``.
    """

    kind = "group"

    def claims(self, pod: Pod) -> bool:
        """The label is there."""
        return bool(pod.labels.get(labels.JOB))

    def job_name(self, pod: Pod) -> str:
        """The label's value."""
        return pod.labels[labels.JOB]

    def index(self, pod: Pod) -> int | None:
        """Completion index or ordinal of the owner that made the pod."""
        for key in (labels.JOB_INDEX_LABEL, labels.STATEFULSET_INDEX_LABEL):
            if (index := integer(pod.labels.get(key))) is not None:
                return index
        return integer(pod.labels.get(labels.TRAINING_REPLICA_INDEX))

    def size(self, pod: Pod, above: Above) -> int | None:
        """The owner's size where the group is just that owner."""
        owner = above.owner
        if owner is None or owner.name != self.job_name(pod):
            return None
        return owner.size
