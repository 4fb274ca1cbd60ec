"""Bursts: which pods are bound while kube-scheduler waits for the answer about another one.

kube-scheduler has one scheduling loop. While one of its filter calls is open it takes no other pod,
but it goes on observing, and a pod that is bound meanwhile leaves its queue. So the answer about a
pod is held, and pods that kube-scheduler would ask about next are bound at once
(docs/adr/0017-burst-binding.md):

* the other members of its gang, once every one is there and has a reservation;
* then gangs and single pods of its namespace that wait, in order of age.

A pod is bound so only on a node that kube-scheduler's own filters have just passed for the pod that
it asks about (``core.scheduler.offer``).

A pod that kube-scheduler was answered about may be in the middle of its cycle: it is bound by its
own bind call, and until then it takes room on the node of the answer.
"""

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from dataclasses import replace as replace_outcome
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace
from typing_extensions import override

from extender.core.cluster import job_views, pod_shape
from extender.core.cluster import session as protocol
from extender.core.cluster.jobs import Member
from extender.core.cluster.session import Decision, Outcome, Session
from extender.core.cluster.snapshot import Snapshot
from extender.core.kinds import registry
from extender.core.queue import namespace_shares
from extender.core.scheduler import binding
from extender.core.scheduler.direct_gangs import NEVER, Grant, QueueView
from extender.core.scheduler.offer import GangSeats, Offer, TakenPlaceholder, offer_of
from extender.core.scheduler.requests import abridged, in_full
from shared.model import JobKey, NodeName, PodKey, Uid

ANSWERED_SECONDS: Final = 30.0
"""A pod counts as in its cycle for so long after an answer. kube-scheduler's cycle takes
milliseconds; a call that waits for the rest of its gang holds a reservation."""

MOST_BINDINGS: Final = 128
"""Members of a gang that are handed out at a time, beside its parameter servers."""

MOST_OF_PINNED: Final = 64
"""Members of a gang of pinned pods that are looked at. A larger one is on more nodes than one of
its pods is offered, and to find that out at each call would take longer than the call."""

MOST_TRIED: Final = 64
"""Jobs that are looked at for one that can be bound."""

MOST_PLANNED: Final = 4
"""Gangs of them that are planned: a gang that cannot be bound costs a plan each time."""


class Answered(Struct, frozen=True, omit_defaults=True):
    """A pod that may be in its cycle.

    Attributes:
        pod: Its name.
        at: When kube-scheduler was answered, or came to bind; monotonic seconds.
        node: Where it goes; None while only kube-scheduler knows.
    """

    pod: PodKey
    at: float
    node: NodeName | None = None


class BurstState(Struct, frozen=True):
    """Pods in their cycle, and those that a burst is binding; not bound yet."""

    answered: Mapping[Uid, Answered] = {}


class BurstTrigger(Struct, frozen=True, omit_defaults=True):
    """An answer about a pod, before it is given.

    Attributes:
        pod: Its name.
        uid: Its uid.
        node: The only node of the answer, or the node of a bind call; None: several.
        nodes: The offered nodes; ``abridged`` in the log. Empty: nothing may be bound now.
        queue: Whether gangs may be planned now.
        queued: Gangs without our gate that the queue plans.
        returned: Pods that an earlier decision bound and that were not posted in time.
    """

    pod: PodKey
    uid: Uid
    node: NodeName | None = None
    nodes: Sequence[str] = ()
    queue: QueueView = NEVER
    queued: tuple[JobKey, ...] = ()
    returned: tuple[Uid, ...] = ()


class BurstBinding(Struct, frozen=True):
    """A pod to be bound now."""

    pod: PodKey
    uid: Uid
    node: NodeName
    annotations: Mapping[str, str] = {}


@dataclass(frozen=True, kw_only=True)
class BurstOutcome(Outcome[BurstState, object]):
    """Pods to bind, or reservations to make before the next look.

    Attributes:
        job: Whose pods they are; None for single pods.
        first: Parameter servers; the rest follow once they are bound.
        after: Parameter servers that wait at the bind barrier, to be bound before the rest too.
        rest: The others, in order.
        grant: Reservations of a gang that can be bound in the next look.
        taken: Placeholders of ``job`` that its members take, so that it can be bound then.
        awaited: A gang of which members are still being created; nothing else can be bound.
    """

    job: JobKey | None = None
    first: tuple[BurstBinding, ...] = ()
    after: tuple[Uid, ...] = ()
    rest: tuple[BurstBinding, ...] = ()
    grant: Grant | None = None
    taken: tuple[TakenPlaceholder, ...] = ()
    awaited: JobKey | None = None

    @property
    def idle(self) -> bool:
        """True if there is nothing to do."""
        return not (self.first or self.rest or self.grant or self.taken or self.awaited)


class BurstDecision(Decision[BurstState, BurstTrigger, BurstOutcome]):
    """Which pods are bound while the answer about one is held."""

    name = "burst"
    state_type = BurstState
    trigger_type = BurstTrigger

    @override
    def decide(self, session: Session, state: BurstState, trigger: BurstTrigger) -> BurstOutcome:
        snapshot, now = session.snapshot, session.monotonic
        answered = {
            uid: entry
            for uid, entry in state.answered.items()
            if uid not in snapshot.bound and now - entry.at < ANSWERED_SECONDS
        }
        for uid in trigger.returned:
            answered.pop(uid, None)
        if trigger.uid not in snapshot.bound:
            answered[trigger.uid] = Answered(trigger.pod, now, trigger.node)
        kept = BurstState(answered)
        pod = snapshot.pods.get(trigger.pod)
        if pod is None or pod.uid != trigger.uid or not trigger.nodes:
            return BurstOutcome(state=kept)
        count = len(snapshot.jobs.get(registry.job_key(pod), ()))
        if pod_shape.has_pin(pod.shape) and count > MOST_OF_PINNED:
            return BurstOutcome(state=kept)
        places = {uid: (entry.pod, entry.node) for uid, entry in answered.items()}
        offer = offer_of(snapshot, session.parameters, pod, frozenset(trigger.nodes), places)
        if offer is None:
            return BurstOutcome(state=kept)
        outcome = _best(offer, kept, trigger)
        handed_out = (*outcome.first, *outcome.rest)
        binding_now = {wanted.uid: Answered(wanted.pod, now, wanted.node) for wanted in handed_out}
        return replace_outcome(outcome, state=BurstState({**answered, **binding_now}))

    @override
    def shortened(
        self, snapshot: Snapshot, trigger: BurstTrigger, outcome: BurstOutcome
    ) -> BurstTrigger:
        return replace(trigger, nodes=abridged(trigger.nodes, snapshot.node_table.index))

    @override
    def expanded(self, snapshot: Snapshot, trigger: BurstTrigger) -> BurstTrigger:
        return replace(trigger, nodes=in_full(trigger.nodes, snapshot.node_table.index))

    @override
    def summary(
        self, snapshot: Snapshot, trigger: BurstTrigger, outcome: BurstOutcome
    ) -> dict[str, Any]:
        if outcome.idle:
            return {}
        grant = outcome.grant
        return {
            "job": outcome.job,
            "first": len(outcome.first),
            "rest": len(outcome.rest),
            "bindings": protocol.digest((outcome.first, outcome.after, outcome.rest)),
            "grant": None if grant is None else protocol.digest((grant.job, grant.given)),
            "taken": protocol.digest(outcome.taken) if outcome.taken else None,
            "awaited": outcome.awaited,
        }


BURST: Final = BurstDecision()


def _best(offer: Offer, state: BurstState, trigger: BurstTrigger) -> BurstOutcome:
    """Return what is bound first: the pod's own gang, else what has waited longest."""
    snapshot, planned = offer.snapshot, 0
    for key in itertools.islice(_candidates(offer), MOST_TRIED):
        job = job_views.view(snapshot, key)
        if seats := offer.seats(job):
            return _of_gang(snapshot, state, key, seats)
        if taken := offer.placeholders_taken(job):
            return BurstOutcome(state=state, job=key, taken=taken)
        if offer.is_free_single(snapshot.jobs[key][0]):
            singles = tuple(BurstBinding(p.key, p.uid, node) for p, node in offer.single_pods())
            return BurstOutcome(state=state, rest=singles)
        free = trigger.queue.may_plan and planned < MOST_PLANNED and key not in trigger.queued
        if free and offer.may_be_planned(key):
            planned += 1
            if grant := offer.grant(key, trigger.queue):
                return BurstOutcome(state=state, job=key, grant=grant)
    own = registry.job_key(offer.pod)
    return BurstOutcome(state=state, awaited=own if own in snapshot.placeholders else None)


def _candidates(offer: Offer) -> Iterator[JobKey]:
    """Yield the job of the pod, then the others."""
    own = registry.job_key(offer.pod)
    if own in offer.snapshot.waiting:
        yield own
    if pod_shape.has_pin(offer.pod.shape):
        return  # it was offered no more than the nodes of its pin
    if namespace_shares.has_limit(offer.snapshot, offer.pod.namespace, offer.parameters):
        return  # what its namespace holds is counted pod by pod
    yield from (key for key in offer.waiting if key != own)


def _of_gang(snapshot: Snapshot, state: BurstState, key: JobKey, seats: GangSeats) -> BurstOutcome:
    return BurstOutcome(
        state=state,
        job=key,
        first=_bindings(snapshot, seats.servers),
        after=seats.after,
        rest=_bindings(snapshot, seats.rest[:MOST_BINDINGS]),
    )


def _bindings(snapshot: Snapshot, members: Sequence[Member]) -> tuple[BurstBinding, ...]:
    return tuple(
        BurstBinding(m.pod.key, m.pod.uid, m.node, binding.annotations(snapshot, m.pod))
        for m in members
        if m.node is not None
    )
