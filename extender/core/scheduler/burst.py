"""Bursts: which pods are bound while kube-scheduler waits for the answer about another one.

kube-scheduler has one scheduling loop. While one of its filter calls is open it takes no other pod,
but it goes on observing, and a pod that is bound meanwhile leaves its queue. So the answer about a
pod is held, and pods that kube-scheduler would ask about next are bound at once
(docs/adr/0017-burst-binding.md):

* the other members of its gang, once every one is there and has a reservation;
* then gangs and single pods of its namespace that wait, in order of age.

A gang with our gate that the queue has placed has promised reservations: its last pod alone is
released, and while kube-scheduler asks about it the gates of the others are removed, each just
before its Binding. If that cannot be, because a node was not offered or kube-scheduler does not
ask for ``STALL_SECONDS``, they are given back to the queue, which releases them one by one.

A pod is bound so only on a node that kube-scheduler's own filters have just passed for the pod that
it asks about (``core.scheduler.offer``).

A pod that kube-scheduler was answered about may be in the middle of its cycle: it is bound by its
own bind call, and until then it takes room on the node of the answer.
"""

import itertools
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
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
from extender.core.scheduler import binding, generation
from extender.core.scheduler.direct_gangs import NEVER, Grant, QueueView
from extender.core.scheduler.offer import GangSeats, Offer, TakenPlaceholder, offer_of
from extender.core.scheduler.requests import abridged, in_full
from shared import labels
from shared.model import JobKey, NodeName, Pod, PodKey, Uid

ANSWERED_SECONDS: Final = 30.0
"""A pod without a reservation counts as in its cycle for so long after an answer: kube-scheduler's
cycle takes milliseconds. One with a reservation does until it is bound: its bind call may wait for
members that are still being created, and takes room on its node meanwhile."""

MOST_BINDINGS: Final = 128
"""Members of a gang that are handed out at a time, beside its parameter servers."""

PARTS: Final = 20
"""Of a gang so large that a part is more than that, one part: each decision looks at all members,
and as many are bound in a hold."""

MOST_OF_PINNED: Final = 64
"""Members of a gang of pinned pods that are looked at. A larger one is on more nodes than one of
its pods is offered, and to find that out at each call would take longer than the call."""

MOST_TRIED: Final = 64
"""Jobs that are looked at for one that can be bound."""

STALL_SECONDS: Final = 5.0
"""Pods that wait for a burst are given back when none of them was bound for so long."""

MOST_PLANNED: Final = 4
"""Gangs of them that are planned: a gang that cannot be bound costs a plan each time."""


class Answered(Struct, frozen=True, omit_defaults=True):
    """A pod that may be in its cycle.

    Attributes:
        pod: Its name.
        at: When kube-scheduler was answered, or came to bind; monotonic seconds.
        node: Where it goes; None while only kube-scheduler knows.
        handed_out: A burst is to bind it, and kube-scheduler has not asked about it.
    """

    pod: PodKey
    at: float
    node: NodeName | None = None
    handed_out: bool = False


class BurstState(Struct, frozen=True):
    """What one decision keeps for the next.

    Attributes:
        answered: Pods in their cycle, and those that a burst is binding; not bound yet.
        quiet_since: When pods that wait for a burst were seen first, or one of them was handed out
            last; monotonic seconds. None: none waits.
    """

    answered: Mapping[Uid, Answered] = {}
    quiet_since: float | None = None


class BurstTrigger(Struct, frozen=True, omit_defaults=True):
    """An answer about a pod, before it is given.

    Attributes:
        pod: Its name; empty: no answer, a look at the pods that wait for a burst.
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
        job: Whose pods they are; None for single pods, and for pods of several gangs.
        first: Parameter servers; the rest follow once they are bound.
        after: Parameter servers that wait at the bind barrier, to be bound before the rest too.
        rest: The others, in order.
        grant: Reservations of a gang that can be bound in the next look.
        taken: Placeholders of ``job`` that its members take, so that it can be bound then.
        awaited: A gang of which members are still being created; nothing else can be bound.
        gated: Pods to bind whose gate is removed first.
        given_up: Pods that no burst binds: their promised reservations are taken back.
    """

    job: JobKey | None = None
    first: tuple[BurstBinding, ...] = ()
    after: tuple[Uid, ...] = ()
    rest: tuple[BurstBinding, ...] = ()
    grant: Grant | None = None
    taken: tuple[TakenPlaceholder, ...] = ()
    awaited: JobKey | None = None
    gated: frozenset[Uid] = frozenset()
    given_up: tuple[Uid, ...] = ()

    @property
    def handed_out(self) -> tuple[BurstBinding, ...]:
        """All pods to bind."""
        return (*self.first, *self.rest)

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
            if _may_be_in_cycle(snapshot, uid, entry, now)
        }
        for uid in trigger.returned:
            if (entry := answered.get(uid)) is not None and entry.handed_out:
                del answered[uid]
        if not trigger.pod:
            return _looked(snapshot, BurstState(answered, state.quiet_since), now)
        if trigger.uid not in snapshot.bound:
            answered[trigger.uid] = Answered(trigger.pod, now, trigger.node)
        kept = BurstState(answered, state.quiet_since)
        pod = snapshot.pods.get(trigger.pod)
        if pod is None or pod.uid != trigger.uid or not trigger.nodes:
            return BurstOutcome(state=kept)
        outcome, key = _on_offer(session, kept, trigger, pod), registry.job_key(pod)
        handed_out = {binding.uid: binding for binding in outcome.handed_out}
        own = _waiting_for_burst(snapshot, key)
        given_up = () if handed_out.keys() & own else tuple(sorted(own - answered.keys()))
        binding_now = {
            uid: Answered(wanted.pod, now, wanted.node, handed_out=True)
            for uid, wanted in handed_out.items()
        }
        quiet_since = now if outcome.gated else state.quiet_since
        return replace_outcome(
            outcome, state=BurstState({**answered, **binding_now}, quiet_since), given_up=given_up
        )

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
        if outcome.idle and not outcome.given_up:
            return {}
        grant = outcome.grant
        for_bursts = {
            name: protocol.digest(sorted(uids))
            for name, uids in (("gated", outcome.gated), ("given_up", outcome.given_up))
            if uids
        }
        return {
            **for_bursts,
            "job": outcome.job,
            "first": len(outcome.first),
            "rest": len(outcome.rest),
            "bindings": protocol.digest((outcome.first, outcome.after, outcome.rest)),
            "grant": None if grant is None else protocol.digest((grant.job, grant.given)),
            "taken": protocol.digest(outcome.taken) if outcome.taken else None,
            "awaited": outcome.awaited,
        }


BURST: Final = BurstDecision()


def next_asked(snapshot: Snapshot, outcome: BurstOutcome) -> tuple[BurstBinding, ...]:
    """Return the pods to release if a hold ends before an outcome is carried out.

    One of each gang that has none which kube-scheduler may ask about, a worker where there is one.
    """
    of_gang: dict[JobKey, BurstBinding] = {}
    for wanted in (*outcome.rest, *outcome.first):
        of_gang.setdefault(registry.job_key(snapshot.pods[wanted.pod]), wanted)
    return tuple(wanted for wanted in of_gang.values() if wanted.uid in outcome.gated)


def _may_be_in_cycle(snapshot: Snapshot, uid: Uid, entry: Answered, now: float) -> bool:
    """Return True if an answered pod may still be in its cycle, or wait in its bind call."""
    if uid in snapshot.bound:
        return False
    if now - entry.at < ANSWERED_SECONDS:
        return True
    return entry.node is not None and not entry.handed_out and uid in snapshot.reservations


def _on_offer(session: Session, state: BurstState, trigger: BurstTrigger, pod: Pod) -> BurstOutcome:
    """Return what is bound on the nodes that kube-scheduler offers for the pod."""
    snapshot = session.snapshot
    count = len(snapshot.jobs.get(registry.job_key(pod), ()))
    if pod_shape.has_pin(pod.shape) and count > MOST_OF_PINNED:
        return BurstOutcome(state=state)
    places = {uid: (entry.pod, entry.node) for uid, entry in state.answered.items()}
    offer = offer_of(snapshot, session.parameters, pod, frozenset(trigger.nodes), places)
    return BurstOutcome(state=state) if offer is None else _best(offer, state, trigger)


def _looked(snapshot: Snapshot, state: BurstState, now: float) -> BurstOutcome:
    """Give pods back that have waited for a burst too long."""
    waiting = {uid for key in snapshot.waiting for uid in _waiting_for_burst(snapshot, key)}
    if not waiting:
        return BurstOutcome(state=BurstState(state.answered))
    since = now if state.quiet_since is None else state.quiet_since
    if now - since < STALL_SECONDS:
        return BurstOutcome(state=BurstState(state.answered, since))
    given_up = tuple(sorted(waiting - state.answered.keys()))
    return BurstOutcome(state=BurstState(state.answered), given_up=given_up)


def _waiting_for_burst(snapshot: Snapshot, key: JobKey) -> AbstractSet[Uid]:
    """Return the pods of a job that have a promised reservation and still our gate."""
    gated = (p.uid for p in snapshot.jobs.get(key, ()) if labels.GATE in p.gates)
    unbound = (uid for uid in gated if uid not in snapshot.bound)
    places = ((uid, snapshot.reservations.get(uid)) for uid in unbound)
    return {uid for uid, place in places if place is not None and place.promised}


def _best(offer: Offer, state: BurstState, trigger: BurstTrigger) -> BurstOutcome:
    """Return what is bound first: the pod's own gang, else what has waited longest."""
    snapshot, planned = offer.snapshot, 0
    keys = itertools.islice(_candidates(offer), MOST_TRIED)
    for key in keys:
        job = job_views.view(snapshot, key)
        if seats := offer.seats(job):
            return _of_gangs(snapshot, state, [(key, seats), *_further(offer, seats, keys)])
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


def _further(
    offer: Offer, seats: GangSeats, keys: Iterator[JobKey]
) -> Iterator[tuple[JobKey, GangSeats]]:
    """Yield the next gangs that are bound together with one, if no pod of them goes first."""
    count = len(seats.rest)
    while not seats.in_order and count < MOST_BINDINGS and (key := next(keys, None)) is not None:
        further = offer.seats(job_views.view(offer.snapshot, key))
        if further is None or further.in_order:
            return
        count += len(further.rest)
        yield key, further


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


def _of_gangs(
    snapshot: Snapshot, state: BurstState, gangs: Sequence[tuple[JobKey, GangSeats]]
) -> BurstOutcome:
    """Return the bindings of one gang, or of several without parameter servers."""
    key, seats = gangs[0]
    free = tuple(itertools.chain.from_iterable(seats.rest for _, seats in gangs))
    rest = free[: max(MOST_BINDINGS, len(free) // PARTS)]
    gated = {m.pod.uid for m in (*seats.servers, *rest) if m.awaits_burst}
    return BurstOutcome(
        state=state,
        job=key if len(gangs) == 1 else None,
        first=_bindings(snapshot, seats.servers),
        after=seats.after,
        rest=_bindings(snapshot, rest),
        gated=frozenset(gated),
    )


def _bindings(snapshot: Snapshot, members: Sequence[Member]) -> tuple[BurstBinding, ...]:
    numbers = generation.of_pods(snapshot, (m.pod for m in members))
    return tuple(
        BurstBinding(m.pod.key, m.pod.uid, m.node, binding.annotations(snapshot, m.pod, numbers))
        for m in members
        if m.node is not None
    )
