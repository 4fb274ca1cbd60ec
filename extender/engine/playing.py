"""The queue played forward: a turn at every moment at which a job ends or has waited too long.

The same turns as in a cycle (``waiting``). A job whose end is unknown stays to the end of the play.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from extender.engine import durations, ordering, planning, refusing, sharing, waiting
from extender.engine.durations import End, Unknown
from extender.engine.jobs import Job
from extender.engine.memo import Refusals
from extender.engine.ordering import Ranked
from extender.engine.parameters import EngineParameters
from extender.engine.planning import Plan, Refusal
from extender.engine.reasons import Reason
from extender.engine.sharing import Shares
from extender.engine.snapshot import Snapshot
from extender.engine.tenants import Running
from extender.engine.waiting import Line, Result
from extender.policy import reservation
from extender.policy.reservation import Tenant
from extender.policy.room import Room
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
    params: EngineParameters
    runs: Mapping[str, tuple[float, ...]]
    stuck: Mapping[JobKey, Reason]
    now: float
    room: Room
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
            self._shares = sharing.of_tenants(everybody, self.snapshot, self.params)
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
        seat = waiting.seat_of(self.pending[key], 0.0, self._attempt)
        found = reservation.reserve(key, self.room, guests, seat, self.now)
        last = found.waits_for[-1] if found and found.waits_for else None
        return next((one for one in self.guests if one.tenant.job == last), None)

    def _turn(self, *, first: bool) -> None:
        """Place at this moment whoever can be placed."""
        shares = self._shares
        if shares is not None:
            shares.begin()
        line = Line(
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
        found = durations.length(job, self.runs)
        end = End(None, Unknown.UNSTATED)
        if found is not None:
            end = End(self.now + found.seconds, found.source)
        seats = waiting.seats_of(job, plan, self.room)
        self.guests.append(Running(Tenant(job.key, self.now, end.at, seats), end))

    def _leave(self, gone: Sequence[Running]) -> None:
        if gone:
            self.room = reservation.without(self.room, [one.tenant for one in gone])
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
            self._order = ordering.ordered(waits, self.snapshot, self.params, self.now)
        return self._order

    def _attempt(self, job: Job, value: float, room: Room) -> Result:
        if reason := self.stuck.get(job.key):
            return Refusal(reason, "")
        within = job if self._shares is None else self._shares.within(job)
        if isinstance(within, Refusal):
            return within
        job = within
        alike, refusals = refusing.asks_for(job), self._refusals.of(room, self.params)
        known: Refusal | None = None if alike is None else refusals.get(alike)
        if known is not None:
            return known
        self.plans += 1
        result = planning.plan(job, room, self.params, value, was_whole=False)
        if alike is not None and isinstance(result, Refusal):
            refusals[alike] = result
        return result

    def _lasts(self, job: Job) -> float | None:
        found = durations.length(job, self.runs)
        return None if found is None else found.seconds


def _ends(one: Running) -> float:
    return math.inf if one.end is None or one.end.at is None else one.end.at
