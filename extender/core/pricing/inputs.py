"""Inputs of a pricing pass: the cluster, the machines, the present slot, and jobs in its units."""

from dataclasses import dataclass, replace

from msgspec.structs import replace as changed

from extender.core.cluster.session import Reading, Session
from extender.core.cluster.snapshot import Snapshot
from extender.core.cluster.training_spec import UtilityCurve
from extender.core.parameters.combined import CoreParameters
from extender.core.pricing.machines import Machines
from extender.core.pricing.observed_job import ObservedJob
from extender.core.pricing.stable_schedule import ScheduleRequest
from extender.core.pricing.training_job import TrainingJob
from extender.core.records import slot_plan
from extender.core.records.slot_plan import JobRequest, SlotPlan
from shared.model import JobKey


@dataclass(frozen=True)
class SlotUtility:
    """A worth of seconds as a utility of slots: what ends in a slot ends with it.

    Attributes:
        worth: By seconds from creation.
        slot_seconds: Length of a slot.
        late_seconds: How long after the beginning of its slot the job came.
    """

    worth: UtilityCurve
    slot_seconds: float
    late_seconds: float = 0.0

    def of(self, duration: float) -> float:
        """Return the utility of completing so many slots after the one of arrival."""
        return self.worth.of(max(0.0, (duration + 1.0) * self.slot_seconds - self.late_seconds))


def training_job(
    name: str,
    what: JobRequest,
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
        utility=SlotUtility(what.worth, slot_seconds, late_seconds),
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


@dataclass(frozen=True, eq=False)
class PricingSession:
    """See the module.

    Attributes:
        session: What every decision reads.
        machines: The nodes as jobs with a utility share them.
        first: The present slot, counted since the epoch; slot 1 of all that is searched.
        boundary: Whether this is the first look in the slot.
    """

    session: Session
    machines: Machines
    first: int
    boundary: bool

    @property
    def snapshot(self) -> Snapshot:
        """The cluster."""
        return self.session.snapshot

    @property
    def reading(self) -> Reading:
        """When the pass began."""
        return self.session.reading

    @property
    def params(self) -> CoreParameters:
        """All parameters."""
        return self.session.parameters

    @property
    def slot_seconds(self) -> float:
        """Length of a slot."""
        return self.params.slot_time.slot_seconds

    @property
    def elapsed(self) -> float:
        """Part of the present slot that is over, 0…1."""
        begun = slot_plan.begins_at(self.first, self.slot_seconds)
        return min(1.0, max(0.0, (self.reading.now - begun) / self.slot_seconds))

    def wanted(
        self, name: JobKey, asked: JobRequest, arrival: int, late_seconds: float, done: float
    ) -> ScheduleRequest | None:
        """Return a job as it is searched for; None if no machine has what its pods ask for."""
        machines = self.machines
        job = training_job(
            name,
            asked,
            machines,
            self.slot_seconds,
            arrival=arrival - self.first + 1,
            late_seconds=late_seconds,
            done=done,
        )
        if job is None:
            return None
        return ScheduleRequest(
            job=job,
            usable=machines.usable(asked.worker),
            usable_servers=machines.usable(asked.server, server=True),
            changes=asked.pauses and (asked.shrinks or asked.least == asked.most),
        )


def with_slot_length(plan: SlotPlan, slot_seconds: float) -> SlotPlan:
    """Return the plan in slots of another length: its times stand, where it runs is open again."""
    if plan.slot_seconds == slot_seconds:
        return plan
    ratio = plan.slot_seconds / slot_seconds

    def last(slot: int) -> int:
        return max(0, round((slot + 1) * ratio) - 1)

    return changed(
        plan,
        slot_seconds=slot_seconds,
        arrival=int(plan.arrival * ratio),
        promise=last(plan.promise),
        completion=last(plan.completion),
        spans=(),
    )


def with_current_nodes(
    wanted: ScheduleRequest, stands: ObservedJob, machines: Machines
) -> ScheduleRequest:
    """Return a job that runs as it is searched for; as one that does not if it sits elsewhere."""
    rows, server_rows = machines.rows, machines.server_rows
    if not all(name in rows for name in stands.workers):
        return wanted
    if not all(name in server_rows for name in stands.servers):
        return wanted
    workers = tuple(rows[name] for name in stands.workers)
    servers = tuple(server_rows[name] for name in stands.servers)
    return replace(wanted, here=workers, here_servers=servers if workers else ())
