"""Inputs of a pricing pass: the cluster, its machines, and the present slot."""

from dataclasses import dataclass, replace

from msgspec.structs import replace as changed

from extender.core.cluster.session import Reading
from extender.core.cluster.snapshot import Snapshot
from extender.core.parameters.combined import CoreParameters
from extender.core.pricing import slot_jobs
from extender.core.pricing.facts import Facts
from extender.core.pricing.machines import Machines
from extender.core.pricing.searching import SearchedJob
from extender.core.records import slot_plan
from extender.core.records.slot_plan import Asked, SlotPlan
from shared.model import JobKey


@dataclass(frozen=True, eq=False)
class PricingSession:
    """See the module.

    Attributes:
        snapshot: The cluster.
        reading: Now.
        params: Of the engine.
        machines: The nodes as jobs with a utility share them.
        first: The present slot, counted since the epoch; slot 1 of all that is searched.
        boundary: Whether this is the first look in the slot.
    """

    snapshot: Snapshot
    reading: Reading
    params: CoreParameters
    machines: Machines
    first: int
    boundary: bool

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
        self, name: JobKey, asked: Asked, arrival: int, late_seconds: float, done: float
    ) -> SearchedJob | None:
        """Return a job as it is searched for; None if no machine has what its pods ask for."""
        machines = self.machines
        job = slot_jobs.training_job(
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
        return SearchedJob(
            job=job,
            usable=machines.usable(asked.worker),
            usable_servers=machines.usable(asked.server, server=True),
            changes=asked.pauses and (asked.shrinks or asked.least == asked.most),
        )


def rescaled(plan: SlotPlan, slot_seconds: float) -> SlotPlan:
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


def with_current_nodes(wanted: SearchedJob, stands: Facts, machines: Machines) -> SearchedJob:
    """Return a job that runs as it is searched for; as one that does not if it sits elsewhere."""
    rows, server_rows = machines.rows, machines.server_rows
    if not all(name in rows for name in stands.workers):
        return wanted
    if not all(name in server_rows for name in stands.servers):
        return wanted
    workers = tuple(rows[name] for name in stands.workers)
    servers = tuple(server_rows[name] for name in stands.servers)
    return replace(wanted, here=workers, here_servers=servers if workers else ())
