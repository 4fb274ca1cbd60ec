"""The scheduling pass with EASY backfill: at most one waiting job holds a reservation.

1. Jobs for which others give up workers go first, then those whose maximum wait is over, the oldest
   deadline first, as long as they fit, whatever their namespace.
2. The first of them that does not fit now, but would once others have ended, is the backfill head:
   room is kept for it (``backfill.reserve``). One that would never fit is skipped with that reason.
3. The others follow in their order; with fair share the namespaces take turns, and that order holds
   inside each (``namespace_shares``). Without a backfill head the first of them that does not fit
   becomes it, as far as the settings say (``KeepsRoom``). While there is one, a job starts only if
   the head starts no later for it.
4. Last come workers that their job can do without: growth delays no job that could start.

No state is kept: the backfill head follows from the snapshot and the clock. A gang that has members
and lacks some is completed whatever is kept, or it would be dissolved.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Final, Protocol

from extender.core.cluster.commands import ReleaseGang
from extender.core.cluster.jobs import PLANNED_STATES, UNPLANNED_STATES, Job, State, in_order
from extender.core.cluster.reason_record import Room
from extender.core.cluster.reasons import Reason
from extender.core.cluster.session import Steps, in_full
from extender.core.nodes.node_table import NodeTable
from extender.core.parameters.queue import BackfillParameters, KeepsRoom
from extender.core.placement import planner
from extender.core.placement.planner import Plan, Refusal
from extender.core.queue import backfill
from extender.core.queue.backfill import HeadReservation, PlacedPods, RunningJob, Waiter
from extender.core.queue.namespace_shares import Shares
from extender.core.queue.order import Ranked
from extender.core.queue.state import QueueState
from shared.model import JobKey, Node, NodeName, Uid

Attempt = Callable[[Job, float, NodeTable], Plan | Refusal]
"""Plans a job of that V on the free amounts of nodes."""


@dataclass(frozen=True)
class Placed:
    """A job that was placed. Its plan's table of nodes is not kept: a pass may place thousands.

    Attributes:
        nodes: Node of every pod.
        release: The command that releases them.
    """

    nodes: Mapping[Uid, NodeName]
    release: ReleaseGang


Result = Placed | Refusal


class Attempts(Protocol):
    """Plans for one job, and the jobs that run."""

    def plan(self, job: Job, value: float, table: NodeTable) -> Plan | Refusal:
        """Plan a job of that V on what is free now."""
        ...

    def project(self, job: Job, value: float, table: NodeTable) -> Plan | Refusal:
        """Plan a job on what will be free, as ``plan`` would."""
        ...

    def running_jobs(self) -> Sequence[RunningJob]:
        """Return the jobs that run; called only if a job may become the backfill head."""
        ...

    def lasts(self, job: Job, nodes: Iterable[Node] | None = None) -> float | None:
        """Return how long a job that starts now takes nodes, in seconds; None if unknown.

        ``nodes``: on which it starts; None: on any that it states.
        """
        ...


@dataclass(kw_only=True)
class SchedulingPass:
    """Waiting jobs placed one after the other. Mutable; it belongs to one pass.

    Attributes:
        table: What is free; less with every job that is placed.
        now: Seconds since the epoch.
        params: See there.
        attempts: Plans jobs.
        owed: Jobs that have reservations already: their members move.
        shares: What namespaces hold, for fair share; None: all jobs are of one namespace.
        awaited: Jobs for which others give up workers, the first in front.
        backfill_head: The job for which room is kept, and what is kept.
        next_deadline: When the next maximum wait is over; None if none will be.
    """

    table: NodeTable
    now: float
    params: BackfillParameters
    attempts: Attempts
    owed: Collection[JobKey] = ()
    shares: Shares | None = None
    awaited: Sequence[JobKey] = ()
    backfill_head: HeadReservation | None = None
    next_deadline: float | None = None
    _head: Ranked | None = None
    _open: tuple[HeadReservation, NodeTable, NodeTable] | None = None
    _tries: int = 0
    _unkept: bool = False
    _started: list[RunningJob] = field(default_factory=list)
    _running: Sequence[RunningJob] | None = None

    def results(self, ranked: Sequence[Ranked]) -> list[tuple[Ranked, Result]]:
        """Place what can be placed; return every job with what came of it, in order of turns."""
        return in_full(self.steps(ranked))

    def steps(self, ranked: Sequence[Ranked]) -> Steps[list[tuple[Ranked, Result]]]:
        """Do what ``results`` does, and pause after each job and each class of pods."""
        first = yield from self._in_front(ranked)
        early = {place.job.key: result for place, result in first}
        done = [(place, result) for place, result in first if _decided(result)]
        decided = {place.job.key for place, _ in done}
        for place in self._turns([place for place in ranked if place.job.key not in decided]):
            if (result := early.get(place.job.key)) is None:
                yield from self._prepare(place.job)
                result = self._next(place)
            done.append((place, result))
            yield
        return done

    def _prepare(self, job: Job) -> Steps[None]:
        """Find the nodes of each class of a job's pods, so that planning finds them ready."""
        for shape in planner.unplanned_shapes(job):
            self.table.classes.mask(shape)
            yield

    def _turns(self, rest: Sequence[Ranked]) -> Iterable[Ranked]:
        """Return the jobs in turn, whole ones first; lazily, as turns depend on what was given."""
        in_turn = self.shares.in_turn if self.shares is not None else iter
        late = [place for place in rest if _can_wait(place.job)]
        if not late:
            return in_turn(rest)
        whole = [place for place in rest if not _can_wait(place.job)]
        return chain.from_iterable(map(in_turn, (whole, late)))

    def _in_front(self, ranked: Sequence[Ranked]) -> Steps[list[tuple[Ranked, Result]]]:
        """Place the jobs that go first, up to the one that becomes the backfill head."""
        done: list[tuple[Ranked, Result]] = []
        for place, why in self._first(ranked):
            yield from self._prepare(place.job)
            result = self._start(place, self.table)
            if isinstance(result, Refusal) and _may_hold(place.job, result):
                self._reserve(place)
                reason = why if self.backfill_head else Reason.GANG_TOO_LARGE
                if self.backfill_head or why is Reason.MAX_WAIT_DRAINING:
                    result = Refusal.of(reason)
            elif isinstance(result, Refusal) and self.shares is not None:
                self.shares.keep_for(place.job, result)
            done.append((place, result))
            if self.backfill_head:
                break
            yield
        return done

    def _first(self, ranked: Sequence[Ranked]) -> Iterator[tuple[Ranked, Reason]]:
        """Yield the jobs that go first, with the reason of each if it becomes the head."""
        overdue = {place.job.key: place for place in self._past_deadline(ranked)}
        if self.awaited:
            by_key = {place.job.key: place for place in ranked}
            for key in self.awaited:
                if key in by_key:
                    yield by_key[key], Reason.AWAITING_ROOM
        places = (place for key, place in overdue.items() if key not in self.awaited)
        waiters = (_waiter(place.job) for place in places)
        for key in backfill.in_turn(waiters, self.params, self.now):
            yield overdue[key], Reason.MAX_WAIT_DRAINING

    def _past_deadline(self, ranked: Iterable[Ranked]) -> Iterator[Ranked]:
        for place in ranked:
            job = place.job
            if _can_wait(job):
                continue
            at = backfill.deadline(job.created_at, job.spec.max_wait_seconds, self.params)
            if at is None:
                continue
            if at <= self.now:
                yield place
            elif self.next_deadline is None or at < self.next_deadline:
                self.next_deadline = at

    def _next(self, place: Ranked) -> Result:
        job, head = place.job, self.backfill_head
        if head is None:
            result = self._start(place, self.table)
            if isinstance(result, Refusal) and self._may_be_next(job, result):
                self._reserve_next(place)
            return result
        if job.key in self.owed or _lacks_members(job):
            result = self._start(place, self.table)
            if isinstance(result, Placed) and self._head:
                self._reserve(self._head)
            return result
        if backfill.gone_in_time(head, self.now, self.attempts.lasts(job)):
            return self._start(place, self.table)
        return self._backfill(place, head)

    def _may_be_next(self, job: Job, refusal: Refusal) -> bool:
        """Return True if a job may become the head because it is the first that does not fit."""
        if self.params.keeps_room is KeepsRoom.OVERDUE or self._unkept:
            return False
        lacks_room = refusal.reason.lacks_room and _may_hold(job, refusal)
        return lacks_room and self._tries < self.params.passing_tries

    def _reserve_next(self, place: Ranked) -> None:
        """Make a job the backfill head, unless it never fits or its start is not known."""
        self._tries += 1
        self._reserve(place)
        head, keeps = self.backfill_head, self.params.keeps_room
        if head and head.starts_at is None and keeps is KeepsRoom.NEXT_IF_KNOWN:
            self.backfill_head, self._head, self._unkept = None, None, True

    def _backfill(self, place: Ranked, head: HeadReservation) -> Result:
        """Place a job that stays beyond the head's start: beside the nodes that are kept.

        If that fails, other nodes are kept for the head where that makes room.
        """
        plan = self.attempts.plan(place.job, place.value.v, self._open_nodes(head))
        if isinstance(plan, Plan):
            pods = placed_pods(place.job, plan.placement.nodes, self.table)
            self.backfill_head = backfill.with_pods(head, pods)
            return self._take(place.job, plan, pods, self.table.with_pods(pods))
        if not plan.reason.time_helps:
            return plan
        plan = self.attempts.plan(place.job, place.value.v, self.table)
        if isinstance(plan, Refusal):
            return plan
        pods = placed_pods(place.job, plan.placement.nodes, self.table)
        if self._tries < self.params.passing_tries and self._head:
            self._tries += 1
            if beside := backfill.beside(head, pods, self._place_head(self._head)):
                self.backfill_head = beside
                return self._take(place.job, plan, pods, plan.placement.node_table)
        return Refusal.of(Reason.BEHIND_RESERVATION)

    def _open_nodes(self, head: HeadReservation) -> NodeTable:
        """Return the very same table until a job is placed, so that its refusals stay cached."""
        if self._open is None or self._open[0] is not head or self._open[1] is not self.table:
            self._open = (head, self.table, backfill.open_nodes(head, self.table))
        return self._open[2]

    def _start(self, place: Ranked, table: NodeTable) -> Result:
        plan = self.attempts.plan(place.job, place.value.v, table)
        if isinstance(plan, Refusal):
            return plan
        pods = placed_pods(place.job, plan.placement.nodes, table)
        return self._take(place.job, plan, pods, plan.placement.node_table)

    def _take(self, job: Job, plan: Plan, pods: PlacedPods, table: NodeTable) -> Placed:
        """Go on with a table that has the job in it."""
        self.table = table
        if self.shares is not None:
            self.shares.take(job, pods)
        lasts = self.attempts.lasts(job, [table.nodes[row] for _, row in pods])
        ends_at = None if lasts is None else self.now + lasts
        self._started.append(RunningJob(job.key, self.now, ends_at, pods))
        return Placed(plan.placement.nodes, plan.release)

    def _reserve(self, place: Ranked) -> None:
        """Make a job the backfill head, if it would fit once others have ended."""
        if self._running is None:
            self._running = self.attempts.running_jobs()
        running = (*self._running, *self._started)
        place_head = self._place_head(place)
        self.backfill_head = backfill.reserve(
            place.job.key, self.table, running, place_head, self.now
        )
        self._head = place if self.backfill_head else None

    def _place_head(self, place: Ranked) -> backfill.PlaceHead:
        return place_head(place.job, place.value.v, self.attempts.project)


def place_head(job: Job, value: float, attempt: Attempt) -> backfill.PlaceHead:
    """Return a function that places the members that the gang of a job needs, and no more."""
    needed = _needed(job)

    def place(table: NodeTable) -> NodeTable | None:
        result = attempt(needed, value, table)
        return result.placement.node_table if isinstance(result, Plan) else None

    return place


def placed_pods(job: Job, nodes: Mapping[Uid, NodeName], table: NodeTable) -> PlacedPods:
    """Return where a plan puts the job's members."""
    shapes = {member.pod.uid: member.shape for member in job.members}
    return [(shapes[uid], table.index[node]) for uid, node in nodes.items()]


def _waiter(job: Job) -> Waiter:
    return Waiter(job.key, job.about.uid, job.created_at, job.spec.max_wait_seconds)


def _decided(result: Result) -> bool:
    """Return True if a job that goes first was placed, or is the backfill head."""
    return isinstance(result, Placed) or result.reason.room is Room.KEPT


def _may_hold(job: Job, refusal: Refusal) -> bool:
    """Return True if the whole gang waits, and for nothing but room."""
    return refusal.reason.may_reserve and planner.missing(job) > 0


def _can_wait(job: Job) -> bool:
    """Return True if only workers wait that their elastic job can do without."""
    return (
        job.spec.workers is not None
        and planner.missing(job) == 0
        and bool(job.having(State.BOUND, *PLANNED_STATES))
    )


def _lacks_members(job: Job) -> bool:
    """Return True if a gang that has members lacks some of those it needs."""
    return planner.missing(job) > 0 and bool(job.having(State.BOUND, State.RESERVED, State.LOOSE))


def _needed(job: Job) -> Job:
    """Return the job with no more unplaced members than its gang needs."""
    unplaced = in_order(job.having(*UNPLANNED_STATES))
    extra = {m.pod.uid for m in unplaced[planner.missing(job) :]}
    if not extra:
        return job
    return replace(job, members=tuple(m for m in job.members if m.pod.uid not in extra))


UNASKED_SECONDS: Final = 30.0
"""kube-scheduler calls filter for a new pod at once, or in its turn. A pod for which it makes no
call for this long does not pass its own filters."""


UNKNOWN_SECONDS: Final = 3.0
"""The same after a start, when it is not known which gangs filter turned away before."""


def waits_in_queue(job: Job, state: QueueState, now_seconds: float) -> bool:
    """Return True if a job waits in the queue because of its direct members.

    Filter comes first: it plans a gang when kube-scheduler calls it. So a direct gang waits in the
    queue after filter turned it away, or if no call came for long. A single pod never does.
    Released pods whose reservation is missing or not ours wait there too: filter gives them none.
    """
    members = job.having(State.DIRECT)
    if not members or job.kept:
        return False
    if any(m.unreserved for m in members):
        return True
    if job.key in state.turned_away:
        return True
    patience = UNASKED_SECONDS if state.known else UNKNOWN_SECONDS
    oldest = min(m.pod.created_at for m in members)
    return job.min_available != 1 and now_seconds - oldest >= patience
