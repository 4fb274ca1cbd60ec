"""Pods that would leave their nodes together, and why they cannot.

A kind decides it by what its controller does when pods are evicted, deleted or suspended.
"""

from enum import Enum, auto

from msgspec import Struct

from shared.model import Owner, Pod


class Leaving(Struct, frozen=True):
    """Pods of one job that would leave their nodes together; they have the same controller.

    Attributes:
        pods: The pods.
        job_name: Name of their job.
        owner: Their controller; None if they have none, or it was not observed.
        alive: How many pods of that controller the job has that have not ended.
    """

    pods: tuple[Pod, ...]
    job_name: str
    owner: Owner | None = None
    alive: int = 0


class Obstacle(Enum):
    """Why pods cannot leave."""

    OWNER = auto()
    """Their owner would not put others in their place, or not all of them."""
    OWNER_GONE = auto()
    STOPPED = auto()
    """Their owner does not run them."""
    FAILURE = auto()
    """The owner counts an eviction as a failure that it cannot bear."""


class Unmovable(Struct, frozen=True):
    """Pods that cannot leave, with a detail for people."""

    obstacle: Obstacle
    detail: str = ""
