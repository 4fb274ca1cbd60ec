"""JobSet, and the TrainJob of Kubeflow Trainer, which makes a JobSet of its own name.

Source:
    sigs.k8s.io/jobset v0.12.0 ``api/jobset/v1alpha2/jobset_types.go``,
    ``pkg/controllers/jobset_controller.go`` (labelAndAnnotateObject), ``pkg/webhooks``;
    github.com/kubeflow/trainer v2.0.0 ``pkg/constants/constants.go`` (the initializers' names).
"""

from collections.abc import Sequence
from typing import Final

from extender.core.kinds.base import Owners, integer, last_index_first, rank, size_of_kind
from shared import foreign_labels, labels
from shared.model import OwnProgress, Pod

RUN_BEFORE: Final = frozenset({"dataset-initializer", "model-initializer"})
"""Parts of a TrainJob that end before its nodes start: each is a job of its own."""

TRAIN_JOBS: Final = "TrainJob.trainer.kubeflow.org"
"""Where TrainJobs are listed (``Owner.collection``)."""

_JOB_INDEX: Final = f"label {foreign_labels.JOBSET_JOB_INDEX}"
_POD_INDEX: Final = f"label {labels.JOB_INDEX_LABEL}"


class JobSet:
    """The gang is all pods of all Jobs of the set; the role is the name of the replicated job."""

    kind = "jobset"
    marks = frozenset({foreign_labels.JOBSET_NAME})
    any_worker = False
    progress_field = "status.trainerStatus.lastUpdatedTime"

    def claims(self, pod: Pod) -> bool:
        """The set's label is there."""
        return bool(pod.labels.get(foreign_labels.JOBSET_NAME))

    def job_name(self, pod: Pod) -> str:
        """The set's name; no JobSet has a dot in its name, so the second form is unique."""
        name, part = pod.labels[foreign_labels.JOBSET_NAME], self.role(pod)
        return f"{name}.{part}" if part in RUN_BEFORE else name

    def index(self, pod: Pod, above: Owners) -> int | None:
        """Number within the replicated job: Jobs before its own times their pods, and its own.

        None as long as it takes the size of a Job that was not seen, and in a Job that counts none.
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
        """Name of the replicated job."""
        return pod.labels.get(foreign_labels.JOBSET_PART, "").lower()

    def size(self, pod: Pod, above: Owners) -> int | None:
        """What the JobSet says; the sum over its Jobs where it has one replicated job only.

        Where each Job has a domain for itself, its first pod alone: the webhook admits the others
        when that one has a node.
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
        """Of an elastic replicated job, which is one Job, the highest index goes first."""
        return last_index_first(workers, _index_in_its_job)

    def progress(self, pod: Pod, above: Owners) -> OwnProgress | None:
        """What its TrainJob says, which is about the nodes; of a plain JobSet nothing."""
        if self.role(pod) in RUN_BEFORE:
            return None
        said = (o.progress for o in above.owners if o.collection == TRAIN_JOBS)
        return next(said, None)


def _index_in_its_job(pod: Pod, _above: Owners) -> int | None:
    return rank(_POD_INDEX, pod.labels.get(labels.JOB_INDEX_LABEL))


def _followers_wait(pod: Pod) -> bool:
    notes = pod.annotations
    exclusive = foreign_labels.JOBSET_EXCLUSIVE in notes
    return exclusive and foreign_labels.JOBSET_NODES_PREPARED not in notes
