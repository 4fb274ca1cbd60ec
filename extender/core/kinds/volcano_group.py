"""A PodGroup of Volcano, whatever made the pods.

Source:
    volcano.sh/apis ``pkg/apis/scheduling/v1beta1/labels.go``.
"""

from typing_extensions import override

from extender.core.kinds.base import NamedGroup
from shared import foreign_labels
from shared.model import Pod


class VolcanoGroup(NamedGroup):
    """``spec.minMember`` is the size of the gang."""

    kind = "volcano"
    marks = frozenset({foreign_labels.VOLCANO_GROUP, foreign_labels.VOLCANO_GROUP_TOO})
    api_group = "scheduling.volcano.sh"
    field = f"annotation {foreign_labels.VOLCANO_GROUP}"

    @override
    def claims(self, pod: Pod) -> bool:
        """Return True if one of its annotations is there, unless Volcano's own Job made the pod."""
        owner = pod.controller
        vcjob = owner is not None and owner.api_version.startswith("batch.volcano.sh/")
        return super().claims(pod) and not vcjob

    @override
    def group_name(self, pod: Pod) -> str:
        """Return the annotation, the older one first, as the job controller of Volcano reads it."""
        older = pod.annotations.get(foreign_labels.VOLCANO_GROUP)
        return older or pod.annotations.get(foreign_labels.VOLCANO_GROUP_TOO, "")

    def role(self, pod: Pod) -> str:
        """Return the name of the task; operators write their replica type there."""
        return pod.annotations.get(foreign_labels.VOLCANO_TASK, "").lower()
