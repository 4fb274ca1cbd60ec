"""JobSet, and the TrainJob of Kubeflow Trainer, which makes a JobSet of its own name.

Source:
    sigs.k8s.io/jobset v0.12.0 ``api/jobset/v1alpha2/jobset_types.go``,
    ``pkg/controllers/jobset_controller.go`` (labelAndAnnotateObject), ``pkg/webhooks``;
    github.com/kubeflow/trainer v2.0.0 ``pkg/constants/constants.go`` (the initializers' names).
"""

from collections.abc import Sequence
from typing import ClassVar, Final

from msgspec import Struct
from msgspec.structs import replace
from typing_extensions import override

from extender.core.kinds.base import JobKind, Owners, integer, last_index_first, rank, size_of_kind
from extender.core.kinds.job import StampingSpec, part_of_job
from extender.core.kinds.manifest import Created, Manifest, reference, uid
from extender.core.kinds.parking_facts import NOT_COUNTED, RESTARTS, ParkingFacts
from shared import foreign_labels, labels
from shared.kube import job_state
from shared.model import OwnProgress, Pod, Uid

RUN_BEFORE: Final = frozenset({"dataset-initializer", "model-initializer"})
"""Parts of a TrainJob that end before its nodes start: each is a job of its own."""

TRAIN_JOBS: Final = "TrainJob.trainer.kubeflow.org"
"""Where TrainJobs are listed (``Owner.collection``)."""

_JOB_INDEX: Final = f"label {foreign_labels.JOBSET_JOB_INDEX}"
_POD_INDEX: Final = f"label {labels.JOB_INDEX_LABEL}"


class _JobTemplate(Struct):
    spec: StampingSpec


class _ReplicatedJob(Struct):
    name: str
    template: _JobTemplate
    replicas: int = 1


class _Spec(Struct, rename="camel"):
    replicated_jobs: list[_ReplicatedJob]


class JobSet(JobKind):
    """The gang is all pods of all Jobs of the set; the role is the name of the replicated job."""

    kind = "jobset"
    marks = frozenset({foreign_labels.JOBSET_NAME})
    any_worker = False
    manifests: ClassVar = (("JobSet", "jobset.x-k8s.io"),)
    progress_field = "status.trainerStatus.lastUpdatedTime"
    parking = (
        ParkingFacts(
            kind="JobSet",
            group="jobset.x-k8s.io",
            field="spec.suspend",
            others="TrainJob, Kueue; it undoes a suspension of one of its Jobs",
            clock=f"`activeDeadlineSeconds` of its Jobs {RESTARTS}",
            failures=f"{NOT_COUNTED} in `maxRestarts`",
            returns="its Jobs go on, in the order of its start",
        ),
        ParkingFacts(
            kind="TrainJob",
            group="trainer.kubeflow.org",
            field="spec.suspend",
            others="Kueue; it undoes a suspension of its JobSet",
            clock=f"`activeDeadlineSeconds` {RESTARTS}",
            failures=f"{NOT_COUNTED} in `maxRestarts`",
            returns="its JobSet goes on; initializers that have ended do not run again",
        ),
    )

    @override
    def claims(self, pod: Pod) -> bool:
        """Return True if the label of the set is there."""
        return bool(pod.labels.get(foreign_labels.JOBSET_NAME))

    @override
    def job_name(self, pod: Pod) -> str:
        """Return the name of the set; no JobSet has a dot in its name, so the second is unique."""
        name, part = pod.labels[foreign_labels.JOBSET_NAME], self.role(pod)
        return f"{name}.{part}" if part in RUN_BEFORE else name

    @override
    def index(self, pod: Pod, above: Owners) -> int | None:
        """Return the number within the replicated job: all pods of the Jobs before, and its own.

        None while that takes the size of a Job that was not observed, and in a Job without indices.
        """
        job = rank(_JOB_INDEX, pod.labels.get(foreign_labels.JOBSET_JOB_INDEX))
        own = rank(_POD_INDEX, pod.labels.get(labels.JOB_INDEX_LABEL))
        pods_of_a_job = above.owner.size if above.owner else None
        if own is None:
            return job if pods_of_a_job == 1 else None
        if not job:
            return own
        return None if pods_of_a_job is None else job * pods_of_a_job + own

    def role(self, pod: Pod) -> str:
        """Return the name of the replicated job."""
        return pod.labels.get(foreign_labels.JOBSET_PART, "").lower()

    def size(self, pod: Pod, above: Owners) -> int | None:
        """Return what the JobSet states, or the sum over its Jobs if only one is replicated.

        Where each Job has a domain of its own, only its first pod counts: the webhook admits the
        others when that pod has a node.
        """
        pods_of_a_job = above.owner.size if above.owner else None
        if self.role(pod) in RUN_BEFORE:
            return pods_of_a_job
        stated = size_of_kind(above, "JobSet")
        jobs = integer(pod.labels.get(foreign_labels.JOBSET_JOBS))
        if jobs and _followers_wait(pod):
            return jobs if stated is None else min(jobs, stated)
        if stated is None and jobs and pods_of_a_job is not None:
            alone = pod.labels.get(foreign_labels.JOBSET_PART_JOBS) == str(jobs)
            return jobs * pods_of_a_job if alone else None
        return stated

    def removal_order(self, workers: Sequence[Pod]) -> tuple[Pod, ...]:
        """Return the workers of an elastic replicated job, which is one Job: last index first."""
        return last_index_first(workers, _index_in_its_job)

    def progress(self, pod: Pod, above: Owners) -> OwnProgress | None:
        """Return what its TrainJob states, which is about the nodes; None for a plain JobSet."""
        if self.role(pod) in RUN_BEFORE:
            return None
        stated = (o.progress for o in above.owners if o.collection == TRAIN_JOBS)
        return next(stated, None)

    def suppose(self, manifest: Manifest) -> Created:
        """Return the pods of each Job, which is Indexed unless it states another mode.

        All Jobs are counted first: a few bytes name any number of replicas.
        """
        spec = manifest.spec_as(_Spec)
        for part in spec.replicated_jobs:
            field = f"{manifest.title}: replicatedJobs[{part.name}]"
            manifest.tally.add_jobs(part.replicas, job_state.size(part.template.spec), field)
        owner = manifest.owner()
        jobs = [(part, number) for part in spec.replicated_jobs for number in range(part.replicas)]
        created = Created([], [owner])
        for replicated, number in jobs:
            name = f"{manifest.name}-{replicated.name}-{number}"
            of_job = replicated.template.spec
            job = replace(
                owner, api_version="batch/v1", kind="Job", name=name,
                uid=Uid(uid("Job", name, owner.namespace)), size=job_state.size(of_job),
                controller=reference(owner),
            )  # fmt: skip
            marks = {
                foreign_labels.JOBSET_NAME: manifest.name,
                foreign_labels.JOBSET_PART: replicated.name,
                foreign_labels.JOBSET_PART_JOBS: str(replicated.replicas),
                foreign_labels.JOBSET_JOBS: str(len(jobs)),
                foreign_labels.JOBSET_JOB_INDEX: str(number),
            }
            indexed = replace(of_job, completion_mode=of_job.completion_mode or "Indexed")
            created.parts.append(part_of_job(name, indexed, reference(job), marks))
            created.owners.append(job)
        return created


def _index_in_its_job(pod: Pod, _above: Owners) -> int | None:
    return rank(_POD_INDEX, pod.labels.get(labels.JOB_INDEX_LABEL))


def _followers_wait(pod: Pod) -> bool:
    notes = pod.annotations
    exclusive = foreign_labels.JOBSET_EXCLUSIVE in notes
    return exclusive and foreign_labels.JOBSET_NODES_PREPARED not in notes
