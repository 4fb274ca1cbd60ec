"""Jobs named by our own label ``shuntyard.io/job``: pods of one or several owners, or of none."""

from itertools import pairwise
from typing import Final

from typing_extensions import override

from extender.core.kinds.base import JobKind, Owners, rank, size_of_namesake
from shared import labels
from shared.model import Pod

_INDEX_LABELS = (
    labels.JOB_INDEX_LABEL,
    labels.STATEFULSET_INDEX_LABEL,
    labels.TRAINING_REPLICA_INDEX,
)
_MAKES_ONE: Final = frozenset({("ray.io", "RayJob")})
"""Owners without a size of their own that make one object of another name, which has it.

Not RayService: while it is changed it makes a second cluster, whose pods have the label too.
"""


class LabelledJob(JobKind):
    """A group that the user named. Its size is the owner's only if the owner has the same name.

    A label that differs from the name of the owner means that the group reaches beyond one owner,
    so its size must be stated by ``shuntyard.io/min-available``.
    """

    kind = "group"
    marks = frozenset({labels.JOB})

    @override
    def claims(self, pod: Pod) -> bool:
        """Return True if the label is there."""
        return bool(pod.labels.get(labels.JOB))

    @override
    def job_name(self, pod: Pod) -> str:
        """Return the value of the label."""
        return pod.labels[labels.JOB]

    @override
    def index(self, pod: Pod, above: Owners) -> int | None:
        """Return the index that a well-known label states, where the maker of the pod has none."""
        for key in _INDEX_LABELS:
            if key in pod.labels:
                return rank(f"label {key}", pod.labels[key])
        return None

    def size(self, pod: Pod, above: Owners) -> int | None:
        """Return the size of the group or owner whose name is the value of the label."""
        name = self.job_name(pod)
        size = size_of_namesake(above, name)
        return size if size is not None else _size_below(above, name)


def _size_below(above: Owners, name: str) -> int | None:
    """Return the size of the one object that the owner of this name makes."""
    for below, owner in pairwise(above.owners):
        group = owner.api_version.partition("/")[0]
        if owner.name == name and (group, owner.kind) in _MAKES_ONE:
            return below.size
    return None
