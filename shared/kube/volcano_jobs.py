"""A Volcano Job: how many pods it wants, its templates, what of it may change."""

from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from shared.kube import wire
from shared.kube.changes import Changes
from shared.kube.pod_templates import Template, Templates
from shared.kube.wire import Count
from shared.model import Pause, WorkerCount

_WORKER: Final = "worker"


class VolcanoTask(Struct, rename="camel"):
    """``tasks[]`` of a Volcano Job."""

    name: str = ""
    replicas: Count = 0
    min_available: Count | None = None
    partition_policy: wire.Present | None = None
    template: Template | None = None


class VolcanoJobSpec(Struct, rename="camel"):
    """``spec`` of a Volcano Job; its webhook defaults ``minAvailable``."""

    min_available: Count = 0
    tasks: list[VolcanoTask] | None = None


def size(spec: VolcanoJobSpec) -> int:
    """Return ``minAvailable``, else its webhook's default from the tasks.

    Source:
        Volcano pkg/webhooks/admission/jobs/mutate/mutate_job.go (``patchDefaultMinAvailable``).
    """
    of_tasks = sum(
        task.replicas if task.min_available is None else task.min_available
        for task in spec.tasks or ()
    )
    return spec.min_available or of_tasks


def templates(spec: VolcanoJobSpec) -> Templates:
    """Return the templates of the tasks, the workers first."""
    tasks = sorted(spec.tasks or (), key=lambda task: task.name.lower() != _WORKER)
    return [task.template for task in tasks]


def changes(spec: VolcanoJobSpec) -> Changes:
    """Return the replicas of each task, with the ``minAvailable`` that must change with them.

    The webhook refuses a ``minAvailable`` above the replicas, and defaults it to them: then it
    changes with them. A lower one is a bound. A task with partitions has the sum of their pods. Of
    several tasks each keeps a pod, but a pause sets the numbers of all to 0, in one write.

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
    pause = _pause(spec, tasks)
    if len(tasks) == 1:
        return Changes(tuple(replace(count, role="") for count in counts), pause=pause)
    bounded = tuple(replace(count, least=max(count.least, 1)) for count in counts)
    return Changes(bounded, pause=pause)


def _pause(spec: VolcanoJobSpec, tasks: list[VolcanoTask]) -> Pause | None:
    """Return the numbers of all tasks; None if a task has partitions, or there is no task."""
    if not tasks or any(task.partition_policy is not None for task in tasks):
        return None
    numbers, guards = [("/spec/minAvailable", spec.min_available)], list[tuple[str, str]]()
    for place, task in enumerate(tasks):
        at = f"/spec/tasks/{place}"
        guards.append((f"{at}/name", task.name))
        numbers.append((f"{at}/replicas", task.replicas))
        if task.min_available is not None:
            numbers.append((f"{at}/minAvailable", task.min_available))
    return Pause(numbers=tuple(numbers), guards=tuple(guards))


def _of_task(place: int, task: VolcanoTask, of_job: int, total: int) -> WorkerCount:
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
