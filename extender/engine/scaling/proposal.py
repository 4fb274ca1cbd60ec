"""A wish to change how many workers a job has, before anything is done for it."""

from enum import StrEnum

from msgspec import Struct

from shared.model import JobKey


class Cause(StrEnum):
    """Why the number of workers changes: a closed vocabulary, the same word everywhere."""

    MORE_IMPORTANT = "MoreImportant"
    """Workers leave so that a more important job starts."""
    STARVING = "Starving"
    """Workers leave so that a job starts that has waited too long."""
    SLOWS = "Slows"
    """A worker leaves because the job is faster without it."""
    SAVES_TIME = "SavesTime"
    """Workers come: of all jobs this one gains most from the room."""
    ROOM_LEFT = "RoomLeft"
    """Workers come: there is room, and nobody waits who could use it now."""
    SLOT = "Slot"
    """The job's slot plan says so for the time slot that begins."""
    WITHDRAWN = "Withdrawn"
    """Workers that were asked for found no room in time, and are given back."""


class Proposal(Struct, frozen=True):
    """What should be done to one job.

    Attributes:
        job: The job.
        to: Workers it should have; 0 suspends it.
        cause: Why.
        starts: The job that gets the room; None if none does.
        saved_seconds: Training time that is saved by it; None if not known.
    """

    job: JobKey
    to: int
    cause: Cause
    starts: JobKey | None = None
    saved_seconds: float | None = None
