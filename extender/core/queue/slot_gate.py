"""Which worker of an admitted job belongs on which node, now."""

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Final

import numpy as np

from extender.core.cluster.cache import Kept, Slot
from extender.core.cluster.jobs import Job, Member, State
from extender.core.cluster.reasons import Reason
from extender.core.cluster.session import Reading
from extender.core.cluster.snapshot import Snapshot
from extender.core.nodes.node_table import IntMatrix, NodeTable
from extender.core.parameters.combined import CoreParameters
from extender.core.parameters.pricing import Unmeasured, WhenGone
from extender.core.placement.planner import Plan, Refusal
from extender.core.queue import slot_requests
from extender.core.queue.slot_requests import staying
from extender.core.queue.state import Priced, QueueState
from extender.core.records import migrations, profile, slot_plan
from extender.core.records.plans import Planned, planned
from extender.core.records.slot_plan import SlotPlan, Span
from shared.errors import InputError
from shared.model import JobKey, NodeName, Pod, Uid

_NEVER_END: Final = frozenset({"DaemonSet", "Node"})
"""Kinds whose pods belong to the node; static pods are owned by it."""


_DENOMINATOR: Final = 10_000


def priced_share(snapshot: Snapshot, share: float) -> IntMatrix:
    """Return how much of each node belongs to jobs with a utility, nodes x resources of the room.

    Rounded down, so that the others' part is never less than theirs.
    """
    room = snapshot.room
    left = np.maximum(room.allocatable - _daemons(snapshot), 0)
    part = Fraction(share).limit_denominator(_DENOMINATOR)
    whole, rest = np.divmod(left, part.denominator)  # in integers: bytes are too many for floats
    found: IntMatrix = whole * part.numerator + rest * part.numerator // part.denominator
    return found


def _daemons(snapshot: Snapshot) -> IntMatrix:
    room = snapshot.room
    used = np.zeros_like(room.allocatable)
    for pod in snapshot.pods.values():
        node = snapshot.bound.get(pod.uid)
        if node is not None and node in room.index and not pod.finished and _never_ends(pod):
            used[room.index[node]] += room.demand(pod.shape)
    return used


def _never_ends(pod: Pod) -> bool:
    return pod.controller is not None and pod.controller.kind in _NEVER_END


def worker_nodes(plan: SlotPlan, slot: int) -> tuple[NodeName, ...]:
    """Return the nodes of the workers in a slot, by index.

    Those who leave first have the highest index, so the places that are kept longest come first.
    """
    span = plan.at(slot)
    if span is None:
        return ()
    places = [
        (-_until(plan, slot, node, number), node)
        for node, count in span.workers.items()
        for number in range(1, count + 1)
    ]
    return tuple(node for _, node in sorted(places))


def server_nodes(plan: SlotPlan, slot: int) -> tuple[NodeName, ...]:
    """Return the nodes of the job's other pods in a slot; which is which does not matter."""
    span = plan.at(slot)
    return () if span is None else tuple(sorted(Counter(span.servers).elements()))


def left(nodes: Sequence[NodeName], taken: Sequence[NodeName]) -> tuple[NodeName, ...]:
    """Return the nodes that are left when some are taken, in order; a strange one takes none."""
    gone = Counter(taken)
    found = []
    for node in nodes:
        if gone[node] > 0:
            gone[node] -= 1
        else:
            found.append(node)
    return tuple(found)


def _until(plan: SlotPlan, slot: int, node: NodeName, number: int) -> int:
    """Return the last slot of those in a row in which the node has so many workers."""
    end = slot - 1
    for span in plan.spans:
        if span.last <= end:
            continue
        if span.first > end + 1 or _there(span, node) < number:
            break
        end = span.last
    return end


def _there(span: Span, node: NodeName) -> int:
    counts: Mapping[NodeName, int] = span.workers
    return counts.get(node, 0)


# === What the queue asks before it places a job: may it start, where, and in which part of the
# nodes.
#
# A part of every node belongs to jobs with a utility (``SlotTimeParameters.share``). They see
# no more
# than that part; the others see the room without what of it nobody uses. So neither side can take
# the last node from the other. A job with a utility waits for a plan, then for its slot, and is
# then
# placed where the plan says, or anywhere in their part if something is in the way there.
#
# With ``admission.enabled: false`` there is no gate.


Nodes = Mapping[Uid, NodeName]


Try = Callable[[Job, NodeTable, Nodes], Plan | Refusal]
"""Plans a job on a room, its members on these nodes if they fit there."""


_PLACED: Final = (State.BOUND, State.SEATED, State.LOOSE)


_GONE: Final = frozenset({State.SUCCEEDED, State.FAILED, State.LEAVING})


_ANYWHERE: Final[Nodes] = {}


_OTHERS: Final = "others"


@dataclass
class Gate:
    """Of one cycle; never leaves it.

    Attributes:
        snapshot: The cluster.
        params: When and how much.
        slot: The present one.
        now: Seconds since the epoch.
        plans: By job.
        let_in: Jobs that run without a plan, to be measured.
        priced: Why others have none.
        theirs: What of each node belongs to jobs with a utility, as the room's matrices.
        used: What of it their pods use.
    """

    snapshot: Snapshot
    params: CoreParameters
    slot: int
    now: float
    plans: Mapping[JobKey, Planned]
    let_in: Collection[JobKey]
    priced: Mapping[JobKey, Priced]
    theirs: IntMatrix
    used: IntMatrix
    _placed: dict[JobKey, IntMatrix] = field(default_factory=dict)
    _seen: dict[bool, tuple[NodeTable, int, NodeTable]] = field(default_factory=dict)

    def through(
        self, job: Job, room: NodeTable, attempt: Try, *, really: bool = True
    ) -> Plan | Refusal:
        """Plan a job in its part of the room, or say why it must not start.

        Args:
            job: A job that waits.
            room: All that is free.
            attempt: Plans it.
            really: Whether a plan is carried out; else it only shows what would be.
        """
        side = self._side(job)
        if isinstance(side, Refusal):
            return side
        theirs = side is not None
        within = self._room(room, theirs=theirs)
        if side is None:
            result = attempt(job, within, _ANYWHERE)
        else:
            held, nodes = _members(job, side, self.slot)
            result = attempt(held, within, nodes)
        if isinstance(result, Refusal):
            return result
        whole = _whole(result, within, room)
        if theirs and really:
            self._placed[job.key] = whole.placement.room.used - room.used
        return whole

    def _side(self, job: Job) -> SlotPlan | Refusal | None:
        """Return the plan of a job with a utility, None for one of the others, or why it waits."""
        one = self.plans.get(job.key)
        placed = bool(job.having(*_PLACED))
        if one is None:
            if not slot_requests.wants_admission(job) or placed:
                return None
            return self._unplanned(job)
        if one.plan.workers_at(self.slot) or placed:
            return one.plan
        return Refusal.of(Reason.AWAITING_SLOT)

    def _unplanned(self, job: Job) -> Refusal | None:
        if job.problem:
            return None  # the planner says so
        try:
            gone = slot_requests.is_gone(job, self.now, self.params.slot_time.slot_seconds)
            if slot_requests.owner_of(job) is None:
                slot_requests.asked(self.snapshot, job, {})
            unmeasured = not slot_requests.is_measured(job)
        except InputError as error:
            return Refusal(Reason.MISCONFIGURED, str(error))
        if gone and self.params.slot_time.when_gone is WhenGone.QUEUE:
            return None
        if gone:
            return Refusal.of(Reason.UTILITY_GONE)
        if unmeasured and job.key in self.let_in:
            return None
        return self._unpriced(job)

    def _unpriced(self, job: Job) -> Refusal:
        """Say why the job has no plan, as far as anybody has looked.

        What stands on its pods, another replica has seen.
        """
        known = self.priced.get(job.key)
        if known is not None:
            return Refusal(known.reason, known.reason.settled(known.message))
        reason = Reason.PAYOFF_TOO_LOW
        if all(m.pod.queued_reason != reason for m in job.members):
            reason = Reason.AWAITING_PRICE
        return Refusal.of(reason)

    def _room(self, room: NodeTable, *, theirs: bool) -> NodeTable:
        """Return one side's part; the same room again gives the very same part."""
        count = len(self._placed)
        known = self._seen.get(theirs)
        if known is not None and known[0] is room and known[1] == count:
            return known[2]
        unused = np.maximum(self.theirs - self.used - sum(self._placed.values()), 0)
        used = room.used + unused
        if theirs:
            used = np.maximum(room.used, room.allocatable - unused)
        used.setflags(write=False)
        part = room.replaced(used=used, ports=room.ports)
        self._seen[theirs] = (room, count, part)
        return part


_PARTS: Final[Slot[Kept[str, tuple[NodeTable, IntMatrix]]]] = Slot(Kept)


def others(room: NodeTable, snapshot: Snapshot, params: CoreParameters) -> NodeTable:
    """Return what jobs without a utility see of a room; of the snapshot's the very same again."""
    if not params.slot_time.enabled:
        return room
    source = (snapshot.generation, params.slot_time)
    kept = snapshot.cache.of(_PARTS)
    known = kept.get(_OTHERS, source)
    if known is None:
        theirs = priced_share(snapshot, params.slot_time.share)
        unused = np.maximum(theirs - _used(snapshot, planned(snapshot)), 0)
        known = (_filled(snapshot.room, unused), unused)
        kept.put(_OTHERS, source, known)
    return known[0] if room is snapshot.room else _filled(room, known[1])


def _filled(room: NodeTable, unused: IntMatrix) -> NodeTable:
    used = room.used + unused
    used.setflags(write=False)
    return room.replaced(used=used, ports=room.ports)


def gate(
    snapshot: Snapshot, reading: Reading, params: CoreParameters, memory: QueueState
) -> Gate | None:
    """Return the gate of a cycle; None where jobs are not admitted by price."""
    times = params.slot_time
    if not times.enabled:
        return None
    plans, profiles = planned(snapshot), times.unmeasured is Unmeasured.PROFILE
    return Gate(
        snapshot=snapshot,
        params=params,
        slot=slot_plan.slot_at(reading.now, times.slot_seconds),
        now=reading.now,
        plans=plans,
        let_in=profile.unmeasured(snapshot) if profiles else (),
        priced=memory.priced,
        theirs=priced_share(snapshot, times.share),
        used=_used(snapshot, plans),
    )


def _used(snapshot: Snapshot, plans: Mapping[JobKey, Planned]) -> IntMatrix:
    """Return what pods of admitted jobs use, those on their way counted."""
    room = snapshot.room
    used = np.zeros_like(room.allocatable)
    for key in plans:
        for pod in snapshot.jobs.get(key, ()):
            seat = snapshot.seats.get(pod.uid)
            node = snapshot.bound.get(pod.uid) or (seat.node if seat is not None else None)
            if node is not None and node in room.index and not pod.finished:
                used[room.index[node]] += room.demand(pod.shape)
    return used


def _members(job: Job, plan: SlotPlan, slot: int) -> tuple[Job, Nodes]:
    """Return the job with those members held that its plan has no place for, and the others' nodes.

    Where the plan says nothing of the slot the job goes on as it is.
    """
    nodes = worker_nodes(plan, slot)
    if not nodes:
        return job, _ANYWHERE
    live = [m for m in job.members if m.state not in _GONE]
    workers = staying(live)
    known = {m.pod.uid for m in workers}
    serving = [m for m in live if m.pod.uid not in known]
    held = {m.pod.uid for m in workers[len(nodes) :]}
    found = _seats(workers[: len(nodes)], nodes) | _seats(serving, server_nodes(plan, slot))
    return migrations.holding(job, held), found


def _seats(members: list[Member], nodes: tuple[NodeName, ...]) -> dict[Uid, NodeName]:
    placed = tuple(m.node for m in members if m.node is not None)
    waiting = [m for m in members if m.node is None]
    free = left(nodes, placed)
    return {m.pod.uid: node for m, node in zip(waiting, free, strict=False)}


def _whole(plan: Plan, part: NodeTable, room: NodeTable) -> Plan:
    """Return the plan with the whole room after it, not the part."""
    after = plan.placement.room
    used = after.used - part.used + room.used
    used.setflags(write=False)
    return replace(
        plan,
        placement=replace(plan.placement, room=after.replaced(used=used, ports=after.ports)),
    )
