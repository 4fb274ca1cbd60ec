"""What a job with a utility is worth, what it pays, and what it was promised.

Times are seconds since the epoch; utility, bill and payoff are in the unit of the job's utility.
"""

from msgspec import Struct


class ProfileEntry(Struct, frozen=True, kw_only=True):
    """What is measured of a job that does not say how long its steps take.

    Attributes:
        since: When it was seen to run; None while it waits.
        until: When its owner is told that it could not be measured; None while it waits, and once
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
    """How a job with a utility stands.

    Attributes:
        admitted: It has a plan.
        payoff: Utility minus bill; of a job that is not admitted what is known of it, or 0.
        utility: What completing is worth by the plan; of a job that is not admitted what it would
            be worth if it began now and nothing delayed it; None if unknown.
        bill: What its resources cost; None where nobody offered.
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
