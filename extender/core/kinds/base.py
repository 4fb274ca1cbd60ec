"""What an adapter of a job kind offers: a small required interface and optional ones beside it.

A further job kind is one file with one class, named in ``registry.ADAPTERS``.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Final, Protocol, runtime_checkable

from msgspec import Struct

from extender.core.kinds.problem import Problem
from shared.errors import InputError
from shared.model import JobKey, Owner, OwnProgress, Pod, PodGroup, PodKey


class Owners(Struct, frozen=True):
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


NOTHING_ABOVE = Owners()

NO_MARKS: Final[frozenset[str]] = frozenset()
"""Of a kind that is told by the pod's controller or by a field."""


class Membership(Struct, frozen=True):
    """Where a pod belongs.

    Attributes:
        job: Key of its job.
        role: ``ps``, ``worker``, …; empty where the kind has no roles.
        index: Rank inside its role; None where the kind counts nothing.
        size: How many pods make the gang; None if known from nowhere (never 1 by guess).
        problem: What is wrong with the pod's labels or annotations; None if nothing is.
    """

    job: JobKey
    role: str = ""
    index: int | None = None
    size: int | None = None
    problem: Problem | None = None


class JobAdapter(Protocol):
    """Required of every kind: whose pod is it, and which one of that job's."""

    @property
    def kind(self) -> str:
        """Name of the kind in job keys, lower case."""
        ...

    @property
    def marks(self) -> frozenset[str]:
        """Labels and annotations of which every pod of this kind has one; else ``NO_MARKS``."""
        ...

    def claims(self, pod: Pod) -> bool:
        """Say whether the pod belongs to a job of this kind."""
        ...

    def job_name(self, pod: Pod) -> str:
        """Name of the pod's job; only for pods that ``claims`` said yes to."""
        ...

    def index(self, pod: Pod, above: Owners) -> int | None:
        """Rank of the pod inside its role; None if it has none.

        Raises:
            InputError: Its label is there and is no index.
        """
        ...


@runtime_checkable
class WithRoles(Protocol):
    """Optional: the kind tells its pods apart by role."""

    def role(self, pod: Pod) -> str:
        """Role of the pod in lower case; empty if it has none."""
        ...


@runtime_checkable
class Sized(Protocol):
    """Optional: the gang size can be read without our annotation."""

    def size(self, pod: Pod, above: Owners) -> int | None:
        """Pods that make the gang; None if nobody who is known says so.

        Raises:
            InputError: What says it is no number of pods.
        """
        ...


@runtime_checkable
class SizedByPod(Sized, Protocol):
    """Optional: each pod states the gang size, so that pods can contradict each other."""

    @property
    def size_field(self) -> str:
        """What of the pod states it, for messages."""
        ...


@runtime_checkable
class Resizable(Protocol):
    """Optional: the kind's owners say how many workers they want, and that may change."""

    @property
    def any_worker(self) -> bool:
        """Whether a worker can be named that goes first; else the owner alone decides."""
        ...

    def removal_order(self, workers: Sequence[Pod]) -> tuple[Pod, ...]:
        """The workers in the order in which the owner removes them when it shrinks, first first."""
        ...


@runtime_checkable
class Nominating(Protocol):
    """Optional beside ``Resizable``: the owner goes by an annotation of its pods.

    Without it the owner may remove others than those said: pods that are alike to it in all that
    comes before. So nobody leaves before all that leave are nominated.
    """

    def nominations(
        self, leaving: Sequence[Pod], staying: Sequence[Pod]
    ) -> Mapping[PodKey, Mapping[str, str]]:
        """Annotations that are still missing so that those leave and these stay; by pod."""
        ...


@runtime_checkable
class Progressing(Protocol):
    """Optional: an owner of the kind says in its status how far the training is."""

    @property
    def progress_field(self) -> str:
        """What of the owner states when it was said, for messages."""
        ...

    def progress(self, pod: Pod, above: Owners) -> OwnProgress | None:
        """What it says of the training that the pod is a part of; None if nothing."""
        ...


class Grouped(JobAdapter, Protocol):
    """A kind whose pods name a group object of another project, whoever made them."""

    @property
    def api_group(self) -> str:
        """API group of the ``PodGroup`` objects."""
        ...

    @property
    def field(self) -> str:
        """What of the pod names the group, for messages."""
        ...

    def group_name(self, pod: Pod) -> str:
        """Name of the group; empty if this pod names none."""
        ...


MOST_DIGITS: Final = 18
"""Of a number that somebody states: it fits 64 bits."""


def integer(text: str | None) -> int | None:
    """Return a non-negative decimal integer; None if ``text`` is not one of ``MOST_DIGITS``."""
    if text is None or len(text) > MOST_DIGITS or not (text.isascii() and text.isdecimal()):
        return None
    return int(text)


def rank(field: str, text: str | None) -> int | None:
    """Return the index that a label or annotation states; None if it is not there.

    Raises:
        InputError: It is there and is no index.
    """
    found = integer(text)
    if found is None and text is not None:
        raise InputError(field, text, "an integer of at least 0")
    return found


def count(field: str, text: str | None) -> int | None:
    """Return the number of pods that a label or annotation states; None if it is not there.

    Raises:
        InputError: It is there and is no number of pods.
    """
    found = integer(text)
    if text is not None and not found:
        raise InputError(field, text, "an integer of at least 1")
    return found


def last_index_first(
    workers: Sequence[Pod], index: Callable[[Pod, Owners], int | None]
) -> tuple[Pod, ...]:
    """Return the workers, the one of the highest index first: what most owners remove first.

    One whose label cannot be read comes last: nobody can say when it leaves.
    """
    return tuple(sorted(workers, key=lambda pod: (-_index_or_none(pod, index), pod.name)))


def _index_or_none(pod: Pod, index: Callable[[Pod, Owners], int | None]) -> int:
    try:
        found = index(pod, NOTHING_ABOVE)
    except InputError:
        found = None
    return -1 if found is None else found


def size_of_kind(above: Owners, kind: str) -> int | None:
    """Return the size of the nearest owner of that kind; None if it was not seen or says none."""
    return next((owner.size for owner in above.owners if owner.kind == kind), None)


def size_of_namesake(above: Owners, name: str) -> int | None:
    """Return the size of the group or else of the owner that has this name.

    A name that is not theirs says that the job reaches beyond them, so their size is not its.
    """
    group = above.group
    if group is not None and group.name == name and group.min_member:
        return group.min_member
    return next((owner.size for owner in above.owners if owner.name == name and owner.size), None)
