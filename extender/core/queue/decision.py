"""One pass of the queue: every waiting job, in order, on one snapshot.

1. View the jobs that wait, hold reservations or were left partial.
2. Repair released pods whose nodes were lost (``repair``).
3. Order the jobs that have members to place (``order``).
4. Place them one after the other, each as a whole, on what the ones before left (``attempts``); a
   job whose maximum wait is over goes first, and room is kept for it (``scheduling_pass``). A pod
   that takes the place of one that moves waits for it, then goes where its migration says
   (``records.migrations``).
5. Dissolve gangs that stay partial and cannot be completed.
6. Show to autoscalers the jobs that wait for nodes that do not exist (``unplaceable``).
7. Explain why the others wait: the condition where its token changed, one Event per job and change
   (``notices``).
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from msgspec.structs import replace
from typing_extensions import override

from extender.core.cluster import job_views, replacements
from extender.core.cluster import session as protocol
from extender.core.cluster.commands import ChangeOwner, Command, ReleaseGang
from extender.core.cluster.jobs import Job, Member, State
from extender.core.cluster.reasons import Reason
from extender.core.cluster.session import Decision, Outcome, Session, Steps, in_full, strike
from extender.core.cluster.snapshot import Snapshot
from extender.core.nodes import leaving
from extender.core.parameters.queue import Order
from extender.core.placement import planner, release
from extender.core.placement.planner import Refusal
from extender.core.queue import (
    namespace_shares,
    notices,
    order,
    repair,
    running_jobs,
    scheduling_pass,
    slot_gate,
    unplaceable,
)
from extender.core.queue.attempts import PassAttempts
from extender.core.queue.backfill import HeadReservation
from extender.core.queue.namespace_shares import Shares
from extender.core.queue.notices import QueueEntry
from extender.core.queue.order import Ranked
from extender.core.queue.parked import ParkedJobs
from extender.core.queue.scheduling_pass import Placed, Result, SchedulingPass
from extender.core.queue.slot_gate import Gate
from extender.core.queue.state import Notice, QueueState, QueueTrigger, price, refuse, turn_away
from extender.core.records import elastic_workers, migrations, parked_jobs, parking
from extender.core.records.migrations import Replacements
from shared.model import JobKey, Uid


@dataclass(frozen=True, kw_only=True)
class QueueOutcome(Outcome[QueueState, Command]):
    """What one pass decided.

    Attributes:
        entries: The queue in order, the jobs released by this pass included.
        wake_after_seconds: When one of our deadlines passes; None if none is open.
        backfill_head: The one job that holds a reservation, and what is kept for it; None if no
            job does.
        resumes: The writes that keep places for parked jobs.
    """

    entries: tuple[QueueEntry, ...]
    wake_after_seconds: float | None
    backfill_head: HeadReservation | None = None
    resumes: tuple[ChangeOwner, ...] = ()


class _QueuePass:
    """One pass of the queue.

    Attributes:
        bursts: Gangs may be released for a burst.
        table: The free amounts of the nodes, none where a node leaves; less with every job that
            is placed.
        whole: Jobs whose gang is whole, or was and has members left.
        inferred: Those of them for which only their pods show it (``repair.was_whole``).
        dissolved: Jobs that this pass dissolves.
        parked: Jobs that are parked; the session has the pods that they will have.
    """

    def __init__(self, session: Session, state: QueueState, *, bursts: bool) -> None:
        self.parked = ParkedJobs.of(session)
        self.session, self.state, self.bursts = self.parked.session, state, bursts
        session = self.session
        self.snapshot, self.params = session.snapshot, session.parameters
        self.table = leaving.without_leaving(self.snapshot.node_table, self.params.drain)
        self.commands: list[Command] = []
        self.resumes: list[ChangeOwner] = []
        self.backoff = {k: b for k, b in state.backoff.items() if k in self.snapshot.jobs}
        self.lost_since: dict[Uid, float] = {}
        self.partial_since: dict[JobKey, float] = {}
        self.most_bound: dict[JobKey, int] = {}
        self.dissolved: set[JobKey] = set()
        self.whole: set[JobKey] = set()
        self.inferred: set[JobKey] = set()
        self.shares: Shares = namespace_shares.shares(self.snapshot, self.params)
        self.gate: Gate | None = slot_gate.gate(session, state)

    def steps(self) -> Steps[QueueOutcome]:
        """Do the seven steps of the module, with a pause after each job."""
        jobs = yield from self._view()
        self._find_whole_gangs(jobs)
        moved = {**migrations.replacements_by_job(self.snapshot), **self._returning(jobs)}
        self.commands += replacements.unfinished(self.snapshot)

        self._repair(jobs)

        waiting = tuple(job for job in jobs if self._is_queued(job))
        ranked = order.ordered(waiting, self.session, self.state)

        scheduling = self._scheduling_pass(moved)
        results = yield from scheduling.steps(ranked)
        self.table = scheduling.table
        entries = [self._entry(place, result, moved) for place, result in results]
        released = {c.job for c in self.commands if isinstance(c, ReleaseGang)}

        for job in jobs:
            if repair.is_partial(job) and job.key not in self.whole:
                self._watch_partial(job, completed=job.key in released)

        for entry in entries:
            self.commands += unplaceable.shown([entry], self.session)
            yield

        written, explanations = notices.notify(entries, self.state.notices, self.session.now)
        return QueueOutcome(
            entries=tuple(entries),
            commands=tuple(self.parked.possible((*self.commands, *explanations))),
            state=self._next_state(jobs, released, written),
            wake_after_seconds=self._next_deadline(scheduling.next_deadline),
            backfill_head=scheduling.backfill_head,
            resumes=tuple(self.resumes),
        )

    # Step 1: the jobs to view.

    def _view(self) -> Steps[tuple[Job, ...]]:
        fresh = not self.state.known  # the first pass after a start views every job once
        keys = set(self.snapshot.waiting) | self.state.open
        keys = set(self.snapshot.jobs) if fresh else keys & set(self.snapshot.jobs)
        viewed = self.snapshot.jobs if self.params.order is Order.SERVICE else keys
        self.snapshot.cache.of(job_views.VIEWS).trim(viewed)
        jobs: list[Job] = []
        for key in sorted(keys):
            jobs.append(job_views.view(self.snapshot, key))
            yield
        return tuple(jobs)

    def _find_whole_gangs(self, jobs: Sequence[Job]) -> None:
        self.whole = {job.key for job in jobs if repair.is_whole(job, self.snapshot)}
        others = (job for job in jobs if job.key not in self.whole)
        self.inferred = {job.key for job in others if repair.was_whole(job, self.state)}
        self.whole |= self.inferred

    # Step 2: reservations whose node was lost.

    def _repair(self, jobs: Sequence[Job]) -> None:
        lost = repair.lost_reservations(self.snapshot, self.state)
        for job in jobs:
            moves, self.table = repair.moves(job, lost, self.table, self.state)
            for move in moves:
                if move.member.awaits_burst:
                    self.commands.append(repair.give_back(move.member, "node-lost"))
                    continue
                if move.to is not None:
                    command = repair.rewrite(move.member, move.to, self.snapshot)
                    self.commands.append(command)
                    continue
                self._count_lost(move.member, job)
            for member in repair.without_a_node(job, self.table, self.state):
                self._count_lost(member, job)

    def _count_lost(self, member: Member, job: Job) -> None:
        """Apply rule 2 of ``repair``."""
        now = self.session.monotonic
        since = self.state.lost_since.get(member.pod.uid, now)
        self.lost_since[member.pod.uid] = since
        if now - since >= self.params.pin_lost_seconds:
            self.commands.append(repair.give_back(member, "pin-lost"))
            self._back_off(job.key)

    # Steps 3 and 4: order and placement.

    def _returning(self, jobs: Sequence[Job]) -> dict[JobKey, Replacements]:
        """Return where the pods of jobs go that come back after they were parked."""
        found = {job.key: parked_jobs.returning(self.snapshot, job) for job in jobs}
        return {key: places for key, places in found.items() if places is not None}

    def _is_queued(self, job: Job) -> bool:
        gated = job.having(State.GATED, State.HELD)
        return bool(gated) or scheduling_pass.waits_in_queue(job, self.state, self.session.now)

    def _scheduling_pass(self, moved: Mapping[JobKey, Replacements]) -> SchedulingPass:
        return SchedulingPass(
            table=self.table,
            now=self.session.now,
            params=self.params.waiting,
            attempts=PassAttempts(
                session=self.session,
                state=self.state,
                whole=self.whole,
                backoff=self.backoff,
                moved=moved,
                shares=self.shares,
                gate=self.gate,
            ),
            owed={key for key, replacing in moved.items() if replacing.targets},
            shares=self.shares,
            awaited=self._awaited(),
        )

    def _awaited(self) -> tuple[JobKey, ...]:
        """Return the jobs for which others give up workers or are parked, or that were in vain."""
        starters = elastic_workers.starters(self.snapshot, self.session.now)
        return (*starters, *parking.first_jobs(self.snapshot, self.session.now))

    def _entry(
        self, ranked: Ranked, result: Result, moved: Mapping[JobKey, Replacements]
    ) -> QueueEntry:
        """Return a job's place in the queue; order its release if it was placed."""
        if isinstance(result, Refusal):
            reason, message = result.reason, result.message
        else:
            reason, message = Reason.RELEASING, Reason.RELEASING.message
            self._start(ranked.job, result, in_burst=self.bursts and ranked.job.key not in moved)
        note = "; ".join(text for text in (*ranked.job.warnings, ranked.note) if text)
        return QueueEntry(
            ranked.job,
            ranked.value,
            reason,
            message,
            note=note,
            weight=ranked.weight,
            standing=ranked.standing,
        )

    def _start(self, job: Job, placed: Placed, *, in_burst: bool) -> None:
        """Order the release of a job that was placed; of a parked one, that its places are kept."""
        if job.key in self.parked.by_job:
            self.resumes.append(self.parked.resumed(job.key, placed.nodes))
            return
        bare = release.for_burst(job, placed.release, self.snapshot) if in_burst else None
        self.commands.append(bare or placed.release)

    # Step 5: gangs that stay partial.

    def _watch_partial(self, job: Job, *, completed: bool) -> None:
        """Apply rules 3 and 4 of ``repair``."""
        now, params = self.session.monotonic, self.params
        lacking = planner.missing(job) > 0 and not completed
        bound = len(job.having(State.BOUND))
        if not lacking and not bound:
            return  # all members have reservations, none is bound: kube-scheduler binds them
        most = self.state.most_bound.get(job.key, 0)
        since = now
        if bound <= most and not completed:  # a burst in progress is not broken, however long
            since = self.state.partial_since.get(job.key, now)
        patience = params.bind_burst_seconds + (0 if lacking else params.pin_lost_seconds)
        if now - since < patience:
            self.partial_since[job.key] = since
            self.most_bound[job.key] = max(bound, most)
            return
        self.commands.extend(repair.dissolve(job, "partial-gang"))
        self.dissolved.add(job.key)
        self._back_off(job.key)

    def _back_off(self, job: JobKey) -> None:
        """Make a job wait; one that waits already does so because of the same failure."""
        before = self.backoff.get(job)
        if before is not None and self.session.monotonic < before.until:
            return
        strike(
            self.backoff,
            job,
            self.session.monotonic,
            first=self.params.backoff_seconds,
            most=self.params.most_backoff_seconds,
        )

    # What the next pass starts from.

    def _next_state(
        self, jobs: Sequence[Job], released: Collection[str], written: Mapping[JobKey, Notice]
    ) -> QueueState:
        alive = frozenset(self.snapshot.jobs)
        viewed = {job.key for job in jobs}
        whole = [job for job in jobs if job.key in self.whole]
        runs = running_jobs.remembered(self.state, self.snapshot, whole, self.session.now)
        still_open = {j.key for j in jobs if repair.is_partial(j) or j.key in released}
        complete = (self.state.complete - viewed) | self.inferred
        return replace(
            self.state,
            known=alive,
            complete=complete & alive - self.dissolved,
            open=frozenset(still_open),
            backoff=self.backoff,
            lost_since=self.lost_since,
            partial_since=self.partial_since,
            most_bound=self.most_bound,
            refused={
                u: n for u, n in self.state.refused.items() if u in self.snapshot.reservations
            },
            notices=written,
            running=runs.running,
            runs=runs.runs,
            stated_ratios=runs.stated_ratios,
            turned_away=self._turned_away(jobs),
        )

    def _turned_away(self, jobs: Sequence[Job]) -> frozenset[JobKey]:
        """Return the direct gangs that filter leaves to the queue, until their back-off is over."""
        now, before = self.session.monotonic, self.state.turned_away
        backing_off = (k for k, b in self.backoff.items() if k in before and b.until > now)
        queued = (
            job.key
            for job in jobs
            if scheduling_pass.waits_in_queue(job, self.state, self.session.now)
        )
        return frozenset(queued).union(backing_off, self.dissolved)

    def _next_deadline(self, overdue_at: float | None) -> float | None:
        """Return the seconds until the first deadline; None if none is open."""
        now, params = self.session.monotonic, self.params
        deadlines = [
            *(b.until for b in self.backoff.values()),
            *(since + params.pin_lost_seconds for since in self.lost_since.values()),
            *(since + params.bind_burst_seconds for since in self.partial_since.values()),
        ]
        ahead = [deadline - now for deadline in deadlines if deadline > now]
        if overdue_at is not None:
            ahead.append(overdue_at - self.session.now)
        return min(ahead, default=None)


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
        """Decide what ``decide`` decides, with a pause after each job."""
        state = turn_away(refuse(state, trigger.refusals), trigger.turned_away)
        state = price(state, trigger.priced)
        return (yield from _QueuePass(session, state, bursts=trigger.bursts).steps())

    @override
    def summary(
        self, snapshot: Snapshot, trigger: QueueTrigger, outcome: QueueOutcome
    ) -> dict[str, object]:
        """Return the commands, and a digest of queue and reasons."""
        queue = [(e.job.key, e.value.v, e.reason, e.message) for e in outcome.entries]
        summary: dict[str, object] = {
            "commands": outcome.commands,
            "queue": protocol.digest(queue),
        }
        return {**summary, "resumes": outcome.resumes} if outcome.resumes else summary


QUEUE: Final = QueueDecision()
