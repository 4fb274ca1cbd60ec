"""A job of the cluster as OASiS sees it: its work in worker-slots, its demands, its utility."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Final

from msgspec.structs import replace as changed

from extender.core.cluster import training_spec
from extender.core.cluster.job_spec import Shrink
from extender.core.cluster.jobs import Job, Member, State
from extender.core.cluster.snapshot import Snapshot
from extender.core.cluster.training_spec import Training
from extender.core.cluster.utility import UtilityCurve, utility_of, utility_text
from extender.core.cluster.worker_gang import worker_roles
from extender.core.kinds import registry
from extender.core.queue import running_jobs
from extender.core.records.elastic_workers import ElasticOwner, elastic_owner
from extender.core.records.slot_plan import JobRequest
from shared import labels
from shared.errors import InputError
from shared.model import Owner, Pod, PodShape

GONE: Final = 0.01
"""A job that can reach less than this part of its worth has lost its utility."""


_GONE: Final = frozenset({State.SUCCEEDED, State.FAILED, State.LEAVING})


_NO_OWNER: Final = (
    "owned by an object that the extender reads; the slot plan is stored on that owner"
)


_GROUPS: Final = (
    "1 beside shuntyard.io/utility: each group is a job of its own, and there is one plan for an "
    "owner; make one for each group"
)


_UNMODELLED: Final = "modelled in plans over time slots; remove it from the pods of the job"


def wants_admission(job: Job) -> bool:
    """Return True if the job states a utility."""
    return job.spec.utility is not None


def is_whole(job: Job) -> bool:
    """Return True if all pods of the gang are there."""
    return job.min_available is not None and len(_live(job)) >= job.min_available


def is_measured(job: Job) -> bool:
    """Return True unless the job states its training without how long its steps take.

    Raises:
        InputError: The annotation cannot be used.
    """
    return job.spec.training is None or job.spec.training.get().complete


def batches(job: Job) -> int:
    """Return E·N·M, the mini-batches of the whole training.

    Raises:
        InputError: The annotation cannot be used.
    """
    training = _stated_training(job)
    return training.epochs * training.chunks * training.batches


def is_gone(job: Job, now: float, slot_seconds: float) -> bool:
    """Return True if completing is worth nothing, or next to it, even if the job began now.

    Raises:
        InputError: An annotation cannot be used.
    """
    worth, training = _stated_worth(job), _stated_training(job)
    whole, step = training.whole_step_seconds, training.step_seconds
    batch = whole if whole is not None else (step or 0.0) + training.exchange_seconds
    work = training.epochs * training.chunks * training.batches * batch
    wished = job.spec.workers
    most = len(_workers(_live(job))) if wished is None else min(wished.most, training.chunks)
    lasts = -(-work // (slot_seconds * max(1, most))) * slot_seconds
    return worth.of(max(0.0, now - job.created_at) + lasts) <= GONE * worth.of(0.0)


def owner_of(job: Job) -> Owner | None:
    """Return the owner that carries the job's plan: the top one of its deciding owners.

    None if none was observed.
    """
    return job.deciding_owners[-1] if job.deciding_owners else None


def job_request(snapshot: Snapshot, job: Job, step_seconds: Mapping[str, float]) -> JobRequest:
    """Return what the job is, as its plan will say it.

    Args:
        snapshot: The cluster.
        job: One that ``wants_admission``.
        step_seconds: Measured step times by run name.

    Raises:
        InputError: An annotation cannot be used, or something is known from nowhere.
    """
    owner = owner_of(job)
    if owner is None:
        raise InputError("controller of the job", job.about.name, _NO_OWNER)
    if owner.groups > 1:
        raise InputError(f"spec.replicas of {owner.kind} {owner.name}", str(owner.groups), _GROUPS)
    worth = _stated_worth(job)
    training = _training(job, step_seconds)
    live = _live(job)
    workers = _workers(live)
    others = [m for m in live if m not in workers]
    owned = elastic_owner(snapshot, job)
    wished = job.spec.workers if owned is not None else None
    saves = job.spec.shrink is Shrink.TERMINATE or job.spec.has_checkpoint
    least, most = (len(workers),) * 2 if wished is None else (wished.least, wished.most)
    return JobRequest(
        utility=utility_text(worth),
        training=training_spec.training_text(training),
        worker=_shape(m.shape for m in workers),
        server=_shape(m.shape for m in others) if others else PodShape(),
        least=min(least, training.chunks) if wished else least,
        most=min(most, training.chunks) if wished else most,
        servers=len(others),
        shrinks=wished is not None and saves,
        pauses=saves and owned is not None and _can_be_none(owned),
    )


def _can_be_none(owned: ElasticOwner) -> bool:
    return bool(owned.owner.suspend_field) or owned.count.least == 0


def _stated_worth(job: Job) -> UtilityCurve:
    stated = job.spec.utility
    return utility_of("") if stated is None else stated.get()


def _stated_training(job: Job) -> Training:
    stated = job.spec.training
    return training_spec.training_of("") if stated is None else stated.get()


def _training(job: Job, step_seconds: Mapping[str, float]) -> Training:
    field = f"annotation {labels.TRAINING}"
    stated = job.spec.training
    if stated is None:
        raise InputError(field, "", "there; a job with a utility has to say its training")
    training = stated.get()
    if training.complete:
        return training
    measured = step_seconds.get(running_jobs.run_name(job.key))
    if measured is None:
        expected = (
            "complete: it lacks step=… (or gradient=… beside bandwidth=…), and no run of that name "
            "was measured"
        )
        raise InputError(field, stated.text, expected)
    return replace(training, whole_step_seconds=measured)


def _live(job: Job) -> list[Member]:
    return [m for m in job.members if m.state not in _GONE]


def _workers(live: list[Member]) -> list[Member]:
    roles = worker_roles(m.role for m in live)
    return [m for m in live if m.role in roles]


def _shape(shapes: Iterable[PodShape]) -> PodShape:
    """Return the first shape with the most of each resource that one of them requests.

    Raises:
        InputError: One of them requests what is not modelled.
    """
    every = list(dict.fromkeys(shapes))
    for shape in every:
        if shape.unmodelled:
            raise InputError("pod", ", ".join(shape.unmodelled), _UNMODELLED)
    most: dict[str, int] = {}
    for shape in every:
        for name, amount in shape.requests:
            most[name] = max(amount, most.get(name, 0))
    return changed(every[0], requests=tuple(sorted(most.items())))


def staying(live: list[Member]) -> list[Member]:
    """Return the workers in the order in which their owner keeps them, the last to leave first."""
    roles = worker_roles(m.role for m in live)
    workers = sorted((m for m in live if m.role in roles), key=lambda m: (m.rank, m.pod.name))
    kind = registry.resizable(workers[0].pod) if workers else None
    if kind is None:
        return workers
    by_uid = {m.pod.uid: m for m in workers}
    leaving: tuple[Pod, ...] = kind.removal_order([m.pod for m in workers])
    return [by_uid[pod.uid] for pod in reversed(leaving)]


def waiting_since(live: list[Member]) -> float | None:
    """Return when the oldest member was created; None if a member is placed or none is left."""
    if any(m.node is not None for m in live):
        return None
    return min((m.pod.created_at for m in live), default=None)
