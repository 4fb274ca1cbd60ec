"""The queue, projected: a scheduling pass at every moment at which something changes.

Jobs end as one case of their lengths says (``lengths_ahead``), or their maximum wait is over. What
the passes themselves know of the ends is what live passes know: a projected pass decides what a
live one would. A job that does not end by itself stays to the end of the projection.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from typing_extensions import override

from extender.core.cluster.jobs import Job
from extender.core.cluster.reasons import Reason
from extender.core.cluster.session import Reading, Session
from extender.core.kinds import registry
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
from extender.core.queue.lengths_ahead import Case, LengthsAhead
from extender.core.queue.namespace_shares import Shares
from extender.core.queue.order import Ranked
from extender.core.queue.running_jobs import Ending
from extender.core.queue.scheduling_pass import Attempts, Placed, SchedulingPass
from extender.core.queue.state import QueueState
from extender.core.queue.time_left import Timed
from shared.model import JobKey, Node

MOST_PLANS: Final = 1000
"""Attempts to place a job: a count, not a clock, bounds the work, so that it is the same again."""


@dataclass(frozen=True)
class Start:
    """When a job starts in a projection.

    Attributes:
        at: Seconds since the epoch.
        first: At the first moment already: it fits now.
        ends_by: Sources of the ends of the jobs that have ended until then.
    """

    at: float
    first: bool
    ends_by: frozenset[str]


@dataclass(frozen=True, eq=False)
class Run:
    """A run in a projection.

    Attributes:
        job: As a pass sees it.
        ends_at: When it ends in this projection, seconds since the epoch.
        why: The source of that.
    """

    job: RunningJob
    ends_at: float
    why: str


@dataclass(kw_only=True)
class Projection(Attempts):
    """The queue, projected. Mutable; it belongs to one computation.

    Attributes:
        session: The cluster at the beginning.
        state: Of the queue, for earlier runs.
        lengths: How long jobs run.
        case: Which end of the lengths' bands counts.
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
    lengths: LengthsAhead
    case: Case
    stuck: Mapping[JobKey, Reason]
    now: float
    table: NodeTable
    pending: dict[JobKey, Job]
    running: list[Run] = field(default_factory=list)
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
        self._leave([ending.job for ending in running if ending.end is None])
        self.running = [self._run_of(ending) for ending in running if ending.end is not None]
        self._pass(first=True)
        while (moment := self._next_moment()) is not None and not self.too_far:
            self.now = moment
            ended = [run for run in self.running if run.ends_at <= moment]
            self.running = [run for run in self.running if run.ends_at > moment]
            self._ends_by |= {run.why for run in ended}
            self._leave([run.job for run in ended])
            self._pass(first=False)

    @property
    def too_far(self) -> bool:
        """Whether the projection was broken off."""
        return self.plans >= MOST_PLANS

    def obstacle(self, key: JobKey) -> JobKey | None:
        """Return a job without an end for which one that did not start waits; None: it never fits.

        Of those in whose place it would fit, the one that started last.
        """
        place = scheduling_pass.place_head(self.pending[key], 0.0, self.project)
        head = backfill.reserve(key, self.table, self.running_jobs(), place, self.now)
        return head.waits_for[-1] if head and head.waits_for else None

    @override
    def plan(self, job: Job, value: float, table: NodeTable) -> Plan | Refusal:
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
    def project(self, job: Job, value: float, table: NodeTable) -> Plan | Refusal:
        return self.plan(job, value, table)

    @override
    def running_jobs(self) -> list[RunningJob]:
        return [as_seen(run.job, self.now) for run in self.running]

    @override
    def lasts(self, job: Job, nodes: Iterable[Node] | None = None) -> float | None:
        duration = running_jobs.length(job, self.state.runs, nodes)
        return None if duration is None else duration.seconds

    def _run_of(self, ending: Ending) -> Run:
        length = self.lengths.of_running(ending)
        if length is None:
            return Run(ending.job, math.inf, "")
        return Run(ending.job, self.now + length.in_case(self.case), length.source)

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
            if isinstance(result, Placed):
                self._start(self.pending.pop(ranked.job.key), result)
                self.starts[ranked.job.key] = Start(self.now, first, self._ends_by)
        self.table = scheduling.table
        deadline = scheduling.next_deadline
        self._deadline = math.inf if deadline is None else deadline

    def _start(self, job: Job, placed: Placed) -> None:
        pods = scheduling_pass.placed_pods(job, placed.nodes, self.table)
        nodes = [self.table.nodes[self.table.index[n]] for n in placed.nodes.values()]
        lasts, endless = self.lasts(job, nodes), registry.is_endless(job.key)
        ends_at = None if lasts is None else self.now + lasts
        run = RunningJob(job.key, self.now, ends_at, pods, endless)
        if endless:
            self.running.append(Run(run, math.inf, ""))
            return
        length = self.lengths.of_waiting(job, nodes)
        self.running.append(Run(run, self.now + length.in_case(self.case), length.source))

    def _leave(self, gone: Sequence[RunningJob]) -> None:
        if gone:
            self.table = backfill.without(self.table, gone)
        if self._shares is not None:
            for job in gone:
                self._shares.leave(job)

    def _next_moment(self) -> float | None:
        if not self.pending:
            return None
        moments = [self._deadline, *(run.ends_at for run in self.running)]
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
        return [self._ran[run.job.job] for run in self.running if run.job.job in self._ran]


def as_seen(job: RunningJob, now: float) -> RunningJob:
    """Return a job as a pass sees it: one that is overdue may end at any moment."""
    if job.ends_at is None or job.ends_at >= now:
        return job
    return replace(job, ends_at=now, expected_at=None)
