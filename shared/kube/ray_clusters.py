"""Ray's kinds: how many pods one wants, its templates, what of it may change."""

from typing import Final

from msgspec import Struct

from shared.kube.changes import NO_CHANGES, Changes, suspendable
from shared.kube.pod_templates import Template, Templates
from shared.kube.wire import Count
from shared.model import WorkerCount

_WORKER: Final = "worker"
_UNLIMITED: Final = 2**31 - 1
"""Default of ``maxReplicas`` in KubeRay's definition."""


class WorkerGroup(Struct, rename="camel"):
    """``workerGroupSpecs[]``."""

    group_name: str = ""
    replicas: Count | None = None
    min_replicas: Count | None = None
    max_replicas: Count | None = None
    num_of_hosts: Count | None = None
    suspend: bool | None = None
    template: Template | None = None


class HeadGroup(Struct):
    """``headGroupSpec``."""

    template: Template | None = None


class RayClusterSpec(Struct, rename="camel"):
    """``spec`` of a RayCluster."""

    head_group_spec: HeadGroup | None = None
    worker_group_specs: list[WorkerGroup] | None = None
    enable_in_tree_autoscaling: bool | None = None
    suspend: bool | None = None
    managed_by: str | None = None


class RayJobSpec(Struct, rename="camel"):
    """``spec`` of a RayJob or RayService: little of it, and the RayCluster that it makes."""

    suspend: bool | None = None
    managed_by: str | None = None
    shutdown_after_job_finishes: bool | None = None
    cluster_selector: dict[str, str] | None = None
    ray_cluster_spec: RayClusterSpec | None = None
    ray_cluster_config: RayClusterSpec | None = None


def size(spec: RayClusterSpec) -> int:
    """Return the head and all workers; with Ray's autoscaler the least number of workers.

    Source:
        KubeRay v1.4.2 controllers/ray/utils/util.go (``CalculateDesiredReplicas``,
        ``CalculateMinReplicas``), controllers/ray/batchscheduler.
    """
    scaled = bool(spec.enable_in_tree_autoscaling)
    return 1 + sum(workers_of(group, scaled=scaled) for group in spec.worker_group_specs or ())


def workers_of(group: WorkerGroup, *, scaled: bool) -> int:
    """Return the pods of a group of workers."""
    if group.suspend:
        return 0
    least, replicas = group.min_replicas or 0, group.replicas or 0
    if scaled:
        replicas = least
    else:
        most = max(least, replicas) if group.max_replicas is None else group.max_replicas
        replicas = min(max(replicas, least), most)
    return replicas * (1 if group.num_of_hosts is None else group.num_of_hosts)


def templates(spec: RayClusterSpec) -> Templates:
    """Return the templates of the groups of workers, then the head's."""
    head = spec.head_group_spec
    workers = [group.template for group in spec.worker_group_specs or ()]
    return [*workers, head.template if head else None]


def job_templates(spec: RayJobSpec) -> Templates:
    """Return the templates of the RayCluster that a RayJob or RayService makes."""
    cluster = spec.ray_cluster_spec or spec.ray_cluster_config
    return () if cluster is None else templates(cluster)


def changes(spec: RayClusterSpec) -> Changes:
    """Return the workers of a cluster with one group, with one pod per replica.

    Not with Ray's own autoscaler. The pods that leave are named in the same write: else KubeRay
    removes those that it lists first.

    Source:
        KubeRay v1.4.2 controllers/ray/raycluster_controller.go (``reconcilePods``),
        controllers/ray/utils/util.go (``GetWorkerGroupDesiredReplicas``).
    """
    groups = spec.worker_group_specs or []
    counts: tuple[WorkerCount, ...] = ()
    if len(groups) == 1 and not spec.enable_in_tree_autoscaling:
        counts = tuple(filter(None, (_of_group(groups[0]),)))
    return suspendable(suspended=spec.suspend, managed_by=spec.managed_by, counts=counts)


def _of_group(group: WorkerGroup) -> WorkerCount | None:
    if group.suspend or group.num_of_hosts not in {None, 0, 1}:
        return None
    most = group.max_replicas
    return WorkerCount(
        role=_WORKER,
        count=workers_of(group, scaled=False),
        fields=("/spec/workerGroupSpecs/0/replicas",),
        guards=(("/spec/workerGroupSpecs/0/groupName", group.group_name),),
        least=group.min_replicas or 0,
        most=None if most == _UNLIMITED else most,
        leaving="/spec/workerGroupSpecs/0/scaleStrategy",
        leaving_key="workersToDelete",
    )


def job_changes(spec: RayJobSpec) -> Changes:
    """Return the suspension of a RayJob, if KubeRay allows it: the cluster ends with the job.

    Source:
        KubeRay v1.4.2 controllers/ray/utils/validation.go (``ValidateRayJobSpec``).
    """
    if not spec.shutdown_after_job_finishes or spec.cluster_selector:
        return NO_CHANGES
    return suspendable(suspended=spec.suspend, managed_by=spec.managed_by)
