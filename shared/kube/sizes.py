"""How many pods the job kinds of other projects want at one time, from their ``spec``.

Each function follows what the kind's own operator asks a gang scheduler for, with one addition:
pods that an operator makes only after others are ready are no part of the gang. It could never
become whole with them.
"""

from typing import Annotated, Final

from msgspec import Meta, Raw, Struct

from shared.kube import wire
from shared.kube.pod_templates import Template

Count = Annotated[int, Meta(ge=0)]

WAIT_FOR_WORKERS: Final = "WaitForWorkersReady"
LEADER_READY: Final = "LeaderReady"
_LAUNCHER: Final = "Launcher"


class Replicas(Struct):
    """One role: ``replicas``; operators take 1 where none are stated."""

    replicas: Count | None = None
    template: Template | None = None


RoleReplicas = dict[str, Replicas | None]


class GangPolicy(Struct, rename="camel"):
    """``schedulingPolicy``."""

    min_available: Count | None = None


class RunPolicy(Struct, rename="camel"):
    """``runPolicy``."""

    scheduling_policy: GangPolicy | None = None
    suspend: bool | None = None
    managed_by: str | None = None


class ElasticPolicy(Struct, rename="camel"):
    """``elasticPolicy`` of a PyTorchJob; with ``metrics`` an autoscaler changes the workers."""

    min_replicas: Count | None = None
    max_replicas: Count | None = None
    metrics: list[Raw] | None = None


class KubeflowSpec(Struct, rename="camel"):
    """``spec`` of the kubeflow.org kinds; each has one of the maps of roles."""

    run_policy: RunPolicy | None = None
    launcher_creation_policy: str | None = None
    elastic_policy: ElasticPolicy | None = None
    enable_dynamic_worker: bool | None = None
    pytorch_replica_specs: RoleReplicas | None = None
    tf_replica_specs: RoleReplicas | None = None
    mpi_replica_specs: RoleReplicas | None = None
    xgb_replica_specs: RoleReplicas | None = None
    paddle_replica_specs: RoleReplicas | None = None
    jax_replica_specs: RoleReplicas | None = None


def kubeflow(spec: KubeflowSpec) -> int | None:
    """Return ``minAvailable``, else all replicas; without a launcher that comes after the workers.

    Source:
        training-operator v1.8.1 pkg/controller.v1/common/job.go (``SyncPodGroup``), mpi-operator
        v0.6.0 pkg/controller/{podgroup,mpi_job_controller}.go.
    """
    roles = roles_of(spec)
    if not roles:
        return None
    counts = {role: one_if_unsaid(found) for role, found in roles.items()}
    policy = spec.run_policy.scheduling_policy if spec.run_policy else None
    stated = policy.min_available if policy else None
    wanted = sum(counts.values()) if stated is None else stated
    if spec.launcher_creation_policy == WAIT_FOR_WORKERS:
        return min(wanted, sum(n for role, n in counts.items() if role != _LAUNCHER))
    return wanted


def roles_of(spec: KubeflowSpec) -> RoleReplicas:
    """Return the roles, as they are spelled, with what is said of each."""
    return (
        spec.pytorch_replica_specs
        or spec.tf_replica_specs
        or spec.mpi_replica_specs
        or spec.xgb_replica_specs
        or spec.paddle_replica_specs
        or spec.jax_replica_specs
        or {}
    )


def one_if_unsaid(found: Replicas | None) -> int:
    """Return the replicas of a role."""
    return 1 if found is None or found.replicas is None else found.replicas


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


def ray_cluster(spec: RayClusterSpec) -> int:
    """Return the head and all workers; with Ray's autoscaler the least number of workers.

    Source:
        KubeRay v1.4.2 controllers/ray/utils/util.go (``CalculateDesiredReplicas``,
        ``CalculateMinReplicas``), controllers/ray/batchscheduler.
    """
    scaled = bool(spec.enable_in_tree_autoscaling)
    return 1 + sum(ray_workers(group, scaled=scaled) for group in spec.worker_group_specs or ())


def ray_workers(group: WorkerGroup, *, scaled: bool) -> int:
    """Return the pods of a group of workers."""
    if group.suspend:
        return 0
    least, wanted = group.min_replicas or 0, group.replicas or 0
    if scaled:
        wanted = least
    else:
        most = max(least, wanted) if group.max_replicas is None else group.max_replicas
        wanted = min(max(wanted, least), most)
    return wanted * (1 if group.num_of_hosts is None else group.num_of_hosts)


class LeaderWorkerTemplate(Struct, rename="camel"):
    """``leaderWorkerTemplate``: of one group."""

    size: Count | None = None
    leader_template: Template | None = None
    worker_template: Template | None = None


class LeaderWorkerSetSpec(Struct, rename="camel"):
    """``spec`` of a LeaderWorkerSet."""

    replicas: int | None = None
    leader_worker_template: LeaderWorkerTemplate | None = None
    startup_policy: str = ""


def leader_worker_set(spec: LeaderWorkerSetSpec) -> int:
    """Return the size of one group; 1 where workers are made only when their leader is ready.

    Source:
        LeaderWorkerSet v0.7.0 api/leaderworkerset/v1/leaderworkerset_types.go.
    """
    stated = spec.leader_worker_template.size if spec.leader_worker_template else None
    return 1 if stated is None or spec.startup_policy == LEADER_READY else stated


class VolcanoTask(Struct, rename="camel"):
    """``tasks[]`` of a Volcano Job."""

    name: str = ""
    replicas: Count = 0
    min_available: Count | None = None
    partition_policy: wire.Present | None = None
    template: Template | None = None


class VolcanoJobSpec(Struct, rename="camel"):
    """``spec`` of a Volcano Job; its webhook writes ``minAvailable`` where none is stated."""

    min_available: Count = 0
    tasks: list[VolcanoTask] | None = None


def volcano_job(spec: VolcanoJobSpec) -> int:
    """Return ``minAvailable``, else what its webhook would make of the tasks.

    Source:
        Volcano pkg/webhooks/admission/jobs/mutate/mutate_job.go (``patchDefaultMinAvailable``).
    """
    of_tasks = sum(
        task.replicas if task.min_available is None else task.min_available
        for task in spec.tasks or ()
    )
    return spec.min_available or of_tasks
