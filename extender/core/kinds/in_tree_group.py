"""A PodGroup of Kubernetes itself, whoever made the pods.

Source:
    kubernetes/enhancements KEP-4671: ``spec.schedulingGroup.podGroupName`` of a pod names a
    ``PodGroup`` of ``scheduling.k8s.io``; ``spec.schedulingPolicy.gang.minCount`` is its size.
"""

from extender.core.kinds.base import NO_MARKS, Owners, size_of_namesake
from shared.model import Pod


class InTreeGroup:
    """All pods that name the group are one job; kube-scheduler holds its gang together."""

    kind = "podgroup"
    marks = NO_MARKS
    api_group = "scheduling.k8s.io"
    field = "field spec.schedulingGroup.podGroupName"

    def claims(self, pod: Pod) -> bool:
        """The field is there."""
        return bool(pod.scheduling_group)

    def job_name(self, pod: Pod) -> str:
        """The group's name."""
        return pod.scheduling_group

    def group_name(self, pod: Pod) -> str:
        """Value of the field."""
        return pod.scheduling_group

    def index(self, pod: Pod, above: Owners) -> int | None:
        """The group counts nothing."""
        return None

    def size(self, pod: Pod, above: Owners) -> int | None:
        """``minCount``; before the group was seen, the size of an owner of its name."""
        return size_of_namesake(above, pod.scheduling_group)
