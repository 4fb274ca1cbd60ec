"""A PodGroup of Volcano, whoever made the pods.

Source:
    volcano.sh/apis ``pkg/apis/scheduling/v1beta1/labels.go``.
"""

from extender.core.kinds.base import Owners, size_of_namesake
from shared import foreign_labels
from shared.model import Pod


class VolcanoGroup:
    """All pods that name the group are one job; ``spec.minMember`` is the gang."""

    kind = "volcano"
    marks = frozenset({foreign_labels.VOLCANO_GROUP, foreign_labels.VOLCANO_GROUP_TOO})
    api_group = "scheduling.volcano.sh"
    field = f"annotation {foreign_labels.VOLCANO_GROUP}"

    def claims(self, pod: Pod) -> bool:
        """One of its two annotations is there, and the pod is not of Volcano's own Job."""
        owner = pod.controller
        vcjob = owner is not None and owner.api_version.startswith("batch.volcano.sh/")
        return bool(self.group_name(pod)) and not vcjob

    def job_name(self, pod: Pod) -> str:
        """The group's name."""
        return self.group_name(pod)

    def group_name(self, pod: Pod) -> str:
        """Value of the annotation, the older one first, as Volcano's job controller reads it."""
        older = pod.annotations.get(foreign_labels.VOLCANO_GROUP)
        return older or pod.annotations.get(foreign_labels.VOLCANO_GROUP_TOO, "")

    def index(self, pod: Pod, above: Owners) -> int | None:
        """The group counts nothing."""
        return None

    def role(self, pod: Pod) -> str:
        """Name of the task; operators write their replica type there."""
        return pod.annotations.get(foreign_labels.VOLCANO_TASK, "").lower()

    def size(self, pod: Pod, above: Owners) -> int | None:
        """``spec.minMember``; before the group was seen, the size of an owner of its name."""
        return size_of_namesake(above, self.group_name(pod))
