"""The kubeflow.org kinds: how many pods one wants, its templates, what of it may change.

The size is what the kind's own operator requests from a gang scheduler, without pods that it makes
only after others are ready: with them the gang could never become whole.
"""

from typing import Final

from msgspec import Raw, Struct

from shared.kube.changes import Changes, suspendable
from shared.kube.pod_templates import Template, Templates
from shared.kube.wire import Count
from shared.model import WorkerCount

WAIT_FOR_WORKERS: Final = "WaitForWorkersReady"
_LAUNCHER: Final = "Launcher"
_WORKER: Final = "worker"


class Replicas(Struct):
    """One role: ``replicas``; operators default to 1."""

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


def size(spec: KubeflowSpec) -> int | None:
    """Return ``minAvailable``, else all replicas; without a launcher that comes after the workers.

    Source:
        training-operator v1.8.1 pkg/controller.v1/common/job.go (``SyncPodGroup``), mpi-operator
        v0.6.0 pkg/controller/{podgroup,mpi_job_controller}.go.
    """
    roles = roles_of(spec)
    if not roles:
        return None
    counts = {role: replicas_of(replicas) for role, replicas in roles.items()}
    policy = spec.run_policy.scheduling_policy if spec.run_policy else None
    stated = policy.min_available if policy else None
    size = sum(counts.values()) if stated is None else stated
    if spec.launcher_creation_policy == WAIT_FOR_WORKERS:
        return min(size, sum(n for role, n in counts.items() if role != _LAUNCHER))
    return size


def roles_of(spec: KubeflowSpec) -> RoleReplicas:
    """Return the roles by their spelling."""
    return (
        spec.pytorch_replica_specs
        or spec.tf_replica_specs
        or spec.mpi_replica_specs
        or spec.xgb_replica_specs
        or spec.paddle_replica_specs
        or spec.jax_replica_specs
        or {}
    )


def replicas_of(replicas: Replicas | None) -> int:
    """Return the replicas of a role, by default 1."""
    return 1 if replicas is None or replicas.replicas is None else replicas.replicas


def templates(spec: KubeflowSpec) -> Templates:
    """Return the templates of the roles, the workers first."""
    roles = roles_of(spec)
    workers_first = sorted(roles, key=lambda role: role.lower() != _WORKER)
    return [replicas.template for role in workers_first if (replicas := roles[role]) is not None]


def pytorch_changes(spec: KubeflowSpec) -> Changes:
    """Return the workers of a job with an elastic policy, within its bounds.

    Without a policy or bounds, the number is in the environment of every pod. With metrics an
    autoscaler changes it.

    Source:
        training-operator v1.9.3 pkg/controller.v1/pytorch/{elastic,envvar,hpa}.go,
        pkg/apis/kubeflow.org/v1/pytorch_defaults.go: one bound stands for both;
        pkg/controller.v1/common/pod.go (``ReconcilePods``): indices beyond the number go.
    """
    policy = spec.elastic_policy
    bounds = _bounds(policy)
    if policy is None or bounds is None or policy.metrics:
        return changes(spec)
    counts = (_workers(spec, "pytorchReplicaSpecs", *bounds, elastic=True),)
    return changes(spec, *filter(None, counts))


def tf_changes(spec: KubeflowSpec) -> Changes:
    """Return the workers of a job with ``enableDynamicWorker``.

    Without it, all workers are in the ``TF_CONFIG`` of every pod.

    Source:
        training-operator v1.9.3 pkg/controller.v1/tensorflow/tensorflow.go
        (``genTFConfigJSONStr``).
    """
    count = _workers(spec, "tfReplicaSpecs") if spec.enable_dynamic_worker else None
    return changes(spec, *filter(None, (count,)))


def mpi_changes(spec: KubeflowSpec) -> Changes:
    """Return the workers: the launcher finds them with the script ``discover_hosts.sh``.

    Source:
        mpi-operator v0.6.0 pkg/controller/mpi_job_controller.go (``getOrCreateWorker``,
        ``updateDiscoverHostsInConfigMap``); training-operator v1.9.3 pkg/controller.v1/mpi the
        same.
    """
    return changes(spec, *filter(None, (_workers(spec, "mpiReplicaSpecs"),)))


def changes(spec: KubeflowSpec, *counts: WorkerCount) -> Changes:
    """Return the changes of any kubeflow.org kind: all can be suspended.

    A patch cannot write into a missing ``runPolicy``.

    Source:
        training-operator v1.9.3 pkg/controller.v1/common/job.go (``ReconcileJobs``), mpi-operator
        v0.6.0 pkg/controller/mpi_job_controller.go.
    """
    policy = spec.run_policy
    if policy is None:
        return Changes(counts)
    return suspendable(
        suspended=policy.suspend,
        managed_by=policy.managed_by,
        counts=counts,
        field="/spec/runPolicy/suspend",
    )


def _bounds(policy: ElasticPolicy | None) -> tuple[int, int] | None:
    if policy is None:
        return None
    least, most = policy.min_replicas, policy.max_replicas
    least, most = most if least is None else least, least if most is None else most
    return None if least is None or most is None else (max(least, 1), most)


def _workers(
    spec: KubeflowSpec,
    field: str,
    least: int = 1,
    most: int | None = None,
    *,
    elastic: bool = False,
) -> WorkerCount | None:
    """Return the number of the role of workers, in any spelling."""
    for role, replicas in roles_of(spec).items():
        if role.lower() == _WORKER and replicas is not None:
            return WorkerCount(
                role=_WORKER,
                count=replicas_of(replicas),
                fields=(f"/spec/{field}/{role}/replicas",),
                least=least,
                most=most,
                elastic=elastic,
            )
    return None
