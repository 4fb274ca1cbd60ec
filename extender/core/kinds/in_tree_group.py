"""A PodGroup of Kubernetes itself, whatever made the pods.

Source:
    kubernetes/enhancements KEP-4671: ``spec.schedulingGroup.podGroupName`` of a pod names a
    ``PodGroup`` of ``scheduling.k8s.io``; ``spec.schedulingPolicy.gang.minCount`` is its size.
"""

from typing_extensions import override

from extender.core.kinds.base import NamedGroup
from shared.model import Pod


class InTreeGroup(NamedGroup):
    """kube-scheduler holds the gang together; before the group is observed, see ``NamedGroup``."""

    kind = "podgroup"
    api_group = "scheduling.k8s.io"
    field = "field spec.schedulingGroup.podGroupName"

    @override
    def claims(self, pod: Pod) -> bool:
        """Return True if the field is there; called for nearly every pod."""
        return bool(pod.scheduling_group)

    @override
    def group_name(self, pod: Pod) -> str:
        """Return the value of the field."""
        return pod.scheduling_group
