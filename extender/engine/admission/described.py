"""A job of the cluster as OASiS sees it: its work in worker-slots, its demands, its utility."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Final

from msgspec.structs import replace as changed

from extender.engine import durations, owner_keys
from extender.engine.admission import grammar
from extender.engine.admission.grammar import Training, Worth
from extender.engine.admission.machines import Machines
from extender.engine.admission.slot_plan import Asked
from extender.engine.jobs import Job, Member, State
from extender.engine.scaling.scaled import Scaled, scaled
from extender.engine.snapshot import Snapshot
from extender.engine.wishes import Shrink
from extender.engine.worker_gang import worker_roles
from extender.policy.training_job import TrainingJob
from shared import labels
from shared.errors import InputError
from shared.model import Owner, PodShape

GONE: Final = 0.01
"""A job that can reach less than this part of its worth has lost its utility."""
_GONE: Final = frozenset({State.SUCCEEDED, State.FAILED, State.LEAVING})
_UNREAD: Final = (
    "nobody who is known made the job, so there is nothing its plan could be written on"
)
_GROUPS: Final = (
    "1 beside shuntyard.io/utility: each group is a job of its own, and there is one plan for an "
    "owner; make one for each group"
)
_UNMODELLED: Final = "a pod asks for what plans over time slots do not model"


@dataclass(frozen=True)
class InSlots:
    """A worth of seconds as a utility of slots: what ends in a slot ends with it.

    Attributes:
        worth: By seconds from creation.
        slot_seconds: Length of a slot.
        late_seconds: How long after the beginning of its slot the job came.
    """

    worth: Worth
    slot_seconds: float
    late_seconds: float = 0.0

    def of(self, duration: float) -> float:
        """Return the utility of completing so many slots after the one of arrival."""
        return self.worth.of(max(0.0, (duration + 1.0) * self.slot_seconds - self.late_seconds))


def wants_admission(job: Job) -> bool:
    """Say whether the job states a utility."""
    return job.wishes.utility is not None


def is_whole(job: Job) -> bool:
    """Say whether all pods of the gang are there."""
    return job.min_available is not None and len(_live(job)) >= job.min_available


def is_measured(job: Job) -> bool:
    """Say whether the job itself says how long its steps take, or nobody can know what it says.

    Raises:
        InputError: The annotation cannot be used.
    """
    return job.wishes.training is None or grammar.training_of(job.wishes.training).complete


def batches(job: Job) -> int:
    """Return E·N·M, the mini-batches of the whole training.

    Raises:
        InputError: The annotation cannot be used.
    """
    training = grammar.training_of(job.wishes.training or "")
    return training.epochs * training.chunks * training.batches


def is_gone(job: Job, now: float, slot_seconds: float) -> bool:
    """Say whether completing is worth nothing, or next to it, even if the job began now.

    Raises:
        InputError: An annotation cannot be used.
    """
    worth = grammar.utility_of(job.wishes.utility or "")
    training = grammar.training_of(job.wishes.training or "")
    whole, step = training.whole_step_seconds, training.step_seconds
    batch = whole if whole is not None else (step or 0.0) + training.exchange_seconds
    work = training.epochs * training.chunks * training.batches * batch
    wished = job.wishes.workers
    most = len(_workers(_live(job))) if wished is None else min(wished.most, training.chunks)
    lasts = -(-work // (slot_seconds * max(1, most))) * slot_seconds
    return worth.of(max(0.0, now - job.created_at) + lasts) <= GONE * worth.of(0.0)


def owner_of(job: Job) -> Owner | None:
    """Return the owner that carries the job's plan: the top one of its deciding owners.

    None if none was observed.
    """
    return job.deciding_owners[-1] if job.deciding_owners else None


def asked(snapshot: Snapshot, job: Job, step_seconds: Mapping[str, float]) -> Asked:
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
        raise InputError("controller of the job", job.about.name, _UNREAD)
    if owner.groups > 1:
        raise InputError(f"spec.replicas of {owner.kind} {owner.name}", str(owner.groups), _GROUPS)
    worth = grammar.utility_of(job.wishes.utility or "")
    training = _training(job, step_seconds)
    live = _live(job)
    workers = _workers(live)
    others = [m for m in live if m not in workers]
    owned = scaled(snapshot, job)
    wished = job.wishes.workers if owned is not None else None
    saves = job.wishes.shrink is Shrink.TERMINATE or _has_checkpoint(job)
    least, most = (len(workers),) * 2 if wished is None else (wished.least, wished.most)
    return Asked(
        utility=grammar.utility_text(worth),
        training=grammar.training_text(training),
        worker=_shape(m.shape for m in workers),
        server=_shape(m.shape for m in others) if others else PodShape(),
        least=min(least, training.chunks) if wished else least,
        most=min(most, training.chunks) if wished else most,
        servers=len(others),
        shrinks=wished is not None and saves,
        pauses=saves and owned is not None and _can_be_none(owned),
    )


def training_job(
    name: str,
    what: Asked,
    machines: Machines,
    slot_seconds: float,
    *,
    arrival: int = 1,
    late_seconds: float = 0.0,
    done: float = 0.0,
) -> TrainingJob | None:
    """Return the job in the units of the machines; None if no machine has what its pods ask for.

    Args:
        name: Its name.
        what: What it is.
        machines: The nodes.
        slot_seconds: Length of a slot.
        arrival: Slot in which it came, on the scale of the machines' slots.
        late_seconds: How long after the beginning of that slot.
        done: Share of the training that is done.
    """
    worker, server = machines.demand(what.worker), machines.demand(what.server)
    if worker is None or server is None:
        return None
    training = grammar.training_of(what.training)
    whole = training.whole_step_seconds
    exchange = training.exchange_seconds if whole is None else 0.0
    batch = whole if whole is not None else (training.step_seconds or 0.0) + exchange
    found = TrainingJob(
        name=name,
        arrival=arrival,
        epochs=training.epochs,
        chunks=training.chunks,
        batches=training.batches,
        batch_slots=batch / slot_seconds,
        worker=worker,
        server=server,
        worker_bandwidth=training.bandwidth or 0.0,
        server_bandwidth=training.ps_bandwidth or training.bandwidth or 1.0,
        utility=InSlots(grammar.utility_of(what.utility), slot_seconds, late_seconds),
        exchange_slots=exchange / slot_seconds,
        done=done,
        least_workers=what.least,
        fixed_servers=what.servers,
    )
    return found if what.most == training.chunks else _of_width(found, what.most)


def _can_be_none(owned: Scaled) -> bool:
    return bool(owned.owner.suspend_field) or owned.count.least == 0


def _of_width(job: TrainingJob, most: int) -> TrainingJob:
    """Return the job with the same work for at most so many workers."""
    work = job.whole_work
    return replace(job, epochs=1, chunks=most, batches=1, batch_slots=work / most)


def _training(job: Job, step_seconds: Mapping[str, float]) -> Training:
    field = f"annotation {labels.TRAINING}"
    if job.wishes.training is None:
        raise InputError(field, "", "there; a job with a utility has to say its training")
    training = grammar.training_of(job.wishes.training)
    if training.complete:
        return training
    measured = step_seconds.get(durations.run_name(job.key))
    if measured is None:
        expected = (
            "complete: it lacks step=… (or gradient=… beside bandwidth=…), and no run of that name "
            "was measured"
        )
        raise InputError(field, job.wishes.training, expected)
    return replace(training, whole_step_seconds=measured)


def _has_checkpoint(job: Job) -> bool:
    return owner_keys.stated(job.deciding_owners, labels.CHECKPOINT) is not None


def _live(job: Job) -> list[Member]:
    return [m for m in job.members if m.state not in _GONE]


def _workers(live: list[Member]) -> list[Member]:
    roles = worker_roles(m.role for m in live)
    return [m for m in live if m.role in roles]


def _shape(shapes: Iterable[PodShape]) -> PodShape:
    """Return the first shape with the most of each resource that one of them asks for.

    Raises:
        InputError: One of them asks for what is not modelled.
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
