"""``batch/v1`` Job, plain and Indexed."""

from collections.abc import Mapping, Sequence
from typing import ClassVar, Final

from typing_extensions import override

from extender.core.kinds.base import (
    ControlledBy,
    Leaving,
    Obstacle,
    Owners,
    Unmovable,
    integer,
    last_index_first,
    rank,
)
from extender.core.kinds.manifest import Created, Manifest, Part, Template, reference
from extender.core.kinds.parking_facts import RESTARTS, ParkingFacts
from shared import labels
from shared.kube import job_state
from shared.model import JobState, Mover, Owner, OwnerReference, Pod

_INDEX: Final = f"label {labels.JOB_INDEX_LABEL}"


class StampingSpec(job_state.JobSpec, rename="camel", kw_only=True):
    """``spec`` with the pod template."""

    template: Template


class BatchJob(ControlledBy):
    """The gang is what the Job runs at one time: min(parallelism, completions)."""

    kind = "job"
    controller_kind = "Job"
    controller_group = "batch"
    always_read = True
    any_worker = False
    manifests: ClassVar = (("Job", "batch"),)
    parking = (
        ParkingFacts(
            kind="Job",
            group="batch",
            field="spec.suspend",
            others="Kueue; not a CronJob",
            clock=f"`activeDeadlineSeconds` {RESTARTS}: `startTime` is cleared",
            returns="the indices, or completions, that have not succeeded",
        ),
    )

    @override
    def index(self, pod: Pod, above: Owners) -> int | None:
        """Return the completion index of an Indexed Job."""
        text = pod.labels.get(labels.JOB_INDEX_LABEL) or pod.annotations.get(labels.JOB_INDEX_LABEL)
        return rank(_INDEX, text)

    def removal_order(self, workers: Sequence[Pod]) -> tuple[Pod, ...]:
        """Return the workers of an Indexed Job, the highest index first."""
        return last_index_first(workers, self.index)

    @override
    def mover(self, leaving: Leaving) -> Mover | Unmovable:
        """Return that all living pods are suspended together, or one of several is evicted.

        Without ``backoffLimitPerIndex`` a Job adds up the failures of all its pods and delays each
        new pod by ten seconds, doubled with each failure: its pods are not moved one by one.
        """
        owner = leaving.owner
        if owner is None or owner.job is None:
            return Unmovable(Obstacle.OWNER_GONE)
        if owner.job.managed:
            return Unmovable(Obstacle.OWNER, "another controller drives the Job")
        if owner.job.suspended:
            return Unmovable(Obstacle.STOPPED, "the Job is suspended")
        if owner.controller is not None and owner.controller.kind != "CronJob":
            return _of_driven(owner, owner.job, leaving.pods)
        if len(leaving.pods) == leaving.alive:
            return Mover.SUSPEND
        bearable = owner.job.per_index and _bears_an_eviction(owner.job, leaving.pods[0])
        return Mover.EVICT if bearable else Unmovable(Obstacle.FAILURE)

    def suppose(self, manifest: Manifest) -> Created:
        """Return the pods that run at one time."""
        spec, owner = manifest.spec_as(StampingSpec), manifest.owner()
        part = part_of_job(manifest.name, spec, reference(owner), {})
        return manifest.created([part], [owner])


def part_of_job(
    name: str, spec: StampingSpec, controller: OwnerReference, more: Mapping[str, str]
) -> Part:
    """Return the pods of a Job; ``more`` are labels beside those of every Job."""
    index = labels.JOB_INDEX_LABEL if spec.completion_mode == "Indexed" else ""
    marks = {labels.JOB_NAME_LABEL: name, **more}
    return Part(
        name=name,
        count=job_state.size(spec),
        template=spec.template,
        controller=controller,
        labels=marks,
        index=index,
    )


def _of_driven(owner: Owner, job: JobState, pods: Sequence[Pod]) -> Mover | Unmovable:
    """A JobSet resets ``suspend`` of its Jobs, and starts all of them anew if one fails."""
    kind = owner.controller.kind if owner.controller else ""
    if kind != "JobSet" or len(pods) > 1:
        return Unmovable(Obstacle.OWNER, f"a {'gang' if len(pods) > 1 else 'Job'} of a {kind}")
    return Mover.EVICT if _bears_an_eviction(job, pods[0]) else Unmovable(Obstacle.FAILURE)


def failures_suffice(job: JobState, pods: Sequence[Pod]) -> bool:
    """Return True if neither the Job nor an index fails when all these pods of it are deleted."""
    if job.fails_with_pod:
        return False
    if job.per_index:
        return all(_bears_an_eviction(job, pod) for pod in pods)
    return job.failures_left >= len(pods)


def _bears_an_eviction(job: JobState, pod: Pod) -> bool:
    """Return True if one more failure of this pod ends neither the Job nor the pod's index."""
    counted = integer(pod.annotations.get(labels.INDEX_FAILURES)) or 0
    left = job.failures_left - (counted if job.per_index else 0)
    return left >= 1 and not job.fails_with_pod
