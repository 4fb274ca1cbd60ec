"""What an adapter of a job kind offers: a small required interface and optional ones beside it.

A further job kind is one file with one class, named in ``registry.ADAPTERS``.
"""

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from shared.model import JobKey, Owner, Pod, PodGroup


@dataclass(frozen=True)
class Above:
    """What stands over a pod, as far as it was observed.

    Attributes:
        owners: The pod's controller, then that one's controller, and so on to the top.
        group: The group that another project's label, annotation or field names.
    """

    owners: tuple[Owner, ...] = ()
    group: PodGroup | None = None

    @property
    def owner(self) -> Owner | None:
        """The pod's own controller; None if it has none, or it was not observed."""
        return self.owners[0] if self.owners else None

    @property
    def top(self) -> Owner | None:
        """The last owner that was observed."""
        return self.owners[-1] if self.owners else None


NOTHING_ABOVE = Above()


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

    def size(self, pod: Pod, above: Above) -> int | None:
        """Pods that make the gang; None if nobody who is known says so."""
        ...


@runtime_checkable
class Grouped(Protocol):
    """Optional: the pods name an object that declares their group."""

    def group_key(self, pod: Pod) -> str | None:
        """Key of that ``PodGroup``; None if this pod names none."""
        ...


def integer(text: str | None) -> int | None:
    """Return a non-negative decimal integer; None if ``text`` is not one."""
    return int(text) if text is not None and text.isascii() and text.isdecimal() else None
