"""Machines and jobs of a workload as the API server would show them.

The pods are as a user of the queue writes them: our gate, the job's label, gang size, role and
annotations. A uid contains the job's number in the workload, so that the same workload gives the
same uids and jobs of one moment are ordered as in the workload.
"""

from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Final

from msgspec.structs import replace

from shared import labels
from shared.model import (
    PODS,
    JobKey,
    Namespace,
    Node,
    NodeName,
    Pod,
    PodShape,
    Uid,
)
from simulator.cluster.actions import SERVER, WORKER
from simulator.cluster.errors import WorkloadError
from simulator.cluster.events import EPOCH_SECONDS
from simulator.workload import Job, Machine

MOST_PODS: Final = 110
"""Pods per node, of a machine that does not state it."""


def node(machine: Machine) -> Node:
    """Return the Node of a machine."""
    return Node(
        name=NodeName(machine.name),
        uid=Uid(f"node-{machine.name}"),
        allocatable={PODS: MOST_PODS, **machine.allocatable},
        labels={labels.HOSTNAME_LABEL: machine.name, **machine.labels},
    )


def namespaces(jobs: Iterable[Job]) -> tuple[Namespace, ...]:
    """Return the namespaces of the jobs, with their user priority.

    Raises:
        WorkloadError: Two jobs state different priorities of one namespace.
    """
    stated: dict[str, int] = {}
    for job in jobs:
        before = stated.setdefault(job.namespace, job.user_priority)
        if before != job.user_priority:
            raise WorkloadError(
                f"{job.name}: user_priority {job.user_priority} of namespace {job.namespace}, "
                f"but another job states {before}"
            )
    return tuple(
        Namespace(name=name, annotations={labels.USER_PRIORITY: str(u)})
        for name, u in sorted(stated.items())
    )


def job_name(key: JobKey) -> str:
    """Return the name of the job in the workload."""
    return key.split("/", 2)[2]


def pods(job: Job, number: int, generation: int = 0) -> Iterator[Pod]:
    """Yield the waiting pods of a job: servers, then the requested workers.

    Args:
        job: The job.
        number: Its place in the workload.
        generation: How often its pods were recreated; each generation has its own uids.
    """
    notes = _notes(job)
    for index in range(job.servers):
        yield pod(job, number, generation, SERVER, index, notes)
    for index in range(job.workers):
        yield pod(job, number, generation, WORKER, index, notes)


def pod(
    job: Job,
    number: int,
    generation: int,
    role: str,
    index: int,
    notes: Mapping[str, str] | None = None,
) -> Pod:
    """Return one waiting pod of a job; ``notes`` are its annotations, if already made."""
    return Pod(
        namespace=job.namespace,
        name=pod_name(job.name, role, index),
        uid=Uid(f"{number:08}-{generation:04}-{role}-{index:05}"),
        resource_version="",
        created_at=EPOCH_SECONDS + job.submitted_at,
        shape=shape(job, role),
        labels={labels.JOB: job.name, labels.ROLE: role, labels.JOB_INDEX_LABEL: str(index)},
        annotations=_notes(job) if notes is None else notes,
        scheduler_name=labels.SCHEDULER_NAME,
        gates=(labels.GATE,),
        priority=job.class_value,
    )


def shape(job: Job, role: str) -> PodShape:
    """Return what a pod of that role requests of a node; equal shapes are one object."""
    requests = job.server if role == SERVER else job.worker
    return _shape(tuple(sorted(requests.items())))


def pod_name(job: str, role: str, index: int) -> str:
    """Return the name of a pod."""
    return f"{job}-{role}-{index}"


def member(name: str) -> tuple[str, int]:
    """Return role and index of the pod of that name."""
    _, role, index = name.rsplit("-", 2)
    return role, int(index)


def running(waiting: Pod, node_name: NodeName, plan: str, plan_size: int, at: float) -> Pod:
    """Return a pod after release, binding and start at ``at`` seconds of the workload."""
    plan_annotations = {labels.NODE: node_name, labels.PLAN: plan, labels.PLAN_SIZE: str(plan_size)}
    return replace(
        waiting,
        annotations={**waiting.annotations, **plan_annotations},
        gates=(),
        node_name=node_name,
        phase="Running",
        scheduled_at=EPOCH_SECONDS + at,
    )


def succeeded(pod_: Pod) -> Pod:
    """Return a pod after its end."""
    return replace(pod_, phase="Succeeded")


def _notes(job: Job) -> dict[str, str]:
    notes = {**job.annotations, labels.MIN_AVAILABLE: str(job.servers + job.least_workers)}
    if job.max_wait_seconds is not None:
        notes[labels.MAX_WAIT] = _duration(job.max_wait_seconds)
    if job.expected_seconds is not None:
        notes[labels.EXPECTED_DURATION] = _duration(job.expected_seconds)
    return notes


def _duration(seconds: float) -> str:
    return f"{seconds:.9f}".rstrip("0").rstrip(".") + "s"


@lru_cache(maxsize=4096)
def _shape(requests: tuple[tuple[str, int], ...]) -> PodShape:
    amounts = {PODS: 1, **{name: amount for name, amount in requests if amount}}
    return PodShape(requests=tuple(sorted(amounts.items())))
