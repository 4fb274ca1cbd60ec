"""A job in the units of OASiS: time in slots, resources in those of the machines."""

from dataclasses import dataclass, replace

from extender.core.cluster.training_spec import Worth
from extender.core.pricing.machines import Machines
from extender.core.pricing.training_job import TrainingJob
from extender.core.records.slot_plan import Asked


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
    training = what.work
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
        utility=InSlots(what.worth, slot_seconds, late_seconds),
        exchange_slots=exchange / slot_seconds,
        done=done,
        least_workers=what.least,
        fixed_servers=what.servers,
    )
    return found if what.most == training.chunks else _of_width(found, what.most)


def _of_width(job: TrainingJob, most: int) -> TrainingJob:
    """Return the job with the same work for at most so many workers."""
    work = job.whole_work
    return replace(job, epochs=1, chunks=most, batches=1, batch_slots=work / most)
