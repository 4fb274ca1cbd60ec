"""A PodGroup of scheduler-plugins (coscheduling), whoever made the pods.

Source:
    sigs.k8s.io/scheduler-plugins ``apis/scheduling/v1alpha1/types.go``, ``pkg/util/podgroup.go``.
"""

from extender.core.kinds.base import Owners, size_of_namesake
from shared import foreign_labels
from shared.model import Pod


class SchedulerPluginsGroup:
    """All pods that name the group are one job; ``spec.minMember`` is the gang."""

    kind = "coscheduling"
    marks = frozenset({foreign_labels.SCHEDULER_PLUGINS_GROUP})
    api_group = "scheduling.x-k8s.io"
    field = f"label {foreign_labels.SCHEDULER_PLUGINS_GROUP}"

    def claims(self, pod: Pod) -> bool:
        """The label is there."""
        return bool(self.group_name(pod))

    def job_name(self, pod: Pod) -> str:
        """The group's name."""
        return self.group_name(pod)

    def group_name(self, pod: Pod) -> str:
        """Value of the label."""
        return pod.labels.get(foreign_labels.SCHEDULER_PLUGINS_GROUP, "")

    def index(self, pod: Pod, above: Owners) -> int | None:
        """The group counts nothing."""
        return None

    def size(self, pod: Pod, above: Owners) -> int | None:
        """``spec.minMember``; before the group was seen, the size of an owner of its name."""
        return size_of_namesake(above, self.group_name(pod))
