"""A LeaderWorkerSet: how many pods a group of it wants, its templates, how many groups it has."""

from typing import Final

from msgspec import Struct

from shared.kube.changes import NO_CHANGES, Changes
from shared.kube.pod_templates import Template, Templates
from shared.kube.wire import Count
from shared.model import Pause

LEADER_READY: Final = "LeaderReady"


class VolumeRetention(Struct, rename="camel"):
    """``persistentVolumeClaimRetentionPolicy``."""

    when_deleted: str = ""
    when_scaled: str = ""


class LeaderWorkerTemplate(Struct, rename="camel"):
    """``leaderWorkerTemplate``: of one group."""

    size: Count | None = None
    persistent_volume_claim_retention_policy: VolumeRetention | None = None
    leader_template: Template | None = None
    worker_template: Template | None = None


class LeaderWorkerSetSpec(Struct, rename="camel"):
    """``spec`` of a LeaderWorkerSet."""

    replicas: int | None = None
    leader_worker_template: LeaderWorkerTemplate | None = None
    startup_policy: str = ""


def size(spec: LeaderWorkerSetSpec) -> int:
    """Return the size of one group; 1 if workers are made only when their leader is ready.

    Source:
        LeaderWorkerSet v0.7.0 api/leaderworkerset/v1/leaderworkerset_types.go.
    """
    stated = spec.leader_worker_template.size if spec.leader_worker_template else None
    return 1 if stated is None or spec.startup_policy == LEADER_READY else stated


def templates(spec: LeaderWorkerSetSpec) -> Templates:
    """Return the workers' template, then the leader's; without a leader's one serves both."""
    group = spec.leader_worker_template
    return [group.worker_template, group.leader_template] if group else ()


def changes(spec: LeaderWorkerSetSpec) -> Changes:
    """Return how many groups it has, by default one; with none it is paused.

    The StatefulSet of a group's workers is deleted with the group, and the volumes of both by the
    policies of StatefulSets.

    Source:
        LeaderWorkerSet v0.7.0 api/leaderworkerset/v1/leaderworkerset_types.go; v0.9.0
        pkg/controllers/pod_controller.go (``PersistentVolumeClaimRetentionPolicy``).
    """
    groups = 1 if spec.replicas is None else spec.replicas
    group = spec.leader_worker_template
    retention = group.persistent_volume_claim_retention_policy if group else None
    deletes = retention is not None and "Delete" in {retention.when_deleted, retention.when_scaled}
    pause = Pause(numbers=(("/spec/replicas", groups),), deletes_volumes=deletes)
    return NO_CHANGES._replace(groups=groups, pause=pause)
