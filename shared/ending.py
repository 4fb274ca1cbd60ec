"""When a running job ends, and the source of that: a part of the read API."""

from msgspec import Struct


class EndEntry(Struct, frozen=True, kw_only=True):
    """The expected end of a job.

    Attributes:
        at: When it is expected, seconds since the epoch; None if unknown.
        why: Source of it (``status``, ``annotation``, ``history``, ``progress``), or why it is
            unknown (``unstated``, ``overrun``); see docs/policies/reservation.md.
        done_percent: How much of the training is done by the status of the job's own object, 0 to
            100; None if that does not say.
        said_at: When that was written, on the training's clock; None if it was not.
        stale: It is too old, or about an earlier run of the job, and is ignored.
        problem: What in it cannot be used; empty if all can.
    """

    at: float | None = None
    why: str
    done_percent: float | None = None
    said_at: float | None = None
    stale: bool = False
    problem: str = ""
