"""The outcome of a pricing pass, and the standing of every job with a utility."""

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
from shared.pricing import ProfileEntry


class Promise(StrEnum):
    """What has become of the finish slot that a job was promised."""

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
        payoff: Utility minus bill; of one that is not admitted 0, or what is known of it.
        utility: What completing is worth by the plan; of one that is not admitted what it would be
            worth if it began now and nothing delayed it; None where its annotations say nothing.
        bill: What its resources cost; None where there was no offer.
        reason: Why it does not run now; None for one that does.
        message: The same in words; empty for one that runs.
        promise: What became of the promise; None if it has none.
        profile: What is measured of its training; None if nothing has to be.
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
    """What is promised over the slots, and how to read it.

    Attributes:
        state: Only read. Its slot 1 is ``first``.
        nodes: The machines of the workers, by row.
        server_nodes: The machines of the parameter servers, by row.
        resources: The columns.
        units: What the largest machine has, by column, in base units.
        first: The present slot, counted since the epoch.
    """

    state: SlotState
    nodes: tuple[NodeName, ...]
    server_nodes: tuple[NodeName, ...]
    resources: tuple[str, ...]
    units: tuple[float, ...]
    first: int


class Refused(Struct, frozen=True):
    """An offer that was turned away; ``era`` is that of ``PricingState``."""

    era: int
    reason: Reason
    message: str
    payoff: float = 0.0
    utility: float | None = None
    bill: float | None = None


class Pending(Struct, frozen=True):
    """A plan that we have asked to be written and have not seen; it counts as written.

    Attributes:
        plan: The plan; None: it is taken away.
        resource_version: Of the owner as it was; with another one what the owner says counts.
        until: Monotonic seconds.
    """

    plan: SlotPlan | None
    resource_version: str
    until: float


class PricingState(Struct, frozen=True):
    """What is remembered from pass to pass; losing it costs offers made again, nothing else.

    Attributes:
        era: Grows whenever room was freed or came: then jobs that were turned away are asked again.
        slot: The slot of the last pass.
        machines: The machines of the last pass, as text.
        plans: By job, as they were at the end of the last pass.
        refused: By job.
        pending: By owner.
        timings: By job that is measured.
        history: What past jobs teach; also kept in a ConfigMap.
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
    """What one pass decided; a command writes a plan.

    Attributes:
        standings: Of every job with a utility.
        book: For prices; None while no job was ever offered: nothing has a known worth.
        ended: Admitted jobs that ended since the last pass.
        wake_at: When the next slot begins, seconds since the epoch.
    """

    standings: Mapping[JobKey, JobStatus]
    book: PriceLedger | None
    ended: tuple[EndedJob, ...]
    wake_at: float

    @property
    def unplanned(self) -> Mapping[JobKey, Priced]:
        """Why jobs have no plan; texts that differ from time to time are not in it."""
        return {
            key: Priced(one.reason, one.reason.settled(one.message))
            for key, one in self.standings.items()
            if one.plan is None and one.reason is not None
        }
