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

from msgspec.structs import replace

from extender.engine import (
    copies,
    direct,
    durations,
    jobs,
    ordering,
    planning,
    refusing,
    repairing,
    sharing,
    tenants,
    unplaceable,
)
from extender.engine.admission import gate as gating
from extender.engine.admission.gate import Gate
from extender.engine.commands import Command, ReleaseGang
from extender.engine.jobs import Job, Member, State
from extender.engine.memory import Backoff, Memory, Reading, Told, strike
from extender.engine.migration import aiming, reserving
from extender.engine.migration.reserving import NOBODY, Arrivals
from extender.engine.ordering import Ranked
from extender.engine.parameters import EngineParameters
from extender.engine.planning import Plan, Refusal
from extender.engine.reasons import MESSAGES, Reason
from extender.engine.scaling import yielding
from extender.engine.sharing import Shares
from extender.engine.snapshot import Snapshot
from extender.engine.steps import Steps, in_full
from extender.engine.telling import QueueEntry, tell
from extender.engine.waiting import Line
from extender.policy.reservation import Reservation, Tenant
from extender.policy.room import Room
from shared.model import JobKey, NodeName, Uid


@dataclass(frozen=True)
class Cycle:
    """What one cycle decided.

    Attributes:
        entries: The queue in order, the released ones of this cycle included.
        commands: In the order in which they are to be carried out.
        memory: For the next cycle.
        wake_after_seconds: When a deadline of ours passes; None if none is open.
        holder: For which job room is kept, and which; None if for none.
    """

    entries: tuple[QueueEntry, ...]
    commands: tuple[Command, ...]
    memory: Memory
    wake_after_seconds: float | None
    holder: Reservation | None = None


@dataclass
class _Work:
    """What one cycle carries from step to step; never leaves this module."""

    snapshot: Snapshot
    params: EngineParameters
    reading: Reading
    memory: Memory
    room: Room
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
        self.shares = sharing.shares(self.snapshot, self.params)
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


def cycle(snapshot: Snapshot, memory: Memory, reading: Reading, params: EngineParameters) -> Cycle:
    """Decide one cycle. The same arguments give the same answer."""
    return in_full(steps(snapshot, memory, reading, params))


def steps(
    snapshot: Snapshot, memory: Memory, reading: Reading, params: EngineParameters
) -> Steps[Cycle]:
    """Decide what ``cycle`` decides, with a pause after each job.

    Between two pauses no more is done than to look at one job, on the snapshot of the beginning.
    """
    seen = yield from _view(snapshot, memory)
    work = _Work(snapshot, params, reading, memory, snapshot.room)
    work.backoff = {k: b for k, b in memory.backoff.items() if k in snapshot.jobs}
    work.whole = {job.key for job in seen if repairing.is_whole(job, snapshot)}
    others = (job for job in seen if job.key not in work.whole)
    work.inferred = {job.key for job in others if repairing.was_whole(job, memory)}
    work.whole |= work.inferred
    work.arrivals = reserving.arrivals(snapshot)
    work.commands += copies.unfinished(snapshot)
    _mend(seen, work)
    queued = tuple(job for job in seen if _is_queued(job, work))
    ranked = ordering.ordered(queued, snapshot, params, reading.now)
    line = _line(work)
    results = yield from line.steps(ranked)
    entries = [_entry(one, result, work) for one, result in results]
    work.room = line.room
    placed = {command.job for command in work.commands if isinstance(command, ReleaseGang)}
    for job in seen:
        if repairing.is_partial(job) and job.key not in work.whole:
            _watch_partial(job, work, completed=job.key in placed)
    for entry in entries:
        work.commands += unplaceable.shown([entry], snapshot, params, reading.now)
        yield
    told, notices = tell(entries, memory.told, reading.now)
    return Cycle(
        entries=tuple(entries),
        commands=(*work.commands, *notices),
        memory=_remember(work, seen, placed, told),
        wake_after_seconds=_next_deadline(work, line.next_deadline),
        holder=line.holder,
    )


def _view(snapshot: Snapshot, memory: Memory) -> Steps[tuple[Job, ...]]:
    fresh = not memory.known  # the first cycle after a start looks at every job once
    keys = set(snapshot.jobs) if fresh else set(snapshot.waiting) | memory.open
    keys = keys & set(snapshot.jobs)
    snapshot.memo.views.trim(keys)
    seen: list[Job] = []
    for key in sorted(keys):
        seen.append(jobs.view(snapshot, key))
        yield
    return tuple(seen)


def _is_queued(job: Job, work: _Work) -> bool:
    gated = job.having(State.GATED, State.HELD)
    return bool(gated) or direct.stands_in_line(job, work.memory, work.reading.now)


def _mend(seen: tuple[Job, ...], work: _Work) -> None:
    lost = repairing.lost_seats(work.snapshot, work.memory)
    for job in seen:
        moves, work.room = repairing.moves(job, lost, work.room, work.memory)
        for move in moves:
            if move.to is not None:
                work.commands.append(repairing.rewrite(move.member, move.to, work.snapshot))
                continue
            _count_lost(move.member, job, work)
        for member in repairing.without_a_node(job, work.room, work.memory):
            _count_lost(member, job, work)


def _count_lost(member: Member, job: Job, work: _Work) -> None:
    """Rule 2 of ``repairing``."""
    since = work.memory.lost_since.get(member.pod.uid, work.reading.monotonic)
    work.lost_since[member.pod.uid] = since
    if work.reading.monotonic - since >= work.params.pin_lost_seconds:
        work.commands.append(repairing.give_back(member, "pin-lost"))
        work.strike(job.key)


def _line(work: _Work) -> Line:
    """Return the nodes as the waiting jobs will find them."""
    snapshot, memory, reading = work.snapshot, work.memory, work.reading
    stale_seconds = work.params.migration.stale_seconds

    def running() -> tuple[Tenant, ...]:
        found = tenants.running(snapshot, memory, reading, stale_seconds)
        return tuple(one.tenant for one in found)

    return Line(
        room=work.room,
        now=reading.now,
        params=work.params.waiting,
        attempt=lambda job, value, room: _attempt(job, value, room, work),
        project=lambda job, value, room: _project(job, value, room, work),
        tenants=running,
        lasts=lambda job: durations.lasts(job, snapshot, memory, reading, stale_seconds),
        owed={key for key, arrivals in work.arrivals.items() if arrivals.targets},
        shares=work.shares,
        awaited=yielding.starters(snapshot, reading.now),
    )


def _attempt(job: Job, value: float, room: Room, work: _Work) -> Plan | Refusal:
    backoff = work.backoff.get(job.key)
    if backoff and work.reading.monotonic < backoff.until:
        return Refusal(Reason.BACKING_OFF, MESSAGES[Reason.BACKING_OFF])
    was_whole, arrivals = job.key in work.whole, work.arrivals.get(job.key, NOBODY)
    held = reserving.holding(job, arrivals.held)
    within = held if arrivals.targets else work.shares.within(held)
    if isinstance(within, Refusal):
        return within

    def place(one: Job, there: Room, targets: Mapping[Uid, NodeName]) -> Plan | Refusal:
        return refusing.plan(
            work.snapshot.memo,
            one,
            there,
            work.params,
            value,
            was_whole=was_whole,
            targets=targets,
            rule=aiming.MIGRATION if arrivals.targets else aiming.SLOT_PLAN,
        )

    if arrivals.targets:
        result = place(within, reserving.without_kept(room, arrivals.kept), arrivals.targets)
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
        return Refusal(Reason.MIGRATING, MESSAGES[Reason.MIGRATING])
    held = (member.pod for member in job.having(State.HELD))
    if refusal.reason is Reason.ADMISSION_GATED and copies.awaited_by(snapshot, held):
        return Refusal(Reason.REPLACING, MESSAGES[Reason.REPLACING])
    return refusal


def _project(job: Job, value: float, room: Room, work: _Work) -> Plan | Refusal:
    """Plan a job on a room that is not free yet, as ``_attempt`` would."""
    was_whole = job.key in work.whole
    if work.gate is None:
        return planning.plan(job, room, work.params, value, was_whole=was_whole)

    def place(one: Job, there: Room, targets: Mapping[Uid, NodeName]) -> Plan | Refusal:
        return planning.plan(one, there, work.params, value, was_whole=was_whole, targets=targets)

    return work.gate.through(job, room, place, really=False)


def _entry(ranked: Ranked, result: Plan | Refusal, work: _Work) -> QueueEntry:
    note = "; ".join(text for text in (*ranked.job.warnings, ranked.note) if text)
    entry = partial(QueueEntry, ranked.job, ranked.value, note=note, weight=ranked.weight)
    if isinstance(result, Refusal):
        return entry(result.reason, result.message)
    work.commands.append(result.release)
    return entry(Reason.RELEASING, MESSAGES[Reason.RELEASING])


def _watch_partial(job: Job, work: _Work, *, completed: bool) -> None:
    """Rules 3 and 4 of ``repairing``."""
    now, params = work.reading.monotonic, work.params
    lacking = planning.missing(job) > 0 and not completed
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
    work.commands.extend(repairing.dissolve(job, "partial-gang"))
    work.dissolved.add(job.key)
    work.strike(job.key)


def _remember(
    work: _Work,
    seen: tuple[Job, ...],
    placed: set[str],
    told: Mapping[JobKey, Told],
) -> Memory:
    alive = frozenset(work.snapshot.jobs)
    whole = [job for job in seen if job.key in work.whole]
    running, runs = durations.remembered(work.memory, work.snapshot, whole, work.reading.now)
    still_open = {j.key for j in seen if repairing.is_partial(j) or j.key in placed}
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
    queued = (job.key for job in seen if direct.stands_in_line(job, work.memory, work.reading.now))
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
