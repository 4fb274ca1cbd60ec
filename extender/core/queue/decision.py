"""One scheduling cycle: every waiting job, in order, on one snapshot.

1. View the jobs that wait, hold seats or were left partial.
2. Mend what was released and came to harm (``repairing``), on the room.
3. Order the jobs that have members to place (``ordering``).
4. Place them one after the other, each as a whole, on what the ones before left (``planning``);
   one whose maximum wait is over goes first, and room is kept for it (``waiting``).
   A pod that takes the place of one that moves waits for it, then goes where its migration says
   (``reserving``).
5. Dissolve gangs that stay partial and cannot be completed.
6. Show to autoscalers what waits for nodes that do not exist (``unplaceable``).
7. Say why the others wait: condition where the token changed, one Event per job and change.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Final

from msgspec import Struct
from msgspec.structs import replace
from typing_extensions import override

from extender.core.cluster import decision as protocol
from extender.core.cluster import job_views, replacements
from extender.core.cluster.backoff import Backoff, strike
from extender.core.cluster.commands import Command, ReleaseGang
from extender.core.cluster.decision import Decision, Outcome
from extender.core.cluster.jobs import Job, Member, State
from extender.core.cluster.reasons import Reason
from extender.core.cluster.session import Reading, Session
from extender.core.cluster.snapshot import Snapshot
from extender.core.cluster.steps import Steps, in_full
from extender.core.nodes.node_table import NodeTable
from extender.core.parameters.combined import CoreParameters
from extender.core.placement import planner, refusal_cache
from extender.core.placement.planner import Plan, Refusal
from extender.core.queue import (
    namespace_shares,
    order,
    repair,
    running_jobs,
    scheduling_pass,
    unplaceable,
)
from extender.core.queue import slot_gate as gating
from extender.core.queue.backfill import Reservation, RunningJob
from extender.core.queue.namespace_shares import Shares
from extender.core.queue.notices import QueueEntry, tell
from extender.core.queue.order import Ranked
from extender.core.queue.scheduling_pass import SchedulingPass
from extender.core.queue.slot_gate import Gate
from extender.core.queue.state import Priced, QueueState, Told, price, refuse, turn_away
from extender.core.records import migrations, workers
from extender.core.records.migrations import NOBODY, Arrivals
from shared.model import JobKey, NodeName, Uid


class QueueTrigger(Struct, frozen=True, omit_defaults=True):
    """What happened since the last pass.

    Attributes:
        refusals: Pods whose reserved node kube-scheduler did not offer, and the node.
        turned_away: Direct gangs for which filter had no reservation.
        priced: Why jobs with a utility have no slot plan; None: as before.
    """

    refusals: tuple[tuple[Uid, NodeName], ...] = ()
    turned_away: tuple[JobKey, ...] = ()
    priced: Mapping[JobKey, Priced] | None = None


@dataclass(frozen=True, kw_only=True)
class QueueOutcome(Outcome[QueueState, Command]):
    """What one pass decided.

    Attributes:
        entries: The queue in order, the jobs released by this pass included.
        wake_after_seconds: When one of our deadlines passes; None if none is open.
        holder: The backfill head: for which job room is kept, and which; None if for none.
    """

    entries: tuple[QueueEntry, ...]
    wake_after_seconds: float | None
    holder: Reservation | None = None


@dataclass
class _Work:
    """What one cycle carries from step to step; never leaves this module."""

    snapshot: Snapshot
    params: CoreParameters
    reading: Reading
    memory: QueueState
    room: NodeTable
    commands: list[Command] = field(default_factory=list)
    backoff: dict[JobKey, Backoff] = field(default_factory=dict)
    lost_since: dict[Uid, float] = field(default_factory=dict)
    partial_since: dict[JobKey, float] = field(default_factory=dict)
    most_bound: dict[JobKey, int] = field(default_factory=dict)
    dissolved: set[JobKey] = field(default_factory=set)
    whole: set[JobKey] = field(default_factory=set)
    inferred: set[JobKey] = field(default_factory=set)
    arrivals: Mapping[JobKey, Arrivals] = field(default_factory=dict)
    shares: Shares = field(init=False)
    gate: Gate | None = field(init=False)

    def __post_init__(self) -> None:
        self.shares = namespace_shares.shares(self.snapshot, self.params)
        self.gate = gating.gate(self.snapshot, self.reading, self.params, self.memory)

    def strike(self, job: JobKey) -> None:
        """Send a job to wait, unless it does already: what follows is part of the same harm."""
        before = self.backoff.get(job)
        if before is not None and self.reading.monotonic < before.until:
            return
        strike(
            self.backoff,
            job,
            self.reading.monotonic,
            first=self.params.backoff_seconds,
            most=self.params.most_backoff_seconds,
        )


class QueueDecision(Decision[QueueState, QueueTrigger, QueueOutcome]):
    """See the module."""

    name = "queue"
    state_type = QueueState
    trigger_type = QueueTrigger

    @override
    def decide(self, session: Session, state: QueueState, trigger: QueueTrigger) -> QueueOutcome:
        return in_full(self.steps(session, state, trigger))

    @override
    def steps(
        self, session: Session, state: QueueState, trigger: QueueTrigger
    ) -> Steps[QueueOutcome]:
        """Decide what ``decide`` decides, with a pause after each job.

        Between two pauses no more is done than to look at one job, on the session's snapshot.
        """
        state = turn_away(refuse(state, trigger.refusals), trigger.turned_away)
        return (yield from _steps(session, price(state, trigger.priced)))

    @override
    def summary(
        self, snapshot: Snapshot, trigger: QueueTrigger, outcome: QueueOutcome
    ) -> dict[str, object]:
        """Return the commands, and a digest of queue and reasons."""
        queue = [(e.job.key, e.value.v, e.reason, e.message) for e in outcome.entries]
        return {"commands": outcome.commands, "queue": protocol.digest(queue)}


QUEUE: Final = QueueDecision()


def _steps(session: Session, memory: QueueState) -> Steps[QueueOutcome]:
    snapshot, reading, params = session.snapshot, session.reading, session.parameters
    seen = yield from _view(snapshot, memory)
    work = _Work(snapshot, params, reading, memory, snapshot.room)
    work.backoff = {k: b for k, b in memory.backoff.items() if k in snapshot.jobs}
    work.whole = {job.key for job in seen if repair.is_whole(job, snapshot)}
    others = (job for job in seen if job.key not in work.whole)
    work.inferred = {job.key for job in others if repair.was_whole(job, memory)}
    work.whole |= work.inferred
    work.arrivals = migrations.arrivals(snapshot)
    work.commands += replacements.unfinished(snapshot)
    _mend(seen, work)
    queued = tuple(job for job in seen if _is_queued(job, work))
    ranked = order.ordered(queued, snapshot, params, reading.now)
    line = _line(work)
    results = yield from line.steps(ranked)
    entries = [_entry(one, result, work) for one, result in results]
    work.room = line.room
    placed = {command.job for command in work.commands if isinstance(command, ReleaseGang)}
    for job in seen:
        if repair.is_partial(job) and job.key not in work.whole:
            _watch_partial(job, work, completed=job.key in placed)
    for entry in entries:
        work.commands += unplaceable.shown([entry], snapshot, params, reading.now)
        yield
    told, notices = tell(entries, memory.told, reading.now)
    return QueueOutcome(
        entries=tuple(entries),
        commands=(*work.commands, *notices),
        state=_remember(work, seen, placed, told),
        wake_after_seconds=_next_deadline(work, line.next_deadline),
        holder=line.holder,
    )


def _view(snapshot: Snapshot, memory: QueueState) -> Steps[tuple[Job, ...]]:
    fresh = not memory.known  # the first cycle after a start looks at every job once
    keys = set(snapshot.jobs) if fresh else set(snapshot.waiting) | memory.open
    keys = keys & set(snapshot.jobs)
    snapshot.cache.of(job_views.VIEWS).trim(keys)
    seen: list[Job] = []
    for key in sorted(keys):
        seen.append(job_views.view(snapshot, key))
        yield
    return tuple(seen)


def _is_queued(job: Job, work: _Work) -> bool:
    gated = job.having(State.GATED, State.HELD)
    return bool(gated) or scheduling_pass.waits_in_queue(job, work.memory, work.reading.now)


def _mend(seen: tuple[Job, ...], work: _Work) -> None:
    lost = repair.lost_seats(work.snapshot, work.memory)
    for job in seen:
        moves, work.room = repair.moves(job, lost, work.room, work.memory)
        for move in moves:
            if move.to is not None:
                work.commands.append(repair.rewrite(move.member, move.to, work.snapshot))
                continue
            _count_lost(move.member, job, work)
        for member in repair.without_a_node(job, work.room, work.memory):
            _count_lost(member, job, work)


def _count_lost(member: Member, job: Job, work: _Work) -> None:
    """Rule 2 of ``repairing``."""
    since = work.memory.lost_since.get(member.pod.uid, work.reading.monotonic)
    work.lost_since[member.pod.uid] = since
    if work.reading.monotonic - since >= work.params.pin_lost_seconds:
        work.commands.append(repair.give_back(member, "pin-lost"))
        work.strike(job.key)


def _line(work: _Work) -> SchedulingPass:
    """Return the nodes as the waiting jobs will find them."""
    snapshot, memory, reading = work.snapshot, work.memory, work.reading
    stale_seconds = work.params.agent_reports.stale_seconds

    def running() -> tuple[RunningJob, ...]:
        found = running_jobs.running(snapshot, memory, reading, stale_seconds)
        return tuple(one.tenant for one in found)

    return SchedulingPass(
        room=work.room,
        now=reading.now,
        params=work.params.waiting,
        attempt=lambda job, value, room: _attempt(job, value, room, work),
        project=lambda job, value, room: _project(job, value, room, work),
        tenants=running,
        lasts=lambda job: running_jobs.lasts(job, snapshot, memory, reading, stale_seconds),
        owed={key for key, arrivals in work.arrivals.items() if arrivals.targets},
        shares=work.shares,
        awaited=workers.starters(snapshot, reading.now),
    )


def _attempt(job: Job, value: float, room: NodeTable, work: _Work) -> Plan | Refusal:
    backoff = work.backoff.get(job.key)
    if backoff and work.reading.monotonic < backoff.until:
        return Refusal.of(Reason.BACKING_OFF)
    was_whole, arrivals = job.key in work.whole, work.arrivals.get(job.key, NOBODY)
    held = migrations.holding(job, arrivals.held)
    within = held if arrivals.targets else work.shares.within(held)
    if isinstance(within, Refusal):
        return within

    def place(one: Job, there: NodeTable, targets: Mapping[Uid, NodeName]) -> Plan | Refusal:
        return refusal_cache.plan(
            work.snapshot.cache,
            one,
            there,
            work.params,
            value,
            was_whole=was_whole,
            targets=targets,
            rule=planner.MIGRATION if arrivals.targets else planner.SLOT_PLAN,
        )

    if arrivals.targets:
        result = place(within, migrations.without_kept(room, arrivals.kept), arrivals.targets)
    elif work.gate is not None:
        result = work.gate.through(within, room, place)
    else:
        result = place(within, room, {})
    return (
        _explained(result, job, arrivals, work.snapshot) if isinstance(result, Refusal) else result
    )


def _explained(refusal: Refusal, job: Job, arrivals: Arrivals, snapshot: Snapshot) -> Refusal:
    """Return the refusal, or what holds members back where that is it."""
    if arrivals.held:
        return Refusal.of(Reason.MIGRATING)
    held = (member.pod for member in job.having(State.HELD))
    if refusal.reason is Reason.ADMISSION_GATED and replacements.awaited_by(snapshot, held):
        return Refusal.of(Reason.REPLACING)
    return refusal


def _project(job: Job, value: float, room: NodeTable, work: _Work) -> Plan | Refusal:
    """Plan a job on a room that is not free yet, as ``_attempt`` would."""
    was_whole = job.key in work.whole
    if work.gate is None:
        return planner.plan(job, room, work.params, value, was_whole=was_whole)

    def place(one: Job, there: NodeTable, targets: Mapping[Uid, NodeName]) -> Plan | Refusal:
        return planner.plan(one, there, work.params, value, was_whole=was_whole, targets=targets)

    return work.gate.through(job, room, place, really=False)


def _entry(ranked: Ranked, result: Plan | Refusal, work: _Work) -> QueueEntry:
    note = "; ".join(text for text in (*ranked.job.warnings, ranked.note) if text)
    entry = partial(QueueEntry, ranked.job, ranked.value, note=note, weight=ranked.weight)
    if isinstance(result, Refusal):
        return entry(result.reason, result.message)
    work.commands.append(result.release)
    return entry(Reason.RELEASING, Reason.RELEASING.message)


def _watch_partial(job: Job, work: _Work, *, completed: bool) -> None:
    """Rules 3 and 4 of ``repairing``."""
    now, params = work.reading.monotonic, work.params
    lacking = planner.missing(job) > 0 and not completed
    bound = len(job.having(State.BOUND))
    if not lacking and not bound:
        return  # every member has its seat and none is bound: kube-scheduler has the word
    most = work.memory.most_bound.get(job.key, 0)
    since = now
    if bound <= most and not completed:  # a burst that goes on is not broken, however long it takes
        since = work.memory.partial_since.get(job.key, now)
    patience = params.bind_burst_seconds + (0 if lacking else params.pin_lost_seconds)
    if now - since < patience:
        work.partial_since[job.key] = since
        work.most_bound[job.key] = max(bound, most)
        return
    work.commands.extend(repair.dissolve(job, "partial-gang"))
    work.dissolved.add(job.key)
    work.strike(job.key)


def _remember(
    work: _Work,
    seen: tuple[Job, ...],
    placed: set[str],
    told: Mapping[JobKey, Told],
) -> QueueState:
    alive = frozenset(work.snapshot.jobs)
    whole = [job for job in seen if job.key in work.whole]
    running, runs = running_jobs.remembered(work.memory, work.snapshot, whole, work.reading.now)
    still_open = {j.key for j in seen if repair.is_partial(j) or j.key in placed}
    seen_keys = {job.key for job in seen}
    return replace(
        work.memory,
        known=alive,
        complete=((work.memory.complete - seen_keys) | work.inferred) & alive - work.dissolved,
        open=frozenset(still_open),
        backoff=work.backoff,
        lost_since=work.lost_since,
        partial_since=work.partial_since,
        most_bound=work.most_bound,
        refused={u: n for u, n in work.memory.refused.items() if u in work.snapshot.seats},
        told=told,
        running=running,
        runs=runs,
        turned_away=_turned_away(work, seen),
    )


def _turned_away(work: _Work, seen: tuple[Job, ...]) -> frozenset[JobKey]:
    """Return the direct gangs that filter leaves to the queue, until their back-off is over too."""
    now, before = work.reading.monotonic, work.memory.turned_away
    backing_off = (k for k, b in work.backoff.items() if k in before and b.until > now)
    queued = (
        job.key
        for job in seen
        if scheduling_pass.waits_in_queue(job, work.memory, work.reading.now)
    )
    return frozenset(queued).union(backing_off, work.dissolved)


def _next_deadline(work: _Work, overdue_at: float | None) -> float | None:
    now, params = work.reading.monotonic, work.params
    deadlines = [
        *(b.until for b in work.backoff.values()),
        *(since + params.pin_lost_seconds for since in work.lost_since.values()),
        *(since + params.bind_burst_seconds for since in work.partial_since.values()),
    ]
    ahead = [deadline - now for deadline in deadlines if deadline > now]
    if overdue_at is not None:
        ahead.append(overdue_at - work.reading.now)
    return min(ahead, default=None)
