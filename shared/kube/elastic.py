"""Which numbers of the job kinds of other projects may change while they run, from their ``spec``.

A number is here only if the kind's own controller makes and removes pods when it changes; by how
much the training bears it, its user says (``shuntyard.io/workers``). Lists are told by position,
with the entry's name as a guard.
"""

from typing import Final

from msgspec.structs import replace

from shared.kube import job_sets, sizes
from shared.kube.changes import NO_CHANGES, Changes, suspendable
from shared.kube.sizes import ElasticPolicy, KubeflowSpec
from shared.model import WorkerCount

_WORKER: Final = "worker"
_UNLIMITED: Final = 2**31 - 1
"""What KubeRay's definition writes as ``maxReplicas`` where none is stated."""


def pytorch_job(spec: KubeflowSpec) -> Changes:
    """Return the workers of one with an elastic policy, within its bounds.

    Without it, and without bounds, the number is in the environment of every pod. With metrics an
    autoscaler changes it.

    Source:
        training-operator v1.9.3 pkg/controller.v1/pytorch/{elastic,envvar,hpa}.go,
        pkg/apis/kubeflow.org/v1/pytorch_defaults.go: one bound stands for both;
        pkg/controller.v1/common/pod.go (``ReconcilePods``): indices beyond the number go.
    """
    policy = spec.elastic_policy
    bounds = _bounds(policy)
    if policy is None or bounds is None or policy.metrics:
        return kubeflow(spec)
    counts = (_workers(spec, "pytorchReplicaSpecs", *bounds, elastic=True),)
    return kubeflow(spec, *filter(None, counts))


def tf_job(spec: KubeflowSpec) -> Changes:
    """Return the workers of one that says ``enableDynamicWorker``.

    Without it, all workers stand in the ``TF_CONFIG`` of every pod.

    Source:
        training-operator v1.9.3 pkg/controller.v1/tensorflow/tensorflow.go
        (``genTFConfigJSONStr``).
    """
    count = _workers(spec, "tfReplicaSpecs") if spec.enable_dynamic_worker else None
    return kubeflow(spec, *filter(None, (count,)))


def mpi_job(spec: KubeflowSpec) -> Changes:
    """Return the workers: the launcher finds them with the script ``discover_hosts.sh``.

    Source:
        mpi-operator v0.6.0 pkg/controller/mpi_job_controller.go (``getOrCreateWorker``,
        ``updateDiscoverHostsInConfigMap``); training-operator v1.9.3 pkg/controller.v1/mpi the
        same.
    """
    return kubeflow(spec, *filter(None, (_workers(spec, "mpiReplicaSpecs"),)))


def kubeflow(spec: KubeflowSpec, *counts: WorkerCount) -> Changes:
    """Return the changes of any kubeflow.org kind: all can be suspended.

    A patch cannot write into a ``runPolicy`` that is not there.

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
    """Return the number of the role of workers, however that is spelled."""
    for role, found in sizes.roles_of(spec).items():
        if role.lower() == _WORKER and found is not None:
            return WorkerCount(
                role=_WORKER,
                count=sizes.one_if_unsaid(found),
                fields=(f"/spec/{field}/{role}/replicas",),
                least=least,
                most=most,
                elastic=elastic,
            )
    return None


def job_set(found: job_sets.JobSet) -> Changes:
    """Return the pods of each replicated job that is one Indexed Job.

    The webhook lets them change only with the feature gate ``ElasticJobSet``, which no object
    tells. Of several Jobs each would lose its last pods: no order of theirs as a whole.

    Source:
        JobSet v0.12.0 pkg/webhooks/jobset_webhook.go (``ValidateUpdate``),
        pkg/controllers/jobset_controller.go (``syncJobScaling``).
    """
    if found.spec is None:
        return NO_CHANGES
    jobs = found.spec.replicated_jobs or []
    counts = (_of_job(place, job, alone=len(jobs) == 1) for place, job in enumerate(jobs))
    return suspendable(
        suspended=found.spec.suspend,
        managed_by=found.spec.managed_by,
        counts=tuple(filter(None, counts)),
    )


def _of_job(place: int, job: job_sets.ReplicatedJob, *, alone: bool) -> WorkerCount | None:
    spec = job.template.spec if job.template else None
    if spec is None or spec.completion_mode != "Indexed" or job_sets.replicas(job) != 1:
        return None
    if spec.parallelism is None or spec.parallelism != spec.completions:
        return None
    job_at = f"/spec/replicatedJobs/{place}"
    at = f"{job_at}/template/spec"
    return WorkerCount(
        role="" if alone else job.name.lower(),
        count=spec.parallelism,
        fields=(f"{at}/parallelism", f"{at}/completions"),
        guards=((f"{job_at}/name", job.name),),
    )


def ray_cluster(spec: sizes.RayClusterSpec) -> Changes:
    """Return the workers of a cluster with one group of them, of one pod a replica.

    Ray's own autoscaler is not fought. Who leaves is named in the same write: else KubeRay removes
    whichever it lists first.

    Source:
        KubeRay v1.4.2 controllers/ray/raycluster_controller.go (``reconcilePods``),
        controllers/ray/utils/util.go (``GetWorkerGroupDesiredReplicas``).
    """
    groups = spec.worker_group_specs or []
    counts: tuple[WorkerCount, ...] = ()
    if len(groups) == 1 and not spec.enable_in_tree_autoscaling:
        counts = tuple(filter(None, (_of_group(groups[0]),)))
    return suspendable(suspended=spec.suspend, managed_by=spec.managed_by, counts=counts)


def _of_group(group: sizes.WorkerGroup) -> WorkerCount | None:
    if group.suspend or group.num_of_hosts not in {None, 0, 1}:
        return None
    most = group.max_replicas
    return WorkerCount(
        role=_WORKER,
        count=sizes.ray_workers(group, scaled=False),
        fields=("/spec/workerGroupSpecs/0/replicas",),
        guards=(("/spec/workerGroupSpecs/0/groupName", group.group_name),),
        least=group.min_replicas or 0,
        most=None if most == _UNLIMITED else most,
        leaving="/spec/workerGroupSpecs/0/scaleStrategy",
        leaving_key="workersToDelete",
    )


def volcano_job(spec: sizes.VolcanoJobSpec) -> Changes:
    """Return the replicas of each task, with those least numbers that would be above them.

    The webhook refuses a ``minAvailable`` above the replicas, and writes one that equals them where
    none is stated: such a one changes with them. One that is stated and lower is a bound. A task
    of partitions has as many pods as they have together. Of several tasks each keeps a pod: there
    is no suspending the others with it.

    Source:
        Volcano v1.15.1 pkg/webhooks/admission/jobs/validate/admit_job.go (``validateJobUpdate``,
        ``validatePartitionPolicy``), pkg/webhooks/admission/jobs/mutate/mutate_job.go,
        pkg/controllers/job/job_controller_actions.go (``syncJob``): indices beyond the number go;
        pkg/controllers/job/state/running.go: none at all leaves the job as it is.
    """
    tasks = spec.tasks or []
    total = sum(task.replicas for task in tasks)
    counts = (
        _of_task(place, task, spec.min_available, total)
        for place, task in enumerate(tasks)
        if task.partition_policy is None
    )
    if len(tasks) == 1:
        return Changes(tuple(replace(count, role="") for count in counts))
    return Changes(tuple(replace(count, least=max(count.least, 1)) for count in counts))


def _of_task(place: int, task: sizes.VolcanoTask, of_job: int, total: int) -> WorkerCount:
    at = f"/spec/tasks/{place}"
    others = total - task.replicas
    fields, totals, least = [f"{at}/replicas"], list[tuple[str, int]](), 0
    if task.min_available is not None and task.min_available >= task.replicas:
        fields.append(f"{at}/minAvailable")
    else:
        least = task.min_available or 0
    if of_job >= total:
        totals.append(("/spec/minAvailable", others))
    else:
        least = max(least, of_job - others)
    return WorkerCount(
        role=task.name.lower(),
        count=task.replicas,
        fields=tuple(fields),
        totals=tuple(totals),
        guards=((f"{at}/name", task.name),),
        least=least,
    )
