"""Prices in the read API: what jobs are worth and pay, and what resources cost (``/v1/prices``).

A price is shown as a position between that of an idle resource (0) and that of a full one (1), on a
logarithmic scale: the share of the resource that is taken, or promised. Times are seconds since the
epoch; utility, bill and payoff are in the unit of the job's utility.
"""

from collections.abc import Mapping

from msgspec import Struct

from shared.readapi.answer import Response


class ProfileEntry(Struct, frozen=True, kw_only=True):
    """Measurement of a job whose step time is unknown.

    Attributes:
        since: When it was seen to run; None while it waits.
        until: When it is reported that it could not be measured; None while it waits, and once
            it is measured.
        steps: Steps that were timed.
        wanted_steps: As many must be.
        step_seconds: Mean seconds of a step; None before the first were timed.
        spread: Standard error of that mean, as a part of it; None if unknown.
        wanted_spread: It must not be larger.
        lacks: What is missing, in words; empty once it is measured.
    """

    since: float | None = None
    until: float | None = None
    steps: int = 0
    wanted_steps: int
    step_seconds: float | None = None
    spread: float | None = None
    wanted_spread: float
    lacks: str = ""


class AdmissionEntry(Struct, frozen=True, kw_only=True):
    """Admission state of a job with a utility.

    Attributes:
        admitted: It has a plan.
        payoff: Utility minus bill; of a job that is not admitted what is known of it, or 0.
        utility: What completing is worth by the plan; of a job that is not admitted what it would
            be worth if it began now and nothing delayed it; None if unknown.
        bill: Price of its resources; None without an offer.
        promise: What became of the promise: ``kept``, ``slipped``, ``broken``; empty without one.
        promised_at: By when it was to be done, when it was admitted; None without a promise.
        finish_at: The same by the present plan.
        resumes_at: When workers of it are planned next; None if they are now, or without a plan.
        planned_workers: Workers in the present slot.
        profile: What is measured of it; None if nothing has to be.
    """

    admitted: bool
    payoff: float = 0.0
    utility: float | None = None
    bill: float | None = None
    promise: str = ""
    promised_at: float | None = None
    finish_at: float | None = None
    resumes_at: float | None = None
    planned_workers: int = 0
    profile: ProfileEntry | None = None


class PricePart(Struct, frozen=True, kw_only=True):
    """A part of what a job's best schedule costs: one resource in one slot.

    Attributes:
        resource: Its name.
        at: When the slot begins.
        cost: What it costs there, over all nodes.
        pods: How many pods pay it.
        price: Of the dearest node that is used, 0 nothing promised to 1 all.
    """

    resource: str
    at: float
    cost: float
    pods: int
    price: float


class NodePrices(Struct, frozen=True, kw_only=True):
    """What a node's resources cost now (docs/policies/pricing.md).

    Attributes:
        prices: By resource, 0 idle to 1 full; more where too much is taken.
        dearest: The resource that costs most; empty if the node has none.
        times_idle: How many times that one's idle price it costs.
    """

    name: str
    prices: Mapping[str, float]
    dearest: str = ""
    times_idle: float = 1.0


class SlotRow(Struct, frozen=True, kw_only=True):
    """Nodes whose prices are the same in every slot.

    Attributes:
        nodes: Their names.
        prices: By resource, one for each slot: 0 nothing promised, 1 all.
    """

    nodes: tuple[str, ...]
    prices: Mapping[str, tuple[float, ...]]


class Scale(Struct, frozen=True, kw_only=True):
    """Between which prices a resource costs, as natural logarithms.

    The unit is utility for the largest machine's amount of it, for one slot.

    Attributes:
        log_low: Of an idle one.
        log_high: Of a full one.
    """

    log_low: float
    log_high: float


class SlotPrices(Struct, frozen=True, kw_only=True):
    """The plan of jobs with a utility, as prices (docs/policies/price_bounds.md).

    Attributes:
        slot_seconds: Length of a slot.
        first: Number of the present slot, counted since the epoch.
        slots: How many slots are planned ahead.
        share: Part of every node that those jobs have.
        scales: By resource, of the machines of workers.
        server_scales: Of those of parameter servers; empty where they are the same machines.
        rows: The nodes.
    """

    slot_seconds: float
    first: int
    slots: int
    share: float
    scales: Mapping[str, Scale]
    server_scales: Mapping[str, Scale] = {}
    rows: tuple[SlotRow, ...] = ()


class PricesResponse(Response, frozen=True, kw_only=True):
    """What resources cost.

    Attributes:
        acting: Whether the replica that answers is the one that decides.
        kappa: How many times dearer a full resource is now than an idle one.
        nodes: All nodes, by name.
        slots: The time slots; None if not requested, or no job is admitted by price.
        slots_problem: Why there are none; empty if there are, or they were not requested.
    """

    acting: bool
    kappa: float
    nodes: tuple[NodePrices, ...] = ()
    slots: SlotPrices | None = None
    slots_problem: str = ""
