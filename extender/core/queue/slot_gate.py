"""The gate of slot plans: whether a job may start, where, and in which part of the nodes.

A part of every node belongs to jobs with a utility (``SlotTimeParameters.share``). They may use no
more than that part; the others may use all nodes except what is unused of that part. So neither
side can take the last node from the other. A job with a utility waits for a slot plan, then for its
slot, and is then placed where the plan says, or anywhere in their part if something is in the way.

With ``admission.enabled: false`` there is no gate.
"""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Final

import numpy as np

from extender.core.cluster import pod_shape
from extender.core.cluster.jobs import Job, Member, State
from extender.core.cluster.reasons import Reason
from extender.core.cluster.session import Session
from extender.core.cluster.snapshot import Kept, Slot, Snapshot
from extender.core.nodes.node_table import IntMatrix, IntVector, NodeTable
from extender.core.parameters.combined import CoreParameters
from extender.core.parameters.pricing import Unmeasured, WhenGone
from extender.core.placement.planner import Plan, Refusal
from extender.core.queue import slot_requests
from extender.core.queue.slot_requests import staying
from extender.core.queue.state import Priced, QueueState
from extender.core.records import migrations, profile, slot_plan
from extender.core.records.slot_plan import OwnedPlan, SlotPlan, Span, plans_by_job
from shared.errors import InputError
from shared.model import JobKey, NodeName, Pod, Uid

_NEVER_END: Final = frozenset({"DaemonSet", "Node"})
"""Kinds whose pods belong to the node; static pods are owned by it."""


_DENOMINATOR: Final = 10_000


def priced_share(snapshot: Snapshot, share: float) -> IntMatrix:
    """Return how much of each node belongs to jobs with a utility, nodes x resources.

    Rounded down, so that the others' part is never less than theirs.
    """
    table = snapshot.node_table
    left = np.maximum(table.allocatable - _daemons(snapshot), 0)
    part = Fraction(share).limit_denominator(_DENOMINATOR)
    whole, rest = np.divmod(left, part.denominator)  # in integers: bytes are too many for floats
    amounts: IntMatrix = whole * part.numerator + rest * part.numerator // part.denominator
    return amounts


def _daemons(snapshot: Snapshot) -> IntMatrix:
    table = snapshot.node_table
    used = np.zeros_like(table.allocatable)
    for pod in snapshot.pods.values():
        node = snapshot.bound.get(pod.uid)
        if node is not None and node in table.index and not pod.finished and _never_ends(pod):
            used[table.index[node]] += table.demand(pod_shape.with_devices(snapshot, pod))
    return used


def _never_ends(pod: Pod) -> bool:
    return pod.controller is not None and pod.controller.kind in _NEVER_END


def worker_nodes(plan: SlotPlan, slot: int) -> tuple[NodeName, ...]:
    """Return the nodes of the workers in a slot, by index.

    Workers that leave first have the highest index, so the places that are kept longest come first.
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
    remaining = []
    for node in nodes:
        if gone[node] > 0:
            gone[node] -= 1
        else:
            remaining.append(node)
    return tuple(remaining)


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


Nodes = Mapping[Uid, NodeName]


_PLACED: Final = (State.BOUND, State.RESERVED, State.LOOSE)


_GONE: Final = frozenset({State.SUCCEEDED, State.FAILED, State.LEAVING})


_ANYWHERE: Final[Nodes] = {}


_OTHERS: Final = "others"


@dataclass(frozen=True, eq=False)
class Part:
    """Where one job may be planned.

    Attributes:
        job: The job; members that its slot plan has no place for are held.
        table: The part of the nodes that it may use.
        targets: Nodes on which members go if they fit there.
        priced: The part is that of jobs with a utility.
    """

    job: Job
    table: NodeTable
    targets: Nodes = field(default_factory=dict)
    priced: bool = False


@dataclass(kw_only=True)
class Gate:
    """The gate of one pass: which jobs may start, and in which part of the nodes.

    Attributes:
        session: Of the pass.
        slot: The present one.
        plans: By job.
        profiled: Jobs that run without a plan, to be measured.
        priced: Why others have no plan.
        share: What of each node belongs to jobs with a utility, nodes x resources.
        used: What of it their pods use, likewise.
    """

    session: Session
    slot: int
    plans: Mapping[JobKey, OwnedPlan]
    profiled: Collection[JobKey]
    priced: Mapping[JobKey, Priced]
    share: IntMatrix
    used: IntMatrix
    _placed: dict[JobKey, tuple[IntVector, IntMatrix]] = field(default_factory=dict)
    _parts: dict[bool, tuple[NodeTable, int, NodeTable]] = field(default_factory=dict)

    def part(self, job: Job, table: NodeTable) -> Part | Refusal:
        """Return where a waiting job may be planned, or why it must not start."""
        plan = self._slot_plan(job)
        if isinstance(plan, Refusal):
            return plan
        nodes = self._nodes(table, priced=plan is not None)
        if plan is None:
            return Part(job, nodes)
        members, targets = _members(job, plan, self.slot)
        return Part(members, nodes, targets, priced=True)

    def count(self, part: Part, plan: Plan, table: NodeTable) -> None:
        """Count what a plan ``on_all_nodes`` takes of the part of jobs with a utility."""
        if part.priced:
            taken = plan.placement.node_table.used - table.used
            rows = np.flatnonzero(taken.any(axis=1))
            self._placed[part.job.key] = (rows, taken[rows])

    def _slot_plan(self, job: Job) -> SlotPlan | Refusal | None:
        """Return the plan of a job with a utility, None for one of the others, or why it waits."""
        record = self.plans.get(job.key)
        placed = bool(job.having(*_PLACED))
        if record is None:
            if not slot_requests.wants_admission(job) or placed:
                return None
            return self._unplanned(job)
        if record.plan.workers_at(self.slot) or placed:
            return record.plan
        return Refusal.of(Reason.AWAITING_SLOT)

    def _unplanned(self, job: Job) -> Refusal | None:
        if job.problem:
            return None  # the planner refuses it with that problem
        times = self.session.parameters.slot_time
        try:
            gone = slot_requests.is_gone(job, self.session.now, times.slot_seconds)
            if slot_requests.owner_of(job) is None:
                slot_requests.job_request(self.session.snapshot, job, {})  # raises what is wrong
            unmeasured = not slot_requests.is_measured(job)
        except InputError as error:
            return Refusal(Reason.MISCONFIGURED, str(error))
        if gone and times.when_gone is WhenGone.QUEUE:
            return None
        if gone:
            return Refusal.of(Reason.UTILITY_GONE)
        if unmeasured and job.key in self.profiled:
            return None
        return self._unpriced(job)

    def _unpriced(self, job: Job) -> Refusal:
        """Return why the job has no plan.

        Before this replica has priced it, the pods' condition holds what another replica found.
        """
        answer = self.priced.get(job.key)
        if answer is not None:
            return Refusal(answer.reason, answer.reason.settled(answer.message))
        reason = Reason.PAYOFF_TOO_LOW
        if all(m.pod.queued_reason != reason for m in job.members):
            reason = Reason.AWAITING_PRICE
        return Refusal.of(reason)

    def _nodes(self, table: NodeTable, *, priced: bool) -> NodeTable:
        """Return one part of the nodes; the same table again gives the very same part."""
        count = len(self._placed)
        last = self._parts.get(priced)
        if last is not None and last[0] is table and last[1] == count:
            return last[2]
        unused = self.share - self.used
        for rows, taken in self._placed.values():
            unused[rows] -= taken
        np.maximum(unused, 0, out=unused)
        used = table.used + unused
        if priced:
            used = np.maximum(table.used, table.allocatable - unused)
        used.setflags(write=False)
        part = table.replaced(used=used, ports=table.ports)
        self._parts[priced] = (table, count, part)
        return part


_PARTS: Final[Slot[Kept[str, tuple[NodeTable, IntMatrix]]]] = Slot(Kept)


def others(table: NodeTable, snapshot: Snapshot, params: CoreParameters) -> NodeTable:
    """Return what jobs without a utility may use; for the snapshot's table the same object."""
    if not params.slot_time.enabled:
        return table
    source = (snapshot.generation, params.slot_time)
    kept = snapshot.cache.of(_PARTS)
    cached = kept.get(_OTHERS, source)
    if cached is None:
        theirs = priced_share(snapshot, params.slot_time.share)
        unused = np.maximum(theirs - _used(snapshot, plans_by_job(snapshot)), 0)
        cached = (_filled(snapshot.node_table, unused), unused)
        kept.put(_OTHERS, source, cached)
    return cached[0] if table is snapshot.node_table else _filled(table, cached[1])


def _filled(table: NodeTable, unused: IntMatrix) -> NodeTable:
    used = table.used + unused
    used.setflags(write=False)
    return table.replaced(used=used, ports=table.ports)


def gate(session: Session, state: QueueState) -> Gate | None:
    """Return the gate of a pass; None where jobs are not admitted by price."""
    snapshot, times = session.snapshot, session.parameters.slot_time
    if not times.enabled:
        return None
    plans, profiles = plans_by_job(snapshot), times.unmeasured is Unmeasured.PROFILE
    return Gate(
        session=session,
        slot=slot_plan.slot_at(session.now, times.slot_seconds),
        plans=plans,
        profiled=profile.unmeasured(snapshot) if profiles else (),
        priced=state.priced,
        share=priced_share(snapshot, times.share),
        used=_used(snapshot, plans),
    )


def _used(snapshot: Snapshot, plans: Mapping[JobKey, OwnedPlan]) -> IntMatrix:
    """Return what pods of admitted jobs use, those on their way counted."""
    table = snapshot.node_table
    used = np.zeros_like(table.allocatable)
    for key in plans:
        for pod in snapshot.jobs.get(key, ()):
            reservation = snapshot.reservations.get(pod.uid)
            node = snapshot.bound.get(pod.uid) or (
                reservation.node if reservation is not None else None
            )
            if node is not None and node in table.index and not pod.finished:
                used[table.index[node]] += table.demand(pod_shape.with_devices(snapshot, pod))
    return used


def _members(job: Job, plan: SlotPlan, slot: int) -> tuple[Job, Nodes]:
    """Return the job with those members held that its plan has no place for, and the others' nodes.

    Where the plan has no entry for the slot the job goes on as it is.
    """
    nodes = worker_nodes(plan, slot)
    if not nodes:
        return job, _ANYWHERE
    live = [m for m in job.members if m.state not in _GONE]
    workers = staying(live)
    worker_uids = {m.pod.uid for m in workers}
    serving = [m for m in live if m.pod.uid not in worker_uids]
    held = {m.pod.uid for m in workers[len(nodes) :]}
    targets = _reservations(workers[: len(nodes)], nodes) | _reservations(
        serving, server_nodes(plan, slot)
    )
    return migrations.with_held(job, held), targets


def _reservations(members: list[Member], nodes: tuple[NodeName, ...]) -> dict[Uid, NodeName]:
    placed = tuple(m.node for m in members if m.node is not None)
    waiting = [m for m in members if m.node is None]
    free = left(nodes, placed)
    return {m.pod.uid: node for m, node in zip(waiting, free, strict=False)}


def on_all_nodes(plan: Plan, part: NodeTable, table: NodeTable) -> Plan:
    """Return a plan made on a part of the nodes, with all nodes after it."""
    after = plan.placement.node_table
    used = after.used - part.used + table.used
    used.setflags(write=False)
    return replace(
        plan,
        placement=replace(plan.placement, node_table=after.replaced(used=used, ports=after.ports)),
    )
