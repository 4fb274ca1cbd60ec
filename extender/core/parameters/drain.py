"""Parameters of drains: by what a node announces that it leaves, and when a lost one is fenced."""

from dataclasses import dataclass
from typing import Annotated, Final

from annotated_types import Ge, Le
from typing_extensions import Doc

OUT_OF_SERVICE: Final = "node.kubernetes.io/out-of-service"
"""An administrator sets this taint once the node is shut down or cut off.

Source:
    k8s.io/api v0.36.3 ``core/v1/well_known_taints.go``; KEP-2268.
"""

TAINTS: Final = (
    "ToBeDeletedByClusterAutoscaler",
    "karpenter.sh/disrupted",
    "karpenter.sh/disruption",
    "aws-node-termination-handler/spot-itn",
    "aws-node-termination-handler/scheduled-maintenance",
    "aws-node-termination-handler/asg-lifecycle-termination",
    "cloud.google.com/impending-node-termination",
    "cloud.google.com/active-node-maintenance",
)
"""No candidates and no advice: ``DeletionCandidateOfClusterAutoscaler`` and
``aws-node-termination-handler/rebalance-recommendation`` are missing on purpose, and so are the
properties of a pool of spot nodes, such as ``kubernetes.azure.com/scalesetpriority``."""

CONDITIONS: Final = (
    "PreemptScheduled",
    "TerminateScheduled",
    "RebootScheduled",
    "RedeployScheduled",
    "KernelDeadlock",
    "ReadonlyFilesystem",
)
"""Azure's scheduled events, but not ``FreezeScheduled`` and ``VMEventScheduled``, which a pause of
some seconds raises too; and the permanent problems of node-problem-detector."""

LABELS: Final = ("cloud.google.com/active-node-maintenance=ONGOING",)


@dataclass(frozen=True, kw_only=True)
class DrainParameters:
    """What announces that a node leaves.

    Source:
        cluster-autoscaler ``utils/taints/taints.go``; karpenter ``pkg/apis/v1/taints.go``
        (``v1beta1``: ``karpenter.sh/disruption``); aws-node-termination-handler
        ``pkg/node/node.go`` and its chart's README (``TAINT_NODE``); GKE "Manage GKE node
        disruption" and the maintenance-handler's ``--taint``; Azure "Scheduled Events" as
        conditions of nodes; node-problem-detector ``config/kernel-monitor.json``.
    """

    enabled: Annotated[
        bool, Doc("Whether jobs are asked to save and leave a node that announces its end.")
    ] = True
    cordon: Annotated[
        bool,
        Doc("Whether a cordon (`spec.unschedulable`) announces it: `kubectl drain` begins so."),
    ] = True
    evictions: Annotated[
        bool,
        Doc(
            "Whether an Eviction of `lifecycle.k8s.io` announces it, in which it is the turn of "
            "the responder `shuntyard.io/checkpoint-responder`."
        ),
    ] = True
    disruption_budget: Annotated[
        bool,
        Doc(
            "Whether running jobs that save get a PodDisruptionBudget of ours, so that evictions "
            "wait for their checkpoint."
        ),
    ] = False
    taints: Annotated[
        tuple[str, ...],
        Doc("Keys of taints that announce it; in the environment separated by commas."),
    ] = TAINTS
    conditions: Annotated[
        tuple[str, ...],
        Doc("Conditions that announce it when they are True; likewise."),
    ] = CONDITIONS
    labels: Annotated[
        tuple[str, ...],
        Doc("Labels of nodes that announce it, as `key` or `key=value`; likewise."),
    ] = LABELS


@dataclass(frozen=True, kw_only=True)
class LostNodeParameters:
    """When the pods of an unreachable node are deleted by force.

    Source:
        The taint is KEP-2268's; the rest is ours.
    """

    fences: Annotated[
        tuple[str, ...],
        Doc(
            "Keys of taints that prove that nothing runs on a node any more: its pods are deleted "
            "by force; in the environment separated by commas."
        ),
    ] = (OUT_OF_SERVICE,)
    restart_after_seconds: Annotated[
        float | None,
        Ge(1),
        Le(604800),
        Doc(
            "After so long the pods of an unreachable node are deleted by force without a fence: "
            "then two copies of a job may run. No value: never."
        ),
    ] = None
