"""What an adapter of a job kind offers: a small required interface and optional ones beside it.

A further job kind is one file with one class, named in ``registry.ADAPTERS``.
"""

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from shared.model import JobKey, Owner, Pod


@dataclass(frozen=True)
class Membership:
    """Where a pod belongs.

    Attributes:
        job: Key of its job.
        role: ``ps``, ``worker``, …; empty where the kind has no roles.
        index: Rank inside its role; None where the kind counts nothing.
        size: How many pods make the gang; None if known from nowhere (never 1 by guess).
        problem: What is wrong with the pod's labels or annotations; empty if nothing.
    """

    job: JobKey
    role: str = ""
    index: int | None = None
    size: int | None = None
    problem: str = ""


class JobAdapter(Protocol):
    """Required of every kind: whose pod is it, and which one of that job's."""

    @property
    def kind(self) -> str:
        """Name of the kind in job keys, lower case."""
        ...

    def claims(self, pod: Pod) -> bool:
        """Say whether the pod belongs to a job of this kind."""
        ...

    def job_name(self, pod: Pod) -> str:
        """Name of the pod's job; only for pods that ``claims`` said yes to."""
        ...

    def index(self, pod: Pod) -> int | None:
        """Rank of the pod inside its role; None if it has none."""
        ...


@runtime_checkable
class WithRoles(Protocol):
    """Optional: the kind tells its pods apart by role."""

    def role(self, pod: Pod) -> str:
        """Role of the pod in lower case; empty if it has none."""
        ...


@runtime_checkable
class SizedByOwner(Protocol):
    """Optional: the gang size can be read without an annotation."""

    def size(self, pod: Pod, owner: Owner | None) -> int | None:
        """Pods that the pod's owner will create; None if the owner is not known."""
        ...


def integer(text: str | None) -> int | None:
    """Return a non-negative decimal integer; None if ``text`` is not one."""
    return int(text) if text is not None and text.isascii() and text.isdecimal() else None
