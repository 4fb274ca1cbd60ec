"""Direct gangs: reservations for gangs without our gate (docs/adr/0007-direct-gangs.md).

kube-scheduler calls filter for the first member while its owner still makes the others. If the gang
size is known and no job waits for room, the whole gang is planned at once: members that exist get
their reservations, and placeholders are kept for the others, given in order to new members of the
shape they were planned for. Nothing of it is written before the Binding.

Otherwise the pod is refused, its gang waits in the queue, and a pass of the queue plans it: that
annotates the members, which also wakes them.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import count, filterfalse

from msgspec import Struct
from msgspec.structs import replace as changed

from extender.core.cluster import job_spec, job_views, pod_shape
from extender.core.cluster.jobs import Job, Member, State
from extender.core.cluster.owners import above
from extender.core.cluster.snapshot import Placeholder, PlaceholderReservations, Snapshot
from extender.core.kinds import registry
from extender.core.nodes.feasibility import NodeFilter
from extender.core.nodes.node_table import NodeTable
from extender.core.parameters.combined import CoreParameters
from extender.core.placement import planner, release
from extender.core.placement.placement import Placement, Unschedulable
from extender.core.placement.release import DecisionTexts
from extender.core.queue import slot_gate
from extender.core.queue.notices import QueueEntry
from extender.core.records import migrations, parked_jobs
from shared import labels
from shared.model import JobKey, NodeName, Pod, Uid


class QueueView(Struct, frozen=True):
    """What filter needs of the queue beside the snapshot.

    Attributes:
        may_plan: No job waits for room, and this job is not in the queue.
        monotonic: Clock reading, in seconds.
    """

    may_plan: bool
    monotonic: float


NEVER = QueueView(may_plan=False, monotonic=0.0)
"""A view in which nothing may be planned."""


class GivenReservation(Struct, frozen=True):
    """The reservation of a member that is there."""

    uid: Uid
    node: NodeName
    decision: str


@dataclass(frozen=True)
class Grant:
    """The reservations that an answer to filter makes.

    Attributes:
        job: The gang.
        node: Where the pod of the call goes.
        taken: Number of the placeholder that it takes; 0 if the gang was planned just now.
        given: Reservations of the members that are there, the pod itself among them, if it was.
        placeholders: The plan, and what it keeps for the members that are not there; with ``taken``
            None.
    """

    job: JobKey
    node: NodeName
    taken: int = 0
    given: tuple[GivenReservation, ...] = ()
    placeholders: PlaceholderReservations | None = None


def needs_reservation(snapshot: Snapshot, pod: Pod) -> bool:
    """Return True if the pod is a member of a gang that the extender alone keeps whole."""
    notes = pod.annotations
    if labels.PLAN in notes or pod.scheduling_group or labels.GATE in pod.gates:
        return False
    return registry.membership(pod, above(snapshot, pod)).size != 1


def is_single(snapshot: Snapshot, pod: Pod) -> bool:
    """Return True if the pod is a job alone, never had our gate, and the planner can place it.

    The planner cannot place a pod with what it does not model, with a preference of its own, which
    kube-scheduler weighs, or with a topology.
    """
    notes = pod.annotations
    if labels.PLAN in notes or pod.scheduling_group or labels.GATE in pod.gates or pod.prefers:
        return False
    if pod.claims or pod_shape.unmodelled(snapshot, pod):
        return False
    if any(other.uid != pod.uid for other in snapshot.jobs.get(registry.job_key(pod), ())):
        return False
    over = above(snapshot, pod)
    spec = job_spec.read(pod, over)
    return registry.membership(pod, over).size == 1 and not spec.topology and spec.relations is None


def grant(
    snapshot: Snapshot,
    pod: Pod,
    names: Sequence[str],
    view: QueueView,
    params: CoreParameters,
) -> Grant | None:
    """Return a reservation for a pod that ``needs_reservation``; None if it gets none now.

    Args:
        snapshot: The cluster; a pod that is not in it gets nothing.
        pod: The pod of the call.
        names: The offered nodes; a placeholder on one of them is preferred.
        view: Whether a gang may be planned now.
        params: Of the core.
    """
    observed = snapshot.pods.get(pod.key)
    if observed is None or observed.uid != pod.uid or observed.deleting or observed.finished:
        return None
    key = registry.job_key(observed)
    kept = snapshot.placeholders.get(key)
    if kept is not None and (placeholder := _fitting(kept, observed, names, snapshot)):
        return Grant(key, placeholder.node, taken=placeholder.number)
    return _planned(snapshot, observed, key, view, params) if view.may_plan else None


def no_job_lacks_room(entries: Iterable[QueueEntry]) -> bool:
    """Return True if no job in the queue waits for room: a new gang then overtakes none."""
    return not any(entry.reason.waits_for_room for entry in entries)


def has_unviewed(snapshot: Snapshot, viewed: Collection[JobKey]) -> bool:
    """Return True if a gated job waits that no pass has viewed; ``viewed``: jobs it has viewed."""
    unviewed = filterfalse(viewed.__contains__, snapshot.waiting)  # ten thousand, at each call
    return any(labels.GATE in pod.gates for key in unviewed for pod in snapshot.jobs[key][:1])


def overdue(snapshot: Snapshot, monotonic: float, params: CoreParameters) -> tuple[JobKey, ...]:
    """Return the jobs whose members did not come: their placeholders are to be given back."""
    return tuple(
        key
        for key, kept in sorted(snapshot.placeholders.items())
        if key not in snapshot.jobs or monotonic - kept.at >= params.direct_wait_seconds
    )


def _fitting(
    kept: PlaceholderReservations, pod: Pod, names: Sequence[str], snapshot: Snapshot
) -> Placeholder | None:
    """Return the first placeholder for such a pod; stop at the first that fits."""
    shape, table = pod_shape.shape(snapshot, pod), snapshot.node_table
    static = NodeFilter(shape)
    role = registry.membership(pod, above(snapshot, pod)).role

    def usable() -> Iterator[Placeholder]:
        return (
            placeholder
            for placeholder in kept.placeholders
            if placeholder.shape == shape and _is_usable(placeholder, static, table)
        )

    first = next(
        (placeholder for placeholder in usable() if placeholder.role == role), None
    ) or next(usable(), None)
    if first is None or first.node in names:
        return first
    offered, like = frozenset(names), first.role
    return next((s for s in usable() if s.role == like and s.node in offered), first)


def _is_usable(placeholder: Placeholder, static: NodeFilter, table: NodeTable) -> bool:
    index = table.index.get(placeholder.node)
    return index is not None and static.accepts(table.nodes[index])


def _planned(
    snapshot: Snapshot, pod: Pod, key: JobKey, view: QueueView, params: CoreParameters
) -> Grant | None:
    """Plan the whole gang, what it still keeps for members that did not fit there included."""
    job = replace(job_views.view(snapshot, key), kept=0)
    here = job.having(State.DIRECT)
    member = next((m for m in here if m.pod.uid == pod.uid), None)
    priced = params.slot_time.enabled and job.spec.utility is not None
    if member is None or priced or not _plannable(job, here):
        return None
    table = slot_gate.others(_without_placeholders(snapshot, key), snapshot, params)
    to_come = tuple(_to_come(member, job, planner.missing(job) - len(here)))
    placement = planner.place_members(job, (*here, *to_come), table, params)
    if isinstance(placement, Unschedulable):
        return None
    plan, size = release.continued(job, placement, len(here) + len(to_come))
    texts = DecisionTexts(placement, None)
    return Grant(
        job=key,
        node=placement.nodes[pod.uid],
        given=tuple(_given(other, placement, texts) for other in here),
        placeholders=PlaceholderReservations(
            job=key,
            plan=plan,
            plan_size=size,
            at=view.monotonic,
            placeholders=tuple(
                _placeholder(i, absent, _given(absent, placement, texts))
                for i, absent in enumerate(to_come, start=1)
            ),
        ),
    )


def _plannable(job: Job, here: Sequence[Member]) -> bool:
    valid = job.min_available is not None and not job.problem
    queued = job.having(State.GATED, State.HELD) or any(m.unreserved for m in here)
    return valid and not queued and not any(m.shape.unmodelled for m in here)


def _without_placeholders(snapshot: Snapshot, key: JobKey) -> NodeTable:
    """Return the nodes without what is kept for this gang: placeholders, and its places."""
    kept = snapshot.placeholders.get(key)
    placeholders = kept.placeholders if kept else ()
    places = [(placeholder.node, placeholder.shape) for placeholder in placeholders]
    return migrations.without_reservations(
        snapshot.node_table, (*places, *parked_jobs.kept_for(snapshot, key))
    )


def _to_come(like: Member, job: Job, lacking: int) -> Iterator[Member]:
    """Yield the members that do not exist yet: like the given one, ranked behind all others."""
    first = max(m.rank for m in job.members) + 1
    for i, rank in zip(range(lacking), count(first), strict=False):
        uid, name = Uid(f"{like.pod.uid}/{i}"), f"{like.pod.name}/{i}"
        yield replace(like, pod=changed(like.pod, uid=uid, name=name), index=rank)


def _given(member: Member, placement: Placement, texts: DecisionTexts) -> GivenReservation:
    uid = member.pod.uid
    return GivenReservation(uid, placement.nodes[uid], texts.of(member.pod))


def _placeholder(number: int, member: Member, given: GivenReservation) -> Placeholder:
    return Placeholder(number, given.node, member.shape, member.role, given.decision)
