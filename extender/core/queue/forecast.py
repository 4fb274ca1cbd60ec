"""The queue played forward: a turn at every moment at which a job ends or has waited too long.

The same turns as in a cycle (``waiting``). A job whose end is unknown stays to the end of the play.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from extender.core.cluster import job_views
from extender.core.cluster.jobs import Job
from extender.core.cluster.reasons import Reason
from extender.core.cluster.session import Reading
from extender.core.cluster.snapshot import Snapshot
from extender.core.nodes.node_table import NodeTable
from extender.core.parameters.combined import CoreParameters
from extender.core.placement import planner
from extender.core.placement.planner import Plan, Refusal
from extender.core.placement.refusal_cache import Refusals
from extender.core.queue import backfill, namespace_shares, order, running_jobs, scheduling_pass
from extender.core.queue.backfill import RunningJob
from extender.core.queue.decision import QueueOutcome
from extender.core.queue.namespace_shares import Shares
from extender.core.queue.order import Ranked
from extender.core.queue.running_jobs import End, Running, Unknown
from extender.core.queue.scheduling_pass import Result, SchedulingPass
from extender.core.records import slot_plan
from extender.core.records.plans import planned
from shared.model import JobKey

MOST_PLANS: Final = 1000
"""Attempts to place a job: a count, not a clock, bounds the work, so that it is the same again."""


@dataclass(frozen=True)
class Start:
    """When a job starts in the play.

    Attributes:
        at: Seconds since the epoch.
        first: At the first moment already: it fits now.
        ends_by: Who said when those ended that have ended until then.
    """

    at: float
    first: bool
    ends_by: frozenset[str]


@dataclass
class Play:
    """See the module. Mutable, and belongs to who made it.

    Attributes:
        snapshot: The cluster at the beginning.
        params: See there.
        runs: Earlier runs, by name (``Memory.runs``).
        stuck: Jobs that time does not help; they stand in the queue all the same.
        now: Seconds since the epoch.
        room: What is free.
        pending: Who waits.
        guests: Who runs.
        starts: What became of those who waited.
        plans: How many times a job was planned.
    """

    snapshot: Snapshot
    params: CoreParameters
    runs: Mapping[str, tuple[float, ...]]
    stuck: Mapping[JobKey, Reason]
    now: float
    room: NodeTable
    pending: dict[JobKey, Job]
    guests: list[Running] = field(default_factory=list)
    starts: dict[JobKey, Start] = field(default_factory=dict)
    plans: int = 0
    _ends_by: frozenset[str] = frozenset()
    _deadline: float = math.inf
    _order: Sequence[Ranked] = ()
    _refusals: Refusals = field(default_factory=Refusals)
    _shares: Shares | None = None

    def run(self, running: Sequence[Running]) -> None:
        """Play until nothing happens any more, or it takes too long.

        Pods that are being deleted are gone at once.
        """
        if self.params.fair_share.enabled:
            everybody = (one.tenant for one in running)
            self._shares = namespace_shares.of_tenants(everybody, self.snapshot, self.params)
        self._leave([one for one in running if one.end is None])
        self.guests = [one for one in running if one.end is not None]
        self._turn(first=True)
        while (moment := self._next_moment()) is not None and not self.too_far:
            self.now = moment
            ended = [one for one in self.guests if _ends(one) <= moment]
            self.guests = [one for one in self.guests if _ends(one) > moment]
            self._ends_by |= {str(one.end.why) for one in ended if one.end}
            self._leave(ended)
            self._turn(first=False)

    @property
    def too_far(self) -> bool:
        """Whether the play was broken off."""
        return self.plans >= MOST_PLANS

    def obstacle(self, key: JobKey) -> Running | None:
        """Return one of unknown end for which a job that did not start waits; None: it never fits.

        Of those in whose place it would fit, the one that started last.
        """
        guests = [one.tenant for one in self.guests]
        seat = scheduling_pass.seat_of(self.pending[key], 0.0, self._attempt)
        found = backfill.reserve(key, self.room, guests, seat, self.now)
        last = found.waits_for[-1] if found and found.waits_for else None
        return next((one for one in self.guests if one.tenant.job == last), None)

    def _turn(self, *, first: bool) -> None:
        """Place at this moment whoever can be placed."""
        shares = self._shares
        if shares is not None:
            shares.begin()
        line = SchedulingPass(
            room=self.room,
            now=self.now,
            params=self.params.waiting,
            attempt=self._attempt,
            project=self._attempt,
            tenants=lambda: [one.tenant for one in self.guests],
            lasts=self._lasts,
            shares=shares,
        )
        for one, result in line.results(self._ranked()):
            if isinstance(result, Plan):
                self._start(self.pending.pop(one.job.key), result)
                self.starts[one.job.key] = Start(self.now, first, self._ends_by)
        self.room = line.room
        self._deadline = math.inf if line.next_deadline is None else line.next_deadline

    def _start(self, job: Job, plan: Plan) -> None:
        found = running_jobs.length(job, self.runs)
        end = End(None, Unknown.UNSTATED)
        if found is not None:
            end = End(self.now + found.seconds, found.source)
        seats = scheduling_pass.seats_of(job, plan, self.room)
        self.guests.append(Running(RunningJob(job.key, self.now, end.at, seats), end))

    def _leave(self, gone: Sequence[Running]) -> None:
        if gone:
            self.room = backfill.without(self.room, [one.tenant for one in gone])
        if self._shares is not None:
            for one in gone:
                self._shares.leave(one.tenant)

    def _next_moment(self) -> float | None:
        if not self.pending:
            return None
        moments = [self._deadline, *(_ends(one) for one in self.guests)]
        return min((at for at in moments if self.now < at < math.inf), default=None)

    def _ranked(self) -> Sequence[Ranked]:
        """Return who waits in order; the order changes with those who wait, or as they age."""
        waits = tuple(self.pending.values())
        if len(waits) != len(self._order) or self.params.priority.ageing:
            self._order = order.ordered(waits, self.snapshot, self.params, self.now)
        return self._order

    def _attempt(self, job: Job, value: float, room: NodeTable) -> Result:
        if reason := self.stuck.get(job.key):
            return Refusal(reason, "")
        within = job if self._shares is None else self._shares.within(job)
        if isinstance(within, Refusal):
            return within
        job = within
        alike, refusals = job.demand, self._refusals.of(room, self.params)
        known: Refusal | None = None if alike is None else refusals.get(alike)
        if known is not None:
            return known
        self.plans += 1
        result = planner.plan(job, room, self.params, value, was_whole=False)
        if alike is not None and isinstance(result, Refusal):
            refusals[alike] = result
        return result

    def _lasts(self, job: Job) -> float | None:
        found = running_jobs.length(job, self.runs)
        return None if found is None else found.seconds


def _ends(one: Running) -> float:
    return math.inf if one.end is None or one.end.at is None else one.end.at


# === When each waiting job starts, if everything goes on as is known now (``playing``).
#
# Behind a job whose start is unknown nobody has an estimate but those that fit now: it may
# start at
# any moment, and take what they wait for.


MOST_JOBS: Final = 100
"""Jobs that are looked at, the first of the queue."""


ON_ITS_WAY: Final = "seats are taken"


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
"""Nothing was worked out yet."""


def estimates(
    snapshot: Snapshot, cycle: QueueOutcome, params: CoreParameters, reading: Reading
) -> Mapping[JobKey, Estimate]:
    """Return an estimate for every job in the queue of ``cycle``; a bounded computation.

    Args:
        snapshot: The cluster, as of that cycle or later.
        cycle: The last cycle.
        params: See there.
        reading: Now.
    """
    entries = [entry for entry in cycle.entries if entry.job.key in snapshot.jobs]
    told = {
        entry.job.key: Estimate(reading.now, ON_ITS_WAY)
        for entry in entries
        if entry.reason is Reason.RELEASING
    }
    told |= _by_plan(snapshot, cycle, reading)
    waits = [entry for entry in entries if entry.job.key not in told]
    looked = {entry.job.key: entry.reason for entry in waits[:MOST_JOBS]}
    stuck = {key: reason for key, reason in looked.items() if not reason.time_helps}
    told |= {key: Estimate(None, f"cannot start: {reason}") for key, reason in stuck.items()}
    told |= {entry.job.key: Estimate(None, TOO_FAR) for entry in waits[MOST_JOBS:]}
    play = _played(snapshot, cycle, params, reading, stuck, looked)
    return told | _in_order(play, {k: why for k, why in looked.items() if k not in stuck})


def _by_plan(
    snapshot: Snapshot, cycle: QueueOutcome, reading: Reading
) -> Mapping[JobKey, Estimate]:
    """Return when those start that are admitted and wait for their slot; they play no part."""
    found: dict[JobKey, Estimate] = {}
    waits = [e.job.key for e in cycle.entries if e.reason is Reason.AWAITING_SLOT]
    plans = planned(snapshot) if waits else {}
    for key in waits:
        plan = plans[key].plan if key in plans else None
        slot = slot_plan.slot_at(reading.now, plan.slot_seconds) if plan else 0
        first = min((s.first for s in plan.spans if s.last >= slot), default=None) if plan else None
        if plan is None or first is None:
            found[key] = Estimate(None, NO_SLOT)
        else:
            at = slot_plan.begins_at(first, plan.slot_seconds)
            found[key] = Estimate(max(at, reading.now), BY_PLAN)
    return found


def _played(
    snapshot: Snapshot,
    cycle: QueueOutcome,
    params: CoreParameters,
    reading: Reading,
    stuck: Mapping[JobKey, Reason],
    keys: Iterable[JobKey],
) -> Play:
    memory, stale_seconds = cycle.state, params.agent_reports.stale_seconds
    pending = {key: job_views.view(snapshot, key) for key in keys}
    play = Play(snapshot, params, memory.runs, stuck, reading.now, snapshot.room, pending)
    play.run(running_jobs.running(snapshot, memory, reading, stale_seconds))
    return play


def _in_order(play: Play, waits: Mapping[JobKey, Reason]) -> dict[JobKey, Estimate]:
    """Return an estimate for each of these jobs, which come in the order of the queue."""
    found: dict[JobKey, Estimate] = {}
    first = ""
    for key, reason in waits.items():
        start = play.starts.get(key)
        if start is not None and (start.first or not first):
            found[key] = Estimate(start.at, _rests_on(start))
        elif reason is Reason.WAITING_FOR_QUOTA:  # nobody stands behind it: what it waits for is
            found[key] = Estimate(None, TOO_FAR if play.too_far else QUOTA)  # its namespace's own
        elif first:
            found[key] = Estimate(None, f"behind {first}, whose start is unknown")
        else:
            found[key] = Estimate(None, _obstacle(play, key))
            first = "" if found[key].why == NEVER_FITS else _name(key)
    return found


def _rests_on(start: Start) -> str:
    if start.first:
        return FITS_NOW
    return f"durations by {', '.join(sorted(start.ends_by))}" if start.ends_by else IN_TURN


def _obstacle(play: Play, key: JobKey) -> str:
    if play.too_far:
        return TOO_FAR
    found = play.obstacle(key)
    if found is None or found.end is None:
        return NEVER_FITS
    return f"waits for {_name(found.tenant.job)}, whose end is unknown: {found.end.why}"


def _name(key: JobKey) -> str:
    namespace, _, name = key.split("/", 2)
    return f"{namespace}/{name}"
