"""The state and outcome of a pricing pass, and the status of every job with a utility."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from msgspec import Struct

from extender.core.cluster.commands import ChangeOwner
from extender.core.cluster.reasons import Reason
from extender.core.cluster.session import Outcome
from extender.core.pricing.admission import SlotState
from extender.core.pricing.history import History
from extender.core.pricing.timing import Timing
from extender.core.queue.state import Priced
from extender.core.records.slot_plan import SlotPlan
from shared.model import JobKey, NodeName, Uid
from shared.readapi.pricing import ProfileEntry


class Promise(StrEnum):
    """Whether a job is done by the slot that it was promised."""

    KEPT = "kept"
    """By its plan it is done in time."""
    SLIPPED = "slipped"
    """By its plan it is late, but the promised slot is not over."""
    BROKEN = "broken"
    """The promised slot is over, and the job is not done."""


@dataclass(frozen=True)
class JobStatus:
    """One job with a utility. Slots are counted since the epoch.

    Attributes:
        job: The job.
        plan: Its plan; None if it is not admitted.
        payoff: Utility minus bill; for a job that is not admitted that of its best offer, or 0.
        utility: Utility of completing by the plan; for a job that is not admitted that of beginning
            now without any delay; None if its annotations do not state it.
        bill: Price of its resources; None without an offer.
        reason: Why it does not run now; None if it runs.
        message: The reason in words; empty if it runs.
        promise: Whether the promised slot is kept; None without a promise.
        profile: Measurement of its training; None if it needs none.
    """

    job: JobKey
    plan: SlotPlan | None = None
    payoff: float = 0.0
    utility: float | None = None
    bill: float | None = None
    reason: Reason | None = None
    message: str = ""
    promise: Promise | None = None
    profile: ProfileEntry | None = None


@dataclass(frozen=True)
class EndedJob:
    """An admitted job that ended since the last pass, and whether in time."""

    plan: SlotPlan
    promise: Promise


@dataclass(frozen=True, eq=False)
class PriceLedger:
    """Promised amounts and prices over the slots, with the names of rows and columns.

    Attributes:
        state: Not to be changed. Its slot 1 is ``first``.
        nodes: The machines of the workers, by row.
        server_nodes: The machines of the parameter servers, by row.
        resources: The columns.
        units: Amounts of the largest machine, by column, in base units.
        first: The present slot, counted since the epoch.
    """

    state: SlotState
    nodes: tuple[NodeName, ...]
    server_nodes: tuple[NodeName, ...]
    resources: tuple[str, ...]
    units: tuple[float, ...]
    first: int


class Refused(Struct, frozen=True):
    """An offer that was rejected; ``era`` is that of ``PricingState``."""

    era: int
    reason: Reason
    message: str
    payoff: float = 0.0
    utility: float | None = None
    bill: float | None = None


class Pending(Struct, frozen=True):
    """A plan whose write was not observed yet; it counts as written.

    Attributes:
        plan: The plan; None if it is removed.
        resource_version: Of the owner before the write; once it changes, the owner's annotation
            counts.
        until: When the write is given up, monotonic seconds.
    """

    plan: SlotPlan | None
    resource_version: str
    until: float


class PricingState(Struct, frozen=True):
    """State from pass to pass; losing it costs repeated offers, nothing else.

    Attributes:
        era: Grows when room was freed or added: then rejected jobs get another offer.
        slot: The slot of the last pass.
        machines: ``Machines.mark`` of the last pass.
        plans: By job, at the end of the last pass.
        refused: Rejected offers by job.
        pending: By owner.
        timings: By job that is measured.
        history: Past jobs; also kept in a ConfigMap.
    """

    era: int = 0
    slot: int = 0
    machines: str = ""
    plans: Mapping[JobKey, SlotPlan] = {}
    refused: Mapping[JobKey, Refused] = {}
    pending: Mapping[Uid, Pending] = {}
    timings: Mapping[JobKey, Timing] = {}
    history: History = History()


@dataclass(frozen=True, eq=False, kw_only=True)
class PricingOutcome(Outcome[PricingState, ChangeOwner]):
    """The decision of one pass; a command writes a plan.

    Attributes:
        statuses: Of every job with a utility.
        price_ledger: Promised amounts and prices; None while no job was ever offered.
        ended: Admitted jobs that ended since the last pass.
        wake_at: When the next slot begins, seconds since the epoch.
    """

    statuses: Mapping[JobKey, JobStatus]
    price_ledger: PriceLedger | None
    ended: tuple[EndedJob, ...]
    wake_at: float

    @property
    def unplanned(self) -> Mapping[JobKey, Priced]:
        """Why jobs have no plan, without texts that differ from time to time."""
        return {
            key: Priced(status.reason, status.reason.settled(status.message))
            for key, status in self.statuses.items()
            if status.plan is None and status.reason is not None
        }
