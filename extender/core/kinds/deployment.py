"""``apps/v1`` Deployment, told by the name of the ReplicaSet that it made for its template.

Source:
    Kubernetes 1.36 ``pkg/controller/deployment/sync.go``: the ReplicaSet is ``<name>-<hash>``, and
    its pods have the hash as a label; ``pkg/controller/controller_utils.go``
    (ActivePodsWithRanks): who is removed first.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from extender.core.kinds.base import NO_MARKS, Owners, size_of_kind
from shared import labels
from shared.model import Pod, PodKey

_PHASES: Final = {"Pending": 0, "Unknown": 1, "Running": 2}
_LOWEST_COST: Final = -(2**31)
_HIGHEST_COST: Final = 2**31 - 1


class Deployment:
    """The gang is all replicas. Its pods are alike: they have no index."""

    kind = "deployment"
    marks = NO_MARKS
    any_worker = False

    def claims(self, pod: Pod) -> bool:
        """The pod is controlled by a ReplicaSet that a Deployment made."""
        owner = pod.controller
        return (
            owner is not None
            and owner.kind == "ReplicaSet"
            and owner.api_version.startswith("apps/")
            and bool(_suffix(pod))
            and owner.name.endswith(_suffix(pod))
        )

    def job_name(self, pod: Pod) -> str:
        """The Deployment's name, the same for all its templates."""
        return pod.controller.name.removesuffix(_suffix(pod)) if pod.controller else pod.name

    def index(self, pod: Pod, above: Owners) -> int | None:
        """None: no two pods differ."""
        return None

    def size(self, pod: Pod, above: Owners) -> int | None:
        """``replicas``, once the Deployment was seen; only those with our label are read."""
        return size_of_kind(above, "Deployment")

    def removal_order(self, workers: Sequence[Pod]) -> tuple[Pod, ...]:
        """Without a node, not running, of low deletion cost, as the controller has it.

        Among pods of one cost it goes by how long they have been ready, in powers of two, then by
        uid: nobody can say beforehand, so here the newest stand first, to be nominated.
        """
        return tuple(sorted(workers, key=_rank))

    def nominations(
        self, leaving: Sequence[Pod], staying: Sequence[Pod]
    ) -> Mapping[PodKey, Mapping[str, str]]:
        """Say the deletion costs that put those who leave below those who stay."""
        least = min((_cost(pod) for pod in staying), default=_HIGHEST_COST)
        below = {labels.POD_DELETION_COST: str(max(least - 1, _LOWEST_COST))}
        return {pod.key: below for pod in leaving if _cost(pod) >= least > _LOWEST_COST}


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
