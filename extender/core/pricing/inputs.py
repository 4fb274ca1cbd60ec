"""Inputs of a pricing pass: the cluster, the machines, the present slot, and jobs in its units."""

from dataclasses import dataclass, replace

from msgspec.structs import replace as changed

from extender.core.cluster.session import Session
from extender.core.cluster.snapshot import Snapshot
from extender.core.cluster.utility import UtilityCurve
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
    """The utility by slots of a job whose utility is stated by seconds.

    Work that ends in a slot counts as ending with it.

    Attributes:
        curve: Utility by seconds from creation.
        slot_seconds: Length of a slot.
        late_seconds: Time of the job's arrival after the beginning of its slot.
    """

    curve: UtilityCurve
    slot_seconds: float
    late_seconds: float = 0.0

    def of(self, duration: float) -> float:
        """Return the utility of completing so many slots after the slot of arrival."""
        return self.curve.of(max(0.0, (duration + 1.0) * self.slot_seconds - self.late_seconds))


def training_job(
    name: str,
    request: JobRequest,
    machines: Machines,
    slot_seconds: float,
    *,
    arrival: int = 1,
    late_seconds: float = 0.0,
    done: float = 0.0,
) -> TrainingJob | None:
    """Return the job in the units of the machines; None if no machine has what its pods request.

    Args:
        name: Its name.
        request: The job.
        machines: The nodes.
        slot_seconds: Length of a slot.
        arrival: Slot in which it arrived; slot 1 is the first of the machines.
        late_seconds: Time of its arrival after the beginning of that slot.
        done: Share of the training that is done.
    """
    worker, server = machines.demand(request.worker), machines.demand(request.server)
    if worker is None or server is None:
        return None
    training = request.parsed_training
    whole = training.whole_step_seconds
    exchange = training.exchange_seconds if whole is None else 0.0
    batch = whole if whole is not None else (training.step_seconds or 0.0) + exchange
    job = TrainingJob(
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
        utility=SlotUtility(request.utility_curve, slot_seconds, late_seconds),
        exchange_slots=exchange / slot_seconds,
        done=done,
        least_workers=request.least,
        fixed_servers=request.servers,
    )
    return job if request.most == training.chunks else _of_width(job, request.most)


def _of_width(job: TrainingJob, most: int) -> TrainingJob:
    """Return the job with the same work for at most so many workers."""
    work = job.whole_work
    return replace(job, epochs=1, chunks=most, batches=1, batch_slots=work / most)


@dataclass(frozen=True, eq=False)
class PricingSession:
    """Inputs of a pricing pass.

    Attributes:
        session: Inputs of every decision.
        machines: The nodes as jobs with a utility share them.
        first: The present slot, counted since the epoch; slot 1 of every search.
        boundary: Whether this is the first pass in the slot.
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
    def parameters(self) -> CoreParameters:
        """All parameters."""
        return self.session.parameters

    @property
    def now(self) -> float:
        """Seconds since the epoch."""
        return self.session.now

    @property
    def slot_seconds(self) -> float:
        """Length of a slot."""
        return self.parameters.slot_time.slot_seconds

    @property
    def elapsed(self) -> float:
        """Part of the present slot that is over, 0…1."""
        begins_at = slot_plan.begins_at(self.first, self.slot_seconds)
        return min(1.0, max(0.0, (self.now - begins_at) / self.slot_seconds))

    def schedule_request(
        self, name: JobKey, request: JobRequest, *, arrival: int, late_seconds: float, done: float
    ) -> ScheduleRequest | None:
        """Return the request of a job; None if no machine has what its pods request.

        Args:
            name: Its name.
            request: The job.
            arrival: Slot in which it arrived, counted since the epoch.
            late_seconds: Time of its arrival after the beginning of that slot.
            done: Share of the training that is done.
        """
        machines = self.machines
        job = training_job(
            name,
            request,
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
            usable=machines.usable(request.worker),
            usable_servers=machines.usable(request.server, server=True),
            can_change=request.pauses and (request.shrinks or request.least == request.most),
        )


def with_slot_length(plan: SlotPlan, slot_seconds: float) -> SlotPlan:
    """Return the plan in slots of another length: with the same times, but without spans."""
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
    request: ScheduleRequest, observed: ObservedJob, machines: Machines
) -> ScheduleRequest:
    """Return the request of a running job with its machines; without if they are not all priced."""
    rows, server_rows = machines.rows, machines.server_rows
    if not all(name in rows for name in observed.worker_nodes):
        return request
    if not all(name in server_rows for name in observed.server_nodes):
        return request
    workers = tuple(rows[name] for name in observed.worker_nodes)
    servers = tuple(server_rows[name] for name in observed.server_nodes)
    return replace(request, current=workers, current_servers=servers if workers else ())
