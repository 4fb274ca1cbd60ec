"""A JobSet: how many pods it wants at one time, its templates, what of it may change.

Its size counts the pods of the replicated jobs that may run now.

A replicated job may have to wait for others (``dependsOn``), or for all before it
(``startupPolicy`` with order ``InOrder``). Its pods do not exist until then, and a gang that
counted them would wait forever. So the size grows when the next ones may start; finished ones stay
counted, as their pods do. The initializers of a TrainJob are never counted: each is a
job of its own (``extender.core.kinds.job_set``).

Source:
    JobSet v0.12.0, pkg/controllers/{depends_on,startup_policy}.go.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from msgspec import Struct, field

from shared.kube import job_state, wire
from shared.kube.changes import NO_CHANGES, Changes, suspendable
from shared.kube.pod_templates import Noted, Template, Templates
from shared.model import WorkerCount

IN_ORDER: Final = "InOrder"
COMPLETE: Final = "Complete"
INITIALIZERS: Final = frozenset({"dataset-initializer", "model-initializer"})
"""Names that Kubeflow Trainer v2.0.0 gives to replicated jobs that end before the others start."""

_WORKER: Final = "worker"
_NO_JOB: Final = wire.StampingJobSpec()


class Dependency(Struct):
    """``dependsOn[]``."""

    name: str = ""
    status: str = ""


class JobTemplate(Struct):
    """``template``."""

    metadata: Noted | None = None
    spec: wire.StampingJobSpec | None = None


class ReplicatedJob(Struct, rename="camel"):
    """``replicatedJobs[]``; the API server defaults to 1 replica."""

    name: str = ""
    replicas: int | None = None
    template: JobTemplate | None = None
    depends_on: list[Dependency] | None = None


class StartupPolicy(Struct, rename="camel"):
    """``startupPolicy``."""

    startup_policy_order: str = ""


class JobSetSpec(Struct, rename="camel"):
    """``spec`` of a JobSet."""

    replicated_jobs: list[ReplicatedJob] | None = None
    startup_policy: StartupPolicy | None = None
    suspend: bool | None = None
    managed_by: str | None = None


class ReplicatedJobStatus(Struct):
    """``replicatedJobsStatus[]``: Jobs, not pods."""

    name: str = ""
    ready: int = 0
    succeeded: int = 0
    failed: int = 0
    active: int = 0


class JobSetStatus(Struct, rename="camel"):
    """``status`` of a JobSet."""

    replicated_jobs_status: list[ReplicatedJobStatus] | None = None


class JobSet(Struct):
    """A JobSet."""

    metadata: wire.Meta
    spec: JobSetSpec | None = None
    status: JobSetStatus | None = None
    api_version: str = field(default="", name="apiVersion")


def size(job_set: JobSet) -> int | None:
    """Return the pods of all replicated jobs that run, have run or may start now.

    None while there are none, so that the first pods do not count as all of them.
    """
    if job_set.spec is None:
        return None
    jobs = job_set.spec.replicated_jobs or []
    status = job_set.status.replicated_jobs_status if job_set.status else None
    statuses = {status_entry.name: status_entry for status_entry in status or ()}
    policy = job_set.spec.startup_policy
    in_order = policy is not None and policy.startup_policy_order == IN_ORDER
    total = 0
    for place, job in enumerate(jobs):
        if job.name in INITIALIZERS:
            continue
        before = jobs[:place] if in_order else ()
        if _exists(statuses.get(job.name)) or _may_start(job, before, jobs, statuses):
            total += _pods(job)
    return total or None


def _pods(job: ReplicatedJob) -> int:
    spec = job.template.spec if job.template else None
    return replicas(job) * job_state.size(spec or _NO_JOB)


def replicas(job: ReplicatedJob) -> int:
    """Return the Jobs of a replicated job, by default 1."""
    return 1 if job.replicas is None else job.replicas


def _exists(status: ReplicatedJobStatus | None) -> bool:
    """Return True if its Jobs were created; then it stays counted."""
    return status is not None and any(
        (status.ready, status.succeeded, status.failed, status.active)
    )


def _may_start(
    job: ReplicatedJob,
    before: Sequence[ReplicatedJob],
    jobs: Sequence[ReplicatedJob],
    statuses: Mapping[str, ReplicatedJobStatus],
) -> bool:
    counts = {other.name: replicas(other) for other in jobs}
    waits_for = [*(Dependency(other.name) for other in before), *(job.depends_on or ())]
    return all(
        _reached(other, counts.get(other.name), statuses.get(other.name)) for other in waits_for
    )


def _reached(
    dependency: Dependency, replicas: int | None, status: ReplicatedJobStatus | None
) -> bool:
    if status is None:
        return False
    if dependency.status == COMPLETE:
        return status.succeeded == replicas
    return status.ready + status.succeeded + status.failed == replicas


def templates(job_set: JobSet) -> Templates:
    """Return the pod template of each replicated job, then the annotations of its Jobs."""
    jobs = (job_set.spec.replicated_jobs if job_set.spec else None) or []
    made = [job.template for job in sorted(jobs, key=lambda job: job.name.lower() != _WORKER)]
    of_pods = [
        template.spec.template
        for template in made
        if template is not None and template.spec is not None
    ]
    return [*of_pods, *(Template(template.metadata) for template in made if template is not None)]


def changes(job_set: JobSet) -> Changes:
    """Return the number of pods of each replicated job that is one Indexed Job.

    The webhook allows the change only with the feature gate ``ElasticJobSet``, which no object
    shows. Of several Jobs each would lose its last pods, not the last ones of the whole.

    Source:
        JobSet v0.12.0 pkg/webhooks/jobset_webhook.go (``ValidateUpdate``),
        pkg/controllers/jobset_controller.go (``syncJobScaling``).
    """
    if job_set.spec is None:
        return NO_CHANGES
    jobs = job_set.spec.replicated_jobs or []
    counts = (_of_job(place, job, alone=len(jobs) == 1) for place, job in enumerate(jobs))
    return suspendable(
        suspended=job_set.spec.suspend,
        managed_by=job_set.spec.managed_by,
        counts=tuple(filter(None, counts)),
    )


def _of_job(place: int, job: ReplicatedJob, *, alone: bool) -> WorkerCount | None:
    spec = job.template.spec if job.template else None
    if spec is None or spec.completion_mode != "Indexed" or replicas(job) != 1:
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
