"""A PodGroup of scheduler-plugins (coscheduling), whatever made the pods.

Source:
    sigs.k8s.io/scheduler-plugins ``apis/scheduling/v1alpha1/types.go``, ``pkg/util/podgroup.go``.
"""

from typing_extensions import override

from extender.core.kinds.base import NamedGroup
from shared import foreign_labels
from shared.model import Pod


class SchedulerPluginsGroup(NamedGroup):
    """``spec.minMember`` is the size of the gang."""

    kind = "coscheduling"
    marks = frozenset({foreign_labels.SCHEDULER_PLUGINS_GROUP})
    api_group = "scheduling.x-k8s.io"
    field = f"label {foreign_labels.SCHEDULER_PLUGINS_GROUP}"

    @override
    def group_name(self, pod: Pod) -> str:
        """Return the value of the label."""
        return pod.labels.get(foreign_labels.SCHEDULER_PLUGINS_GROUP, "")
