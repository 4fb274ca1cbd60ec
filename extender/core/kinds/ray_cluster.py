"""RayCluster of KubeRay, also one that a RayJob or RayService made.

Source:
    github.com/ray-project/kuberay v1.4.2 ``ray-operator/controllers/ray/common/pod.go`` (labelPod),
    ``ray-operator/controllers/ray/raycluster_controller.go`` (reconcilePods),
    ``ray-operator/controllers/ray/rayjob_controller.go`` (what a suspension does).
"""

from collections.abc import Sequence
from typing import Final

from typing_extensions import override

from extender.core.kinds.base import JobKind, Owners, size_of_kind
from extender.core.kinds.parking_facts import ENDS_NEVER, NOT_COUNTED, RESTARTS, ParkingFacts
from shared import foreign_labels
from shared.model import Pod

_NODE_TYPES: Final = frozenset({"head", "worker"})


class RayCluster(JobKind):
    """The gang is the head and all workers of all groups.

    Pods of type ``redis-cleanup`` and the submitter of a RayJob are no part of it: they run when
    the cluster is gone, or up, and are pods of a ``batch/v1`` Job.
    """

    kind = "raycluster"
    marks = frozenset({foreign_labels.RAY_CLUSTER})
    any_worker = True
    endless = True
    parking = (
        ParkingFacts(
            kind="RayCluster",
            group="ray.io",
            field="spec.suspend",
            others="Kueue; one of a RayJob is parked by its RayJob alone",
            ended=ENDS_NEVER,
            returns="a new head and new workers; what ran on the old head is not submitted again",
            warning="its head goes too: what runs there must be submitted again",
        ),
        ParkingFacts(
            kind="RayJob",
            group="ray.io",
            field="spec.suspend",
            others="Kueue",
            clock=f"`activeDeadlineSeconds` {RESTARTS}",
            failures=f"{NOT_COUNTED} in `backoffLimit`",
            ended=ENDS_NEVER,
            returns="a new RayCluster, to which the entrypoint is submitted again; its pods need "
            "the label `shuntyard.io/job` (`NameChanges`)",
            renames=True,
        ),
    )

    @override
    def claims(self, pod: Pod) -> bool:
        """Return True if the label of the cluster is there, on a node of Ray."""
        return (
            bool(pod.labels.get(foreign_labels.RAY_CLUSTER))
            and pod.labels.get(foreign_labels.RAY_NODE_TYPE) in _NODE_TYPES
        )

    @override
    def job_name(self, pod: Pod) -> str:
        """Return the name of the cluster."""
        return pod.labels[foreign_labels.RAY_CLUSTER]

    def role(self, pod: Pod) -> str:
        """Return ``head`` or ``worker``."""
        return pod.labels[foreign_labels.RAY_NODE_TYPE]

    def size(self, pod: Pod, above: Owners) -> int | None:
        """Return the size that the cluster states, once it was observed."""
        return size_of_kind(above, "RayCluster")

    def removal_order(self, workers: Sequence[Pod]) -> tuple[Pod, ...]:
        """Return first those without a node, then the newest: the workers named are removed.

        Without names (``WorkerCount.leaving``) KubeRay removes the first ones that it lists.
        """
        return tuple(
            sorted(workers, key=lambda p: (p.node_name is not None, -p.created_at, p.name))
        )
