"""Jobs as decisions see them: members and their state, the gang size, what the user wrote."""

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cached_property
from typing import Final

from typing_extensions import override

from extender.core.cluster import pod_shape
from extender.core.cluster.job_spec import JobSpec
from extender.core.kinds.base import COORDINATORS, Problem, integer
from shared import labels
from shared.model import CPU, JobKey, NodeName, Owner, OwnerReference, Pod, PodShape, Uid

MEMORY: Final = "memory"


class State(StrEnum):
    """Where a member is on its way."""

    GATED = "gated"
    """Queued: carries our gate."""
    HELD = "held"
    """Has a gate that is not ours, with our gate or without; or copies a pod that is not gone."""
    RESERVED = "seated"
    """Released with a planned node, not bound; the read API keeps its word for it."""
    LOOSE = "loose"
    """Released without a pin, not bound."""
    DIRECT = "direct"
    """No gate, no reservation: never gated by us, or lost its reservation (``unreserved``)."""
    IN_TREE = "in_tree"
    """Never had our gate, not bound, of a group that kube-scheduler itself keeps whole."""
    BOUND = "bound"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    LEAVING = "leaving"
    """Being deleted, without its owner, or a second pod of an index; another pod is the member."""


PLANNED_STATES = (State.RESERVED, State.LOOSE)
UNPLANNED_STATES = (State.GATED, State.DIRECT)
_KNOWN_BY_DEMAND: Final = frozenset(
    {State.GATED, State.HELD, State.DIRECT, State.SUCCEEDED, State.FAILED}
)
"""A job whose members are all in one of these states is refused by what it demands."""


@dataclass(frozen=True, slots=True)
class Member:
    """One pod of a job; ``node`` is where it is bound or reserved.

    ``shape`` is what filters have to see of it, its claimed volumes included. ``promised`` is the
    id of its plan, if its reservation is written with its Binding; else it is empty. ``together``:
    one node must hold all members, which share a claim that has no devices yet.
    """

    pod: Pod
    role: str
    index: int | None
    state: State
    node: NodeName | None
    shape: PodShape
    promised: str = ""
    together: bool = False

    @property
    def rank(self) -> int:
        """Its index, 0 where it has none."""
        return self.index or 0

    @property
    def plan(self) -> str:
        """Id of the plan that released it, as observed; empty if none did."""
        return self.pod.annotations.get(labels.PLAN, "")

    @property
    def plan_size(self) -> int:
        """How many pods that plan binds together; 0 if that is not stated."""
        text = self.pod.annotations.get(labels.PLAN_SIZE, "")
        return integer(text) or 0

    @property
    def awaits_burst(self) -> bool:
        """It has a reservation and still our gate: a burst removes the gate and binds it."""
        return bool(self.promised) and labels.GATE in self.pod.gates

    @property
    def direct(self) -> bool:
        """It never had our gate, or a burst removes it: its reservation can be taken back.

        Such a reservation is no pin. Annotations alone do not show it, since people may edit them.
        The pin cannot be edited after the release. It is ours if the pod's status shows that it was
        queued, or if the pod had a reservation that did not verify.
        """
        if self.awaits_burst:
            return True
        pod, notes = self.pod, self.pod.annotations
        pinned = pod_shape.has_pin(pod.shape)
        if labels.GATE in pod.gates or (pinned and pod.queued_reason):
            return False
        if labels.DIRECT in notes:
            return True
        return labels.RESERVATION.isdisjoint(notes) and not (pinned and pod.reservation_refused)

    @property
    def unreserved(self) -> bool:
        """It was released, and its reservation is missing or not ours: it is planned again."""
        return self.state is State.DIRECT and not self.direct


@dataclass(frozen=True)
class Job:
    """One job.

    Attributes:
        key: ``namespace/kind/name``.
        about: The object that Events are about: the top owner as far as it was observed, else the
            pod's controller, or the bare pod itself.
        created_at: Of the group where known, else of the top owner, else of the first pod;
            seconds since the epoch.
        members: In (created_at, name) order.
        min_available: Gang size; None if known from nowhere.
        problem: What is wrong with the job, the first of it; None if nothing is.
        spec: What the user wrote on it.
        kept: Reservations that are kept for members which do not exist yet.
        deciding_owners: Owners whose annotations lead to writes to them, the nearest first
            (``worker_gang.deciding_owners``).
        scaled_by: The first of them, if it states the number of workers; else None.
        warnings: Keys of ours on its pods and owners that have no effect.
    """

    key: JobKey
    namespace: str
    kind: str
    name: str
    about: OwnerReference
    created_at: float
    members: tuple[Member, ...]
    min_available: int | None
    problem: Problem | None
    spec: JobSpec
    kept: int = 0
    deciding_owners: tuple[Owner, ...] = ()
    scaled_by: Uid | None = None
    warnings: tuple[str, ...] = ()

    @cached_property
    def _by_states(self) -> dict[tuple[State, ...], tuple[Member, ...]]:
        return {}

    def having(self, *states: State) -> tuple[Member, ...]:
        """Return the members in any of these states."""
        members = self._by_states.get(states)
        if members is None:
            members = tuple(m for m in self.members if m.state in states)
            self._by_states[states] = members
        return members

    @cached_property
    def placed(self) -> int:
        """Members that are bound or have succeeded: what counts for the gang."""
        return len(self.having(State.BOUND, State.SUCCEEDED))

    @cached_property
    def in_tree(self) -> bool:
        """kube-scheduler itself keeps it whole: no member has ever been in our hands."""
        return any(m.pod.scheduling_group for m in self.members) and all(
            m.pod.scheduling_group and m.direct for m in self.members
        )

    @cached_property
    def workers(self) -> int:
        """Task parallelism m: live pods of role worker; all of them where the job has no roles.

        Where the workers are called otherwise (``node``), all but the coordinators.
        """
        live = [m for m in self.members if m.state not in {State.FAILED, State.LEAVING}]
        called_so = sum(m.role == "worker" for m in live)
        return called_so or max(1, sum(m.role not in COORDINATORS for m in live))

    @cached_property
    def requests(self) -> Mapping[str, int]:
        """What all its live pods request together, by resource."""
        total = Counter({CPU: 0, MEMORY: 0})
        for member in self.members:
            if member.state not in {State.FAILED, State.LEAVING}:
                for name, amount in member.shape.requests:
                    total[name] += amount
        return total

    @cached_property
    def unplanned_shapes(self) -> tuple[PodShape, ...]:
        """The shapes of the members that are to be placed, if they are several; else none."""
        shapes = dict.fromkeys(m.shape for m in self.having(*UNPLANNED_STATES))
        return tuple(shapes) if len(shapes) > 1 else ()

    @cached_property
    def demand(self) -> "Demand | None":
        """What a refusal of the job depends on beside the nodes; None if on its very pods too.

        Which pods there are, their names and their age make a plan, but no refusal.
        """
        if any(member.state not in _KNOWN_BY_DEMAND for member in self.members):
            return None
        ordered = in_order(self.members)
        members = [(m.state, m.role, m.rank, m.shape, m.together) for m in ordered]
        # time takes no room
        spec = replace(self.spec, max_wait_seconds=None, expected_seconds=None)
        return Demand((self.problem, self.min_available, self.kept, spec, tuple(members)))


class Demand:
    """What a job demands of the nodes, as a key whose hash is computed once."""

    def __init__(self, value: Hashable) -> None:
        self._value = value
        self._hash = hash(value)

    @override
    def __hash__(self) -> int:
        return self._hash

    @override
    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, Demand) and self._value == other._value)


def in_order(members: Iterable[Member]) -> list[Member]:
    """Return members as they are placed: parameter servers, then by index and name."""
    return sorted(members, key=lambda m: (m.role != "ps", m.rank, m.pod.name))
