"""Jobs as the engine sees them: members and their state, the gang size, what the user asked."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from extender.adapters import registry
from extender.adapters.base import Membership
from extender.engine import modelling, wishes
from extender.engine.above import above
from extender.engine.snapshot import Snapshot
from extender.engine.wishes import Wishes
from shared import labels
from shared.errors import InputError
from shared.model import JobKey, NodeName, OwnerReference, Pod, PodShape


class State(StrEnum):
    """Where a member is on its way."""

    GATED = "gated"
    """Queued: carries our gate."""
    HELD = "held"
    """Queued, and gated by somebody else too."""
    SEATED = "seated"
    """Released with a planned node, not bound."""
    LOOSE = "loose"
    """Released without a pin, not bound."""
    DIRECT = "direct"
    """Never had our gate, not bound."""
    BOUND = "bound"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    LEAVING = "leaving"
    """Being deleted, or without its owner; its replacement is another pod."""


@dataclass(frozen=True)
class Member:
    """One pod of a job; ``node`` is where it is bound or seated.

    ``shape`` is what filters have to see of it, its claimed volumes included.
    """

    pod: Pod
    role: str
    index: int | None
    state: State
    node: NodeName | None
    shape: PodShape

    @property
    def rank(self) -> int:
        """Its index, 0 where it has none."""
        return self.index or 0

    @property
    def plan(self) -> str:
        """Id of the plan that released it, as observed; empty if none did."""
        return self.pod.annotations.get(labels.PLAN, "")


@dataclass(frozen=True)
class Job:
    """One job.

    Attributes:
        key: ``namespace/kind/name``.
        about: The object that Events are about: the first owner, or the bare pod itself.
        created_at: Of the owner where known, else of the first pod; seconds since the epoch.
        members: In (created_at, name) order.
        min_available: Gang size; None if known from nowhere.
        problem: What is wrong with the labels, empty if nothing.
        wishes: What the user asked for.
    """

    key: JobKey
    namespace: str
    kind: str
    name: str
    about: OwnerReference
    created_at: float
    members: tuple[Member, ...]
    min_available: int | None
    problem: str
    wishes: Wishes

    def having(self, *states: State) -> tuple[Member, ...]:
        """Members in any of these states."""
        return tuple(m for m in self.members if m.state in states)

    @property
    def placed(self) -> int:
        """Members that are bound or have succeeded: what counts for the gang."""
        return len(self.having(State.BOUND, State.SUCCEEDED))

    @property
    def workers(self) -> int:
        """Task parallelism m: live pods of role worker; all of them where the job has no roles."""
        live = [m for m in self.members if m.state not in {State.FAILED, State.LEAVING}]
        if any(m.role for m in live):
            return max(1, sum(m.role == "worker" for m in live))
        return max(1, len(live))


def view(snapshot: Snapshot, key: JobKey) -> Job:
    """Return the job of that key; it must be in ``snapshot.jobs``.

    What the user asked for is read from the members that are not leaving, the oldest first.
    """
    pods = snapshot.jobs[key]
    over = [above(snapshot, pod) for pod in pods]
    memberships = [registry.membership(p, o) for p, o in zip(pods, over, strict=True)]
    members = tuple(
        _member(snapshot, pod, membership)
        for pod, membership in zip(pods, memberships, strict=True)
    )
    staying = [i for i, m in enumerate(members) if m.state is not State.LEAVING] or [0]
    first, first_above = pods[staying[0]], over[staying[0]]
    owner = first_above.owner
    size, size_problem = _size(memberships[i] for i in staying)
    wished, wish_problem = wishes.read(first, first_above)
    problems = (memberships[i].problem for i in staying if memberships[i].problem)
    namespace, kind, name = key.split("/", 2)
    return Job(
        key=key,
        namespace=namespace,
        kind=kind,
        name=name,
        about=first.controller or OwnerReference("v1", "Pod", first.name, first.uid),
        created_at=owner.created_at if owner and owner.created_at else first.created_at,
        members=members,
        min_available=size,
        problem=next(problems, size_problem or wish_problem),
        wishes=wished,
    )


def _member(snapshot: Snapshot, pod: Pod, membership: Membership) -> Member:
    state, node = _standing(snapshot, pod)
    shape = modelling.shape(snapshot, pod)
    return Member(pod, membership.role, membership.index, state, node, shape)


def _size(memberships: Iterable[Membership]) -> tuple[int | None, str]:
    sizes = Counter(m.size for m in memberships if m.size is not None)
    if len(sizes) > 1:
        stated = " and ".join(str(s) for s in sorted(sizes))
        field = f"annotation {labels.MIN_AVAILABLE}"
        return None, str(InputError(field, stated, "the same on all pods of the job"))
    return next(iter(sizes), None), ""


def _standing(snapshot: Snapshot, pod: Pod) -> tuple[State, NodeName | None]:
    node = snapshot.bound.get(pod.uid) or pod.node_name
    if pod.finished and not _is_left_over(snapshot, pod):
        return (State.SUCCEEDED if pod.phase == "Succeeded" else State.FAILED), node
    if pod.deleting or pod.finished or (node and _is_left_over(snapshot, pod)):
        return State.LEAVING, node
    if node:
        return State.BOUND, node
    seat = snapshot.seats.get(pod.uid)
    return (State.SEATED, seat.node) if seat else (_unseated(pod), None)


def _unseated(pod: Pod) -> State:
    if labels.GATE in pod.gates:
        return State.GATED if len(pod.gates) == 1 else State.HELD
    return State.LOOSE if labels.PLAN in pod.annotations else State.DIRECT


def _is_left_over(snapshot: Snapshot, pod: Pod) -> bool:
    """Say whether the pod outlives its owner for the moment that garbage collection takes.

    Its place must not be counted for a new job that was given the old one's name.
    """
    owner = pod.controller
    return bool(owner and registry.owner_is_read(owner) and owner.uid not in snapshot.owners)
