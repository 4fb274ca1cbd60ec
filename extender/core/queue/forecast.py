"""When each waiting job starts, if everything goes on as is known now.

The queue is projected: a scheduling pass at every moment at which a job ends or has waited too
long, as ``scheduling_pass`` does it. A job whose end is unknown stays to the end of the projection.

Behind a job whose start is unknown only jobs that fit now have an estimate: that job may start at
any moment, and take what they wait for.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from typing_extensions import override

from extender.core.cluster import job_views
from extender.core.cluster.jobs import Job
from extender.core.cluster.reasons import Reason
from extender.core.cluster.session import Reading, Session
from extender.core.nodes.node_table import NodeTable
from extender.core.parameters.queue import Order
from extender.core.placement import planner
from extender.core.placement.planner import Plan, Refusal, Refusals
from extender.core.queue import (
    backfill,
    namespace_shares,
    order,
    running_jobs,
    scheduling_pass,
    time_left,
)
from extender.core.queue.backfill import RunningJob
from extender.core.queue.decision import QueueOutcome
from extender.core.queue.namespace_shares import Shares
from extender.core.queue.order import Ranked
from extender.core.queue.running_jobs import End, Ending, Unknown
from extender.core.queue.scheduling_pass import Attempts, Result, SchedulingPass
from extender.core.queue.state import QueueState
from extender.core.queue.time_left import Timed
from extender.core.records import parked_jobs, slot_plan
from extender.core.records.slot_plan import plans_by_job
from shared.model import JobKey, Node

MOST_PLANS: Final = 1000
"""Attempts to place a job: a count, not a clock, bounds the work, so that it is the same again."""


@dataclass(frozen=True)
class Start:
    """When a job starts in the projection.

    Attributes:
        at: Seconds since the epoch.
        first: At the first moment already: it fits now.
        ends_by: Sources of the ends of the jobs that have ended until then.
    """

    at: float
    first: bool
    ends_by: frozenset[str]


@dataclass(kw_only=True)
class Projection(Attempts):
    """The queue, projected. Mutable; it belongs to one computation.

    Attributes:
        session: The cluster at the beginning.
        state: Of the queue, for earlier runs.
        stuck: Jobs that time does not help; they stay in the queue.
        now: Seconds since the epoch.
        table: What is free.
        pending: The jobs that wait.
        running: The jobs that run.
        starts: The jobs that waited and have started.
        plans: How many times a job was planned.
    """

    session: Session
    state: QueueState
    stuck: Mapping[JobKey, Reason]
    now: float
    table: NodeTable
    pending: dict[JobKey, Job]
    running: list[Ending] = field(default_factory=list)
    starts: dict[JobKey, Start] = field(default_factory=dict)
    plans: int = 0
    _ends_by: frozenset[str] = frozenset()
    _deadline: float = math.inf
    _order: Sequence[Ranked] = ()
    _refusals: Refusals = field(default_factory=Refusals)
    _shares: Shares | None = None
    _ran: Mapping[JobKey, Timed] | None = None

    def run(self, running: Sequence[Ending]) -> None:
        """Project until nothing happens any more, or it takes too long.

        Pods that are being deleted are gone at once.
        """
        params = self.session.parameters
        if params.fair_share.enabled:
            jobs = (ending.job for ending in running)
            self._shares = namespace_shares.of_running(jobs, self.session.snapshot, params)
        self._leave([ending for ending in running if ending.end is None])
        self.running = [ending for ending in running if ending.end is not None]
        self._pass(first=True)
        while (moment := self._next_moment()) is not None and not self.too_far:
            self.now = moment
            ended = [ending for ending in self.running if _ends(ending) <= moment]
            self.running = [ending for ending in self.running if _ends(ending) > moment]
            self._ends_by |= {str(ending.end.why) for ending in ended if ending.end}
            self._leave(ended)
            self._pass(first=False)

    @property
    def too_far(self) -> bool:
        """Whether the projection was broken off."""
        return self.plans >= MOST_PLANS

    def obstacle(self, key: JobKey) -> Ending | None:
        """Return a job of unknown end for which one that did not start waits; None: it never fits.

        Of those in whose place it would fit, the one that started last.
        """
        place = scheduling_pass.place_head(self.pending[key], 0.0, self.project)
        head = backfill.reserve(key, self.table, self.running_jobs(), place, self.now)
        last = head.waits_for[-1] if head and head.waits_for else None
        return next((ending for ending in self.running if ending.job.job == last), None)

    @override
    def plan(self, job: Job, value: float, table: NodeTable) -> Result:
        if reason := self.stuck.get(job.key):
            return Refusal(reason, "")
        within = job if self._shares is None else self._shares.within(job)
        if isinstance(within, Refusal):
            return within
        job, params = within, self.session.parameters
        demand, refusals = job.demand, self._refusals.of(table, params)
        refusal: Refusal | None = None if demand is None else refusals.get(demand)
        if refusal is not None:
            return refusal
        self.plans += 1
        result = planner.plan(job, table, params, value, was_whole=False)
        if demand is not None and isinstance(result, Refusal):
            refusals[demand] = result
        return result

    @override
    def project(self, job: Job, value: float, table: NodeTable) -> Result:
        return self.plan(job, value, table)

    @override
    def running_jobs(self) -> list[RunningJob]:
        return [ending.job for ending in self.running]

    @override
    def lasts(self, job: Job, nodes: Iterable[Node] | None = None) -> float | None:
        duration = running_jobs.length(job, self.state.runs, nodes)
        return None if duration is None else duration.seconds

    def _pass(self, *, first: bool) -> None:
        """Place the jobs that can be placed at this moment."""
        shares = self._shares
        if shares is not None:
            shares.begin()
        scheduling = SchedulingPass(
            table=self.table,
            now=self.now,
            params=self.session.parameters.waiting,
            attempts=self,
            shares=shares,
        )
        for ranked, result in scheduling.results(self._ranked()):
            if isinstance(result, Plan):
                self._start(self.pending.pop(ranked.job.key), result)
                self.starts[ranked.job.key] = Start(self.now, first, self._ends_by)
        self.table = scheduling.table
        deadline = scheduling.next_deadline
        self._deadline = math.inf if deadline is None else deadline

    def _start(self, job: Job, plan: Plan) -> None:
        nodes = (self.table.nodes[self.table.index[n]] for n in plan.placement.nodes.values())
        duration = running_jobs.length(job, self.state.runs, nodes)
        end = End(None, Unknown.UNSTATED)
        if duration is not None:
            end = End(self.now + duration.seconds, duration.source)
        pods = scheduling_pass.placed_pods(job, plan, self.table)
        self.running.append(Ending(RunningJob(job.key, self.now, end.at, pods), end))

    def _leave(self, gone: Sequence[Ending]) -> None:
        if gone:
            self.table = backfill.without(self.table, [ending.job for ending in gone])
        if self._shares is not None:
            for ending in gone:
                self._shares.leave(ending.job)

    def _next_moment(self) -> float | None:
        if not self.pending:
            return None
        moments = [self._deadline, *(_ends(ending) for ending in self.running)]
        return min((at for at in moments if self.now < at < math.inf), default=None)

    def _ranked(self) -> Sequence[Ranked]:
        """Return the waiting jobs in order; it changes with the jobs, or as they age."""
        waiting, params = tuple(self.pending.values()), self.session.parameters
        ages = params.priority.ageing or params.order is Order.SERVICE
        if len(waiting) != len(self._order) or ages:
            reading = Reading(self.now, self.session.monotonic)
            then = replace(self.session, reading=reading)
            self._order = order.ordered(waiting, then, self.state, self._timed())
        return self._order

    def _timed(self) -> Sequence[Timed]:
        """Return the jobs that ran at the beginning and still do, with their time left of then."""
        if self.session.parameters.order is not Order.SERVICE:
            return ()
        if self._ran is None:
            found = time_left.of_running(self.session, self.state, without=self.pending)
            self._ran = {timed.job.key: timed for timed in found}
        return [self._ran[e.job.job] for e in self.running if e.job.job in self._ran]


def _ends(ending: Ending) -> float:
    return math.inf if ending.end is None or ending.end.at is None else ending.end.at


MOST_JOBS: Final = 100
"""Jobs of which the start is computed, the first of the queue."""


ON_ITS_WAY: Final = "nodes are reserved"


FITS_NOW: Final = "fits now"


IN_TURN: Final = "fits when its turn comes"


TOO_FAR: Final = "too far ahead to be computed"


BY_PLAN: Final = "its slot plan"


NO_SLOT: Final = "its slot plan has no room for it yet"


QUOTA: Final = "waits for the quota of its namespace: no end of a job that holds it is known"


NEVER_FITS: Final = "does not fit even if every other job has ended"


@dataclass(frozen=True)
class Estimate:
    """When a job starts (seconds since the epoch), and what that rests on, or why it is unknown."""

    starts_at: float | None
    why: str


UNKNOWN: Final = Estimate(None, "")
"""Nothing was computed yet."""


def estimates(session: Session, outcome: QueueOutcome) -> Mapping[JobKey, Estimate]:
    """Return an estimate for every job in the queue; a bounded computation.

    Args:
        session: The cluster, as of that pass or later, and now.
        outcome: Of the last pass of the queue.
    """
    session = replace(session, snapshot=parked_jobs.with_parked(session.snapshot))
    entries = [entry for entry in outcome.entries if entry.job.key in session.snapshot.jobs]
    answers = {
        entry.job.key: Estimate(session.now, ON_ITS_WAY)
        for entry in entries
        if entry.reason is Reason.RELEASING
    }
    answers |= _by_plan(session, outcome)
    waiting = [entry for entry in entries if entry.job.key not in answers]
    reasons = {entry.job.key: entry.reason for entry in waiting[:MOST_JOBS]}
    stuck = {key: reason for key, reason in reasons.items() if not reason.time_helps}
    answers |= {key: Estimate(None, f"cannot start: {reason}") for key, reason in stuck.items()}
    answers |= {entry.job.key: Estimate(None, TOO_FAR) for entry in waiting[MOST_JOBS:]}
    projection = _projected(session, outcome.state, stuck, reasons)
    able = {key: reason for key, reason in reasons.items() if key not in stuck}
    return answers | _in_order(projection, able)


def _by_plan(session: Session, outcome: QueueOutcome) -> Mapping[JobKey, Estimate]:
    """Return the starts of admitted jobs that wait for their slot; they are not projected."""
    answers: dict[JobKey, Estimate] = {}
    waiting = [e.job.key for e in outcome.entries if e.reason is Reason.AWAITING_SLOT]
    plans = plans_by_job(session.snapshot) if waiting else {}
    for key in waiting:
        plan = plans[key].plan if key in plans else None
        slot = slot_plan.slot_at(session.now, plan.slot_seconds) if plan else 0
        first = min((s.first for s in plan.spans if s.last >= slot), default=None) if plan else None
        if plan is None or first is None:
            answers[key] = Estimate(None, NO_SLOT)
        else:
            at = slot_plan.begins_at(first, plan.slot_seconds)
            answers[key] = Estimate(max(at, session.now), BY_PLAN)
    return answers


def _projected(
    session: Session, state: QueueState, stuck: Mapping[JobKey, Reason], keys: Iterable[JobKey]
) -> Projection:
    projection = Projection(
        session=session,
        state=state,
        stuck=stuck,
        now=session.now,
        table=session.snapshot.node_table,
        pending={key: job_views.view(session.snapshot, key) for key in keys},
    )
    projection.run(running_jobs.running(session, state))
    return projection


def _in_order(projection: Projection, reasons: Mapping[JobKey, Reason]) -> dict[JobKey, Estimate]:
    """Return an estimate for each of these jobs, which come in the order of the queue."""
    answers: dict[JobKey, Estimate] = {}
    first = ""
    for key, reason in reasons.items():
        start = projection.starts.get(key)
        if start is not None and (start.first or not first):
            answers[key] = Estimate(start.at, _rests_on(start))
        elif reason is Reason.WAITING_FOR_QUOTA:  # it waits for its own namespace: no job is behind
            answers[key] = Estimate(None, TOO_FAR if projection.too_far else QUOTA)
        elif first:
            answers[key] = Estimate(None, f"behind {first}, whose start is unknown")
        else:
            answers[key] = Estimate(None, _obstacle(projection, key))
            first = "" if answers[key].why == NEVER_FITS else _name(key)
    return answers


def _rests_on(start: Start) -> str:
    if start.first:
        return FITS_NOW
    return f"durations by {', '.join(sorted(start.ends_by))}" if start.ends_by else IN_TURN


def _obstacle(projection: Projection, key: JobKey) -> str:
    if projection.too_far:
        return TOO_FAR
    ending = projection.obstacle(key)
    if ending is None or ending.end is None:
        return NEVER_FITS
    return f"waits for {_name(ending.job.job)}, whose end is unknown: {ending.end.why}"


def _name(key: JobKey) -> str:
    namespace, _, name = key.split("/", 2)
    return f"{namespace}/{name}"
