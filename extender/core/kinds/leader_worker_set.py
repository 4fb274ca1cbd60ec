"""LeaderWorkerSet: each of its groups, a leader and its workers, is a job.

Source:
    sigs.k8s.io/lws v0.7.0 ``api/leaderworkerset/v1/leaderworkerset_types.go``,
    ``pkg/webhooks/pod_webhook.go``: label worker-index is 0 on the leader alone;
    ``pkg/controllers/pod_controller.go``: when the workers are made.
"""

from typing import Final

from extender.core.kinds.base import Owners, count, rank, size_of_kind
from shared import foreign_labels
from shared.model import Pod

_INDEX: Final = f"label {foreign_labels.LWS_WORKER_INDEX}"
_SIZE: Final = f"annotation {foreign_labels.LWS_SIZE}"


class LeaderWorkerSet:
    """The gang is one group; every pod states its size."""

    kind = "leaderworkerset"
    marks = frozenset({foreign_labels.LWS_NAME})
    size_field = _SIZE

    def claims(self, pod: Pod) -> bool:
        """The set's label is there."""
        return bool(pod.labels.get(foreign_labels.LWS_NAME))

    def job_name(self, pod: Pod) -> str:
        """The set's name and the number of the group: the name of the leader's pod."""
        name, group = pod.labels[foreign_labels.LWS_NAME], foreign_labels.LWS_GROUP_INDEX
        return f"{name}-{pod.labels[group]}" if group in pod.labels else name

    def index(self, pod: Pod, above: Owners) -> int | None:
        """Rank within the group; the leader's is 0."""
        return rank(_INDEX, pod.labels.get(foreign_labels.LWS_WORKER_INDEX))

    def role(self, pod: Pod) -> str:
        """``leader`` or ``worker``."""
        return "leader" if pod.labels.get(foreign_labels.LWS_WORKER_INDEX) == "0" else "worker"

    def size(self, pod: Pod, above: Owners) -> int | None:
        """Pods of the group as the pod states them, or the set, if that is less.

        Workers that are made only when their leader is ready, or has a node, are no part of the
        gang: it could never become whole.
        """
        stated = count(_SIZE, pod.annotations.get(foreign_labels.LWS_SIZE))
        if foreign_labels.LWS_EXCLUSIVE in pod.annotations:
            return 1
        of_set = size_of_kind(above, "LeaderWorkerSet")
        return min((n for n in (stated, of_set) if n is not None), default=None)
