"""The base of every job kind: the pods it claims, and the facts of its jobs.

A further job kind is one file with one class and one line in ``registry``. What a kind can do
beside this is in ``abilities``.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from enum import Enum, auto
from typing import ClassVar, Final, Self

from msgspec import Struct
from typing_extensions import override

from extender.core.kinds.parking_facts import ParkingFacts
from shared import labels
from shared.errors import InputError
from shared.model import JobKey, Mover, Owner, Pod, PodGroup

COORDINATORS: Final = frozenset({"ps", "chief", "master", "launcher", "head", "leader"})
"""Roles that serve or steer the others; pods of every other role do the work."""


class Problem(Struct, frozen=True):
    """One label, annotation or field that cannot be used, or several that contradict each other.

    Attributes:
        message: For people: names the field, its value and what is expected.
        field: The field alone, e.g. ``annotation shuntyard.io/max-wait``; empty where the problem
            is not one of a single field.
        value: What the field holds.
        expected: What is expected instead.
    """

    message: str
    field: str = ""
    value: str = ""
    expected: str = ""

    @classmethod
    def of(cls, error: InputError) -> Self:
        """Return the problem that an error reports."""
        return cls(str(error), error.field, error.value, error.expected)

    def error(self) -> InputError:
        """Return the error again, for callers that raise it."""
        return InputError(self.field, self.value, self.expected)


def role(pod: Pod, of_kind: str) -> tuple[str, Problem | None]:
    """Return the role in lower case, empty if there is none, and what is wrong with it.

    Our label counts first, then what the kind states, then a well-known label. Ours may rename a
    role that the user chose (the name of a replicated job). It may not differ from the replica type
    of training-operator, which the trainer itself uses.

    Args:
        pod: The pod.
        of_kind: The role that its kind knows; empty if the kind has no roles.
    """
    ours = pod.labels.get(labels.ROLE, "").lower()
    replica_type = pod.labels.get(labels.TRAINING_REPLICA_TYPE, "").lower()
    if ours and replica_type and ours != replica_type:
        expected = f"the role that label {labels.TRAINING_REPLICA_TYPE} names, {replica_type!r}"
        return ours, Problem.of(InputError(f"label {labels.ROLE}", ours, expected))
    return ours or of_kind or replica_type, None


class Leaving(Struct, frozen=True):
    """Pods of one job that would leave their nodes together; they have the same controller.

    A kind decides whether they can by what its controller does when pods are evicted, deleted or
    suspended.

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


class Owners(Struct, frozen=True):
    """The owners of a pod and its group, as far as they were observed.

    Attributes:
        owners: The controller of the pod, then the controller of that one, and so on to the top.
        group: The group that a label, annotation or field of another project names.
    """

    owners: tuple[Owner, ...] = ()
    group: PodGroup | None = None

    @property
    def owner(self) -> Owner | None:
        """The controller of the pod itself; None if it has none, or it was not observed."""
        return self.owners[0] if self.owners else None

    @property
    def top(self) -> Owner | None:
        """The last owner that was observed."""
        return self.owners[-1] if self.owners else None


NOTHING_ABOVE = Owners()
NO_MARKS: Final[frozenset[str]] = frozenset()
"""Of a kind that is recognized by the controller or a field of its pods."""


class Membership(Struct, frozen=True, gc=False):
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


class JobKind(ABC):
    """One kind of job.

    Attributes:
        kind: Name of the kind in job keys, lower case.
        marks: Labels and annotations of which every pod of this kind has one; else ``NO_MARKS``.
        endless: Pods that end are started again, so that a job of this kind ends only when
            it is deleted.
        parking: Of the owners of its pods that can be paused, and of those that cannot.
    """

    kind: str
    marks: frozenset[str] = NO_MARKS
    endless: bool = False
    parking: ClassVar[tuple[ParkingFacts, ...]] = ()

    @abstractmethod
    def claims(self, pod: Pod) -> bool:
        """Return True if the pod belongs to a job of this kind."""

    @abstractmethod
    def job_name(self, pod: Pod) -> str:
        """Return the name of the job of a pod that this kind claims."""

    def index(self, pod: Pod, above: Owners) -> int | None:
        """Return the rank of the pod inside its role; None if it has none.

        Raises:
            InputError: Its label is there and is no index.
        """
        return None


class ControlledBy(JobKind):
    """A kind whose pods are recognized by the kind of their controller.

    Attributes:
        controller_kind: Kind of the controller.
        controller_group: Its API group.
        always_read: These controllers are always watched: one that was not observed does not exist.
    """

    controller_kind: str
    controller_group: str
    always_read: bool = False

    def __init__(self) -> None:
        self._version_prefix = f"{self.controller_group}/"

    @property
    def controller(self) -> tuple[str, str]:
        """API group and kind of the controllers."""
        return self.controller_group, self.controller_kind

    @override
    def claims(self, pod: Pod) -> bool:
        """Return True if an object of this kind controls the pod."""
        owner = pod.controller
        return (
            owner is not None
            and owner.kind == self.controller_kind
            and owner.api_version.startswith(self._version_prefix)
        )

    @override
    def job_name(self, pod: Pod) -> str:
        """Return the name of the controller."""
        return pod.controller.name if pod.controller else pod.name

    def size(self, pod: Pod, above: Owners) -> int | None:
        """Return how many pods the controller wants, once it was observed."""
        return above.owner.size if above.owner else None

    def mover(self, leaving: Leaving) -> Mover | Unmovable:
        """Return how these pods would leave their nodes together; by default they cannot."""
        return Unmovable(Obstacle.OWNER, self.controller_kind)


class NamedGroup(JobKind):
    """A kind whose pods name a group object of another project, whatever made the pods.

    All pods that name the group are one job.

    Attributes:
        api_group: API group of the ``PodGroup`` objects.
        field: The part of the pod that names the group, for messages.
    """

    api_group: str
    field: str

    @abstractmethod
    def group_name(self, pod: Pod) -> str:
        """Return the name of the group; empty if this pod names none."""

    @override
    def claims(self, pod: Pod) -> bool:
        """Return True if the pod names a group."""
        return bool(self.group_name(pod))

    @override
    def job_name(self, pod: Pod) -> str:
        """Return the name of the group."""
        return self.group_name(pod)

    def size(self, pod: Pod, above: Owners) -> int | None:
        """Return the size of the group; until it is observed, that of an owner of its name."""
        return size_of_namesake(above, self.group_name(pod))


MOST_DIGITS: Final = 18
"""Of a number that is stated: it fits 64 bits."""


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
    number = integer(text)
    if number is None and text is not None:
        raise InputError(field, text, "an integer of at least 0")
    return number


def count(field: str, text: str | None) -> int | None:
    """Return the number of pods that a label or annotation states; None if it is not there.

    Raises:
        InputError: It is there and is no number of pods.
    """
    number = integer(text)
    if text is not None and not number:
        raise InputError(field, text, "an integer of at least 1")
    return number


def last_index_first(
    workers: Sequence[Pod], index: Callable[[Pod, Owners], int | None]
) -> tuple[Pod, ...]:
    """Return the workers, the highest index first: the order in which most owners remove them.

    A worker whose label cannot be read comes last: nothing is known about when it leaves.
    """
    return tuple(sorted(workers, key=lambda pod: (-_index_or_none(pod, index), pod.name)))


def _index_or_none(pod: Pod, index: Callable[[Pod, Owners], int | None]) -> int:
    try:
        number = index(pod, NOTHING_ABOVE)
    except InputError:
        number = None
    return -1 if number is None else number


def size_of_kind(above: Owners, kind: str) -> int | None:
    """Return the size of the nearest owner of that kind; None if it is not observed or unsized."""
    return next((owner.size for owner in above.owners if owner.kind == kind), None)


def size_of_namesake(above: Owners, name: str) -> int | None:
    """Return the size of the group, or else of the owner, that has this name.

    Where neither has the name, the job reaches beyond them, so that their size is not its size.
    """
    group = above.group
    if group is not None and group.name == name and group.min_member:
        return group.min_member
    return next((owner.size for owner in above.owners if owner.name == name and owner.size), None)
