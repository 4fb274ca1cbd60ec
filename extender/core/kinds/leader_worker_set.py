"""LeaderWorkerSet: each of its groups, a leader and its workers, is a job.

Source:
    sigs.k8s.io/lws v0.7.0 ``api/leaderworkerset/v1/leaderworkerset_types.go``,
    ``pkg/webhooks/pod_webhook.go``: label worker-index is 0 on the leader alone;
    ``pkg/controllers/pod_controller.go``: when the workers are made.
"""

from typing import Final

from typing_extensions import override

from extender.core.kinds.base import JobKind, Owners, count, rank, size_of_kind
from extender.core.kinds.parking_facts import ENDS_NEVER, ParkingFacts
from shared import foreign_labels
from shared.model import Pod

_INDEX: Final = f"label {foreign_labels.LWS_WORKER_INDEX}"
_SIZE: Final = f"annotation {foreign_labels.LWS_SIZE}"


class LeaderWorkerSet(JobKind):
    """The gang is one group; every pod states its size."""

    kind = "leaderworkerset"
    marks = frozenset({foreign_labels.LWS_NAME})
    size_field = _SIZE
    endless = True
    parking = (
        ParkingFacts(
            kind="LeaderWorkerSet",
            group="leaderworkerset.x-k8s.io",
            field="spec.replicas",
            others="a HorizontalPodAutoscaler: not parked then (`Autoscaled`)",
            ended=ENDS_NEVER,
            volumes="kept; if a retention policy says `Delete`, not parked (`VolumesDeleted`)",
            returns="its one group; with several groups it is not parked (`SeveralJobs`)",
            reruns=True,
        ),
    )

    @override
    def claims(self, pod: Pod) -> bool:
        """Return True if the label of the set is there."""
        return bool(pod.labels.get(foreign_labels.LWS_NAME))

    @override
    def job_name(self, pod: Pod) -> str:
        """Return the name of the set and the number of the group: the name of the leader pod."""
        name, group = pod.labels[foreign_labels.LWS_NAME], foreign_labels.LWS_GROUP_INDEX
        return f"{name}-{pod.labels[group]}" if group in pod.labels else name

    @override
    def index(self, pod: Pod, above: Owners) -> int | None:
        """Return the rank within the group; that of the leader is 0."""
        return rank(_INDEX, pod.labels.get(foreign_labels.LWS_WORKER_INDEX))

    def role(self, pod: Pod) -> str:
        """Return ``leader`` or ``worker``."""
        return "leader" if pod.labels.get(foreign_labels.LWS_WORKER_INDEX) == "0" else "worker"

    def size(self, pod: Pod, above: Owners) -> int | None:
        """Return the pods of the group as the pod states them, or as the set does, if that is less.

        Workers that are made only when their leader is ready, or has a node, are no part of the
        gang: it could never become whole.
        """
        stated = count(_SIZE, pod.annotations.get(foreign_labels.LWS_SIZE))
        if foreign_labels.LWS_EXCLUSIVE in pod.annotations:
            return 1
        of_set = size_of_kind(above, "LeaderWorkerSet")
        return min((n for n in (stated, of_set) if n is not None), default=None)
