"""``apps/v1`` Deployment, recognized by the name of the ReplicaSet that it made for its template.

Source:
    Kubernetes 1.36 ``pkg/controller/deployment/sync.go``: the ReplicaSet is ``<name>-<hash>``, and
    its pods have the hash as a label; ``pkg/controller/controller_utils.go``
    (ActivePodsWithRanks): which pods are removed first.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from typing_extensions import override

from extender.core.kinds.base import (
    ControlledBy,
    Leaving,
    Obstacle,
    Owners,
    Unmovable,
    size_of_kind,
)
from extender.core.kinds.parking_facts import ENDS_NEVER, ParkingFacts
from shared import labels
from shared.model import Mover, Pod, PodKey

_PHASES: Final = {"Pending": 0, "Unknown": 1, "Running": 2}
_LOWEST_COST: Final = -(2**31)
_HIGHEST_COST: Final = 2**31 - 1


class Deployment(ControlledBy):
    """The gang is all replicas. Its pods are alike: they have no index."""

    kind = "deployment"
    controller_kind = "ReplicaSet"
    controller_group = "apps"
    any_worker = False
    parking = (
        ParkingFacts(
            kind="Deployment",
            group="apps",
            field="spec.replicas",
            others="a HorizontalPodAutoscaler: not parked then (`Autoscaled`)",
            ended=ENDS_NEVER,
            returns="the recorded number of replicas",
            reruns=True,
        ),
    )

    @override
    def claims(self, pod: Pod) -> bool:
        """Return True if a ReplicaSet that a Deployment made controls the pod."""
        owner = pod.controller
        return (
            super().claims(pod)
            and owner is not None
            and bool(_suffix(pod))
            and owner.name.endswith(_suffix(pod))
        )

    @override
    def job_name(self, pod: Pod) -> str:
        """Return the name of the Deployment, the same for all its templates."""
        return pod.controller.name.removesuffix(_suffix(pod)) if pod.controller else pod.name

    @override
    def size(self, pod: Pod, above: Owners) -> int | None:
        """Return ``replicas`` once the Deployment was observed; it is if it has our label."""
        return size_of_kind(above, "Deployment")

    def removal_order(self, workers: Sequence[Pod]) -> tuple[Pod, ...]:
        """Return first those without a node, not running, of low deletion cost.

        Among pods of one cost the controller goes by how long they have been ready, in powers of
        two, then by uid. That cannot be foreseen, so the newest come first here and are nominated.
        """
        return tuple(sorted(workers, key=_rank))

    def nominations(
        self, leaving: Sequence[Pod], staying: Sequence[Pod]
    ) -> Mapping[PodKey, Mapping[str, str]]:
        """Return the deletion costs that put the pods that leave below those that stay."""
        least = min((_cost(pod) for pod in staying), default=_HIGHEST_COST)
        below = {labels.POD_DELETION_COST: str(max(least - 1, _LOWEST_COST))}
        return {pod.key: below for pod in leaving if _cost(pod) >= least > _LOWEST_COST}

    @override
    def mover(self, leaving: Leaving) -> Mover | Unmovable:
        """Return that a pod of a ReplicaSet is evicted; a gang cannot be."""
        if len(leaving.pods) > 1:
            return Unmovable(Obstacle.OWNER, f"a gang of a {self.controller_kind}")
        return Mover.EVICT


def _suffix(pod: Pod) -> str:
    template = pod.labels.get(labels.POD_TEMPLATE_HASH)
    return f"-{template}" if template else ""


def _rank(pod: Pod) -> tuple[bool, int, int, float, str]:
    phase = _PHASES.get(pod.phase, len(_PHASES))
    return pod.node_name is not None, phase, _cost(pod), -pod.created_at, pod.name


def _cost(pod: Pod) -> int:
    """Return the deletion cost; what is no 32-bit number counts as 0, as for the controller."""
    try:
        cost = int(pod.annotations.get(labels.POD_DELETION_COST, "0"))
    except ValueError:
        return 0
    return cost if _LOWEST_COST <= cost <= _HIGHEST_COST else 0
