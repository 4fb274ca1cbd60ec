"""Whose turn it is: waiting jobs placed one after the other, with room kept for one of them.

1. Jobs for which others give up workers go first, then those whose maximum wait is over, the oldest
   deadline first, as long as they fit, whichever namespace they are of.
2. The first of them that does not fit now, but would once others have ended, is the holder: room is
   kept for it (``backfill``). One that would never fit is passed over and says so.
3. The others follow in their order; with fair share the namespaces take turns, and that order holds
   inside each (``sharing``). While there is a holder, a job starts only if the holder starts no
   later for it (``backfill``).
4. Last come workers that their job can do without: growth delays nobody who could start.

Nothing is remembered: the holder follows from the snapshot and the clock. A gang that has members
and lacks some is no newcomer: it is completed whatever is kept, or it would be dissolved.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Final

from extender.core.cluster.jobs import PLANNED_STATES, UNPLANNED_STATES, Job, State, in_order
from extender.core.cluster.reason_record import Room
from extender.core.cluster.reasons import Reason
from extender.core.cluster.steps import Steps, in_full
from extender.core.nodes.node_table import NodeTable
from extender.core.parameters.queue import BackfillParameters
from extender.core.placement import planner
from extender.core.placement.planner import Plan, Refusal
from extender.core.queue import backfill
from extender.core.queue.backfill import Reservation, RunningJob, Seats, Waiter
from extender.core.queue.namespace_shares import Shares
from extender.core.queue.order import Ranked
from extender.core.queue.state import QueueState
from shared.model import JobKey

Result = Plan | Refusal


Attempt = Callable[[Job, float, NodeTable], Result]
"""Plans a job of that V on a room."""


@dataclass
class SchedulingPass:
    """The waiting jobs before the nodes, in one cycle. Mutable, and never leaves the cycle.

    Attributes:
        room: What is free; less with every job that is placed.
        now: Seconds since the epoch.
        params: See there.
        attempt: Plans a job on a room that is free now.
        project: The same on one that will be free.
        tenants: Says who runs; asked only if there is a holder.
        lasts: How long a job that starts now takes room, in seconds; None if unknown.
        owed: Jobs whose room is theirs already: their members move.
        shares: What namespaces hold, for whose turn it is; None: all jobs are of one.
        awaited: Jobs for which others give up workers, the first in front.
        holder: For whom room is kept, and which.
        next_deadline: When the next maximum wait is over; None if none will be.
    """

    room: NodeTable
    now: float
    params: BackfillParameters
    attempt: Attempt
    project: Attempt
    tenants: Callable[[], Sequence[RunningJob]]
    lasts: Callable[[Job], float | None]
    owed: Collection[JobKey] = ()
    shares: Shares | None = None
    awaited: Sequence[JobKey] = ()
    holder: Reservation | None = None
    next_deadline: float | None = None
    _held_for: Ranked | None = None
    _open: tuple[Reservation, NodeTable, NodeTable] | None = None
    _tries: int = 0
    _started: list[RunningJob] = field(default_factory=list)
    _running: Sequence[RunningJob] | None = None

    def results(self, ranked: Sequence[Ranked]) -> list[tuple[Ranked, Result]]:
        """Place what can be placed; return every job with what came of it, in order of turns."""
        return in_full(self.steps(ranked))

    def steps(self, ranked: Sequence[Ranked]) -> Steps[list[tuple[Ranked, Result]]]:
        """Do what ``results`` does, and pause after each job and each class of pods."""
        first = yield from self._in_front(ranked)
        turned = {one.job.key: result for one, result in first if _decided(result)}
        rest = [one for one in ranked if one.job.key not in turned]
        early = {one.job.key: result for one, result in first}
        done = [(one, result) for one, result in first if one.job.key in turned]
        for one in self._turns(rest):
            if (result := early.get(one.job.key)) is None:
                yield from self._prepare(one.job)
                result = self._next(one)
            done.append((one, result))
            yield
        return done

    def _prepare(self, job: Job) -> Steps[None]:
        """Find the nodes of each class of a job's pods, so that planning finds them ready."""
        for shape in planner.classes(job):
            self.room.classes.mask(shape)
            yield

    def _turns(self, rest: Sequence[Ranked]) -> Iterable[Ranked]:
        """Return the jobs in turn, whole ones first; lazily, as turns depend on what was given."""
        in_turn = self.shares.in_turn if self.shares is not None else iter
        late = [one for one in rest if _can_wait(one.job)]
        if not late:
            return in_turn(rest)
        whole = [one for one in rest if not _can_wait(one.job)]
        return chain.from_iterable(map(in_turn, (whole, late)))

    def _in_front(self, ranked: Sequence[Ranked]) -> Steps[list[tuple[Ranked, Result]]]:
        """Place those who go first, up to the one that becomes the holder."""
        done: list[tuple[Ranked, Result]] = []
        for one, why in self._first(ranked):
            yield from self._prepare(one.job)
            result = self._start(one, self.room)
            if isinstance(result, Refusal) and _may_hold(one.job, result):
                self._hold(one)
                reason = why if self.holder else Reason.GANG_TOO_LARGE
                if self.holder or why is Reason.MAX_WAIT_DRAINING:
                    result = Refusal.of(reason)
            elif isinstance(result, Refusal) and self.shares is not None:
                self.shares.keep_for(one.job, result)
            done.append((one, result))
            if self.holder:
                break
            yield
        return done

    def _first(self, ranked: Sequence[Ranked]) -> Iterator[tuple[Ranked, Reason]]:
        """Yield who goes first, and what it is told if it becomes the holder."""
        overdue = {one.job.key: one for one in self._past_deadline(ranked)}
        if self.awaited:
            by_key = {one.job.key: one for one in ranked}
            for key in self.awaited:
                if key in by_key:
                    yield by_key[key], Reason.AWAITING_ROOM
        waiters = (_waiter(one.job) for one in overdue.values() if one.job.key not in self.awaited)
        for key in backfill.in_turn(waiters, self.params, self.now):
            yield overdue[key], Reason.MAX_WAIT_DRAINING

    def _past_deadline(self, ranked: Iterable[Ranked]) -> Iterator[Ranked]:
        for one in ranked:
            job = one.job
            if _can_wait(job):
                continue
            at = backfill.deadline(job.created_at, job.spec.max_wait_seconds, self.params)
            if at is None:
                continue
            if at <= self.now:
                yield one
            elif self.next_deadline is None or at < self.next_deadline:
                self.next_deadline = at

    def _next(self, one: Ranked) -> Result:
        holder = self.holder
        if holder is None:
            return self._start(one, self.room)
        if one.job.key in self.owed or _lacks_members(one.job):
            result = self._start(one, self.room)
            if isinstance(result, Plan) and self._held_for:
                self._hold(self._held_for)
            return result
        if backfill.gone_in_time(holder, self.now, self.lasts(one.job)):
            return self._start(one, self.room)
        return self._pass(one, holder)

    def _pass(self, one: Ranked, holder: Reservation) -> Result:
        """Place a job that stays longer: beside the holder's seats, else if those can be others."""
        result = self.attempt(one.job, one.value.v, self._open_room(holder))
        if isinstance(result, Plan):
            seats = seats_of(one.job, result, self.room)
            self.holder = backfill.with_pods(holder, seats)
            self._take(one.job, seats, self.room.with_pods(seats))
            return result
        if not result.reason.time_helps:
            return result
        result = self.attempt(one.job, one.value.v, self.room)
        if isinstance(result, Refusal):
            return result
        seats = seats_of(one.job, result, self.room)
        if self._tries < self.params.passing_tries and self._held_for:
            self._tries += 1
            if beside := backfill.beside(holder, seats, self._seat(self._held_for)):
                self.holder = beside
                self._take(one.job, seats, result.placement.room)
                return result
        return Refusal.of(Reason.BEHIND_RESERVATION)

    def _open_room(self, holder: Reservation) -> NodeTable:
        """Return the very same room until somebody takes a seat: what it refused is remembered."""
        if self._open is None or self._open[0] is not holder or self._open[1] is not self.room:
            self._open = (holder, self.room, backfill.open_room(holder, self.room))
        return self._open[2]

    def _start(self, one: Ranked, room: NodeTable) -> Result:
        result = self.attempt(one.job, one.value.v, room)
        if isinstance(result, Plan):
            self._take(one.job, seats_of(one.job, result, room), result.placement.room)
        return result

    def _take(self, job: Job, seats: Seats, room: NodeTable) -> None:
        self.room = room
        if self.shares is not None:
            self.shares.take(job, seats)
        lasts = self.lasts(job)
        ends_at = None if lasts is None else self.now + lasts
        self._started.append(RunningJob(job.key, self.now, ends_at, seats))

    def _hold(self, one: Ranked) -> None:
        """Keep room for a job, if it would fit once others have ended."""
        if self._running is None:
            self._running = self.tenants()
        everybody = (*self._running, *self._started)
        seat = self._seat(one)
        self.holder = backfill.reserve(one.job.key, self.room, everybody, seat, self.now)
        self._held_for = one if self.holder else None

    def _seat(self, one: Ranked) -> backfill.Seat:
        return seat_of(one.job, one.value.v, self.project)


def seat_of(job: Job, value: float, attempt: Attempt) -> backfill.Seat:
    """Return what places the members that the gang of a job needs, and no more."""
    needed = _needed(job)

    def seat(room: NodeTable) -> NodeTable | None:
        result = attempt(needed, value, room)
        return result.placement.room if isinstance(result, Plan) else None

    return seat


def seats_of(job: Job, plan: Plan, room: NodeTable) -> Seats:
    """Return where a plan puts the job's members."""
    shapes = {member.pod.uid: member.shape for member in job.members}
    return [(shapes[uid], room.index[node]) for uid, node in plan.placement.nodes.items()]


def _waiter(job: Job) -> Waiter:
    return Waiter(job.key, job.about.uid, job.created_at, job.spec.max_wait_seconds)


def _decided(result: Result) -> bool:
    """Say whether a job stands in front: it was placed, or it is the holder."""
    return isinstance(result, Plan) or result.reason.room is Room.KEPT


def _may_hold(job: Job, refusal: Refusal) -> bool:
    """Say whether the whole gang waits, and for nothing but room."""
    return refusal.reason.may_reserve and planner.missing(job) > 0


def _can_wait(job: Job) -> bool:
    """Say whether only workers wait that their elastic job can do without."""
    return (
        job.spec.workers is not None
        and planner.missing(job) == 0
        and bool(job.having(State.BOUND, *PLANNED_STATES))
    )


def _lacks_members(job: Job) -> bool:
    """Say whether a gang that has members lacks some of those it needs."""
    return planner.missing(job) > 0 and bool(job.having(State.BOUND, State.SEATED, State.LOOSE))


def _needed(job: Job) -> Job:
    """Return the job with no more unplaced members than its gang needs."""
    unplaced = in_order(job.having(*UNPLANNED_STATES))
    extra = {m.pod.uid for m in unplaced[planner.missing(job) :]}
    if not extra:
        return job
    return replace(job, members=tuple(m for m in job.members if m.pod.uid not in extra))


UNASKED_SECONDS: Final = 30.0
"""kube-scheduler asks about a new pod at once, or in its turn; one it does not ask about for so
long does not pass its own filters."""


UNKNOWN_SECONDS: Final = 3.0


def waits_in_queue(job: Job, memory: QueueState, now_seconds: float) -> bool:
    """Say whether a job waits in the queue for its direct members' sake.

    Filter comes first: it plans a gang when it is asked about it. So a direct gang stands in the
    queue when filter turned it away, or was not asked for long (after a start of ours, when we do
    not know whom an earlier life turned away: not for a while). A single pod never does. Released
    pods whose seat is missing or not ours wait there too: filter seats none of them.
    """
    members = job.having(State.DIRECT)
    if not members or job.kept:
        return False
    if any(m.unseated for m in members):
        return True
    if job.key in memory.turned_away:
        return True
    patience = UNASKED_SECONDS if memory.known else UNKNOWN_SECONDS
    oldest = min(m.pod.created_at for m in members)
    return job.min_available != 1 and now_seconds - oldest >= patience
