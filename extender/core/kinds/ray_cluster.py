"""RayCluster of KubeRay, also one that a RayJob or RayService made.

Source:
    github.com/ray-project/kuberay v1.4.2 ``ray-operator/controllers/ray/common/pod.go`` (labelPod),
    ``ray-operator/controllers/ray/raycluster_controller.go`` (reconcilePods).
"""

from collections.abc import Sequence
from typing import Final

from extender.core.kinds.base import Owners, size_of_kind
from shared import foreign_labels
from shared.model import Pod

_NODE_TYPES: Final = frozenset({"head", "worker"})


class RayCluster:
    """The gang is the head and all workers of all groups.

    Pods of type ``redis-cleanup`` and the submitter of a RayJob are no part of it: they run when
    the cluster is gone, or up, and are pods of a ``batch/v1`` Job.
    """

    kind = "raycluster"
    marks = frozenset({foreign_labels.RAY_CLUSTER})
    any_worker = True

    def claims(self, pod: Pod) -> bool:
        """The label of the cluster is there, on a node of Ray."""
        return (
            bool(pod.labels.get(foreign_labels.RAY_CLUSTER))
            and pod.labels.get(foreign_labels.RAY_NODE_TYPE) in _NODE_TYPES
        )

    def job_name(self, pod: Pod) -> str:
        """The cluster's name."""
        return pod.labels[foreign_labels.RAY_CLUSTER]

    def index(self, pod: Pod, above: Owners) -> int | None:
        """The nodes of a cluster are not counted."""
        return None

    def role(self, pod: Pod) -> str:
        """``head`` or ``worker``."""
        return pod.labels[foreign_labels.RAY_NODE_TYPE]

    def size(self, pod: Pod, above: Owners) -> int | None:
        """What the cluster says, once it was seen."""
        return size_of_kind(above, "RayCluster")

    def removal_order(self, workers: Sequence[Pod]) -> tuple[Pod, ...]:
        """Whoever is named goes (``WorkerCount.leaving``): first those without a node, the newest.

        Unnamed, KubeRay removes whichever it lists first.
        """
        return tuple(
            sorted(workers, key=lambda p: (p.node_name is not None, -p.created_at, p.name))
        )
