"""The queue, projected roughly: where it is too long to be projected pass by pass.

What is left out, so that thousands of jobs on thousands of nodes take seconds:

* the order is that of the beginning: namespaces keep their limits, but take no turns; only maximum
  waits end;
* a gang fits if its members fit by their requests and their nodes: no topology, no host ports, no
  relations; its members take the nodes that hold most of them;
* moments that are closer together than a fiftieth of the time ahead are one;
* the backfill head is judged by the most numerous of its shapes.
"""

import heapq
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

import numpy as np

from extender.core.cluster.jobs import Job
from extender.core.cluster.session import Session
from extender.core.kinds import registry
from extender.core.nodes.node_table import IntMatrix, IntVector, NodeTable
from extender.core.parameters.queue import KeepsRoom
from extender.core.placement.planner import Refusal
from extender.core.queue import backfill, namespace_shares, running_jobs
from extender.core.queue.backfill import RunningJob
from extender.core.queue.gang_needs import GangNeeds, Part
from extender.core.queue.lengths_ahead import Case, LengthsAhead
from extender.core.queue.namespace_shares import Shares
from extender.core.queue.order import Ranked
from extender.core.queue.projection import Run, Start
from extender.core.queue.room import Room, fewest_nodes
from extender.core.queue.running_jobs import Ending
from extender.core.queue.taken import Ends, Taken, TakenUntil, joined
from shared.model import JobKey

COARSENESS: Final = 0.02
"""Moments that are closer than this share of the time ahead are one."""

LEAST_STEP_SECONDS: Final = 0.5

MOST_HEADS: Final = 300
"""Reservations that are computed; after that many no room is kept."""


@dataclass(frozen=True, eq=False)
class Head:
    """What is kept for the backfill head.

    Attributes:
        starts_at: Seconds since the epoch.
        free: Nodes x resources: what is free then, with the head placed.
        beside: Room for jobs that stay longer.
    """

    job: JobKey
    starts_at: float
    free: IntMatrix
    beside: Room

    def update(self, room: Room, rows: IntVector) -> None:
        """Compute the room beside it on nodes on which another amount is free now."""
        changed = np.unique(rows)
        self.beside.free[changed] = np.minimum(room.free[changed], self.free[changed])
        self.beside.refresh(changed)


class Waiter(NamedTuple):
    """A waiting job: what it needs, and how long it runs as far as passes know."""

    job: Job
    parts: Sequence[Part]
    lasts: float | None


@dataclass(kw_only=True)
class RoughProjection:
    """The queue, projected roughly. Mutable; it belongs to one computation.

    Attributes:
        session: The cluster at the beginning.
        lengths: How long jobs run.
        case: Which end of the lengths' bands counts.
        needs: What the gangs need.
        waiting: The jobs that wait and can start, in order.
        now: Seconds since the epoch.
        starts: The jobs that have started.
    """

    session: Session
    lengths: LengthsAhead
    case: Case
    needs: GangNeeds
    waiting: Sequence[Ranked]
    now: float
    starts: dict[JobKey, Start] = field(default_factory=dict)
    _room: Room = field(init=False)
    _until: TakenUntil = field(init=False)
    _pending: dict[JobKey, Waiter] = field(default_factory=dict)
    _overdue: list[tuple[float, float, str, JobKey]] = field(default_factory=list)
    _deadlines: list[tuple[float, float, str, JobKey]] = field(default_factory=list)
    _ends: list[tuple[float, int]] = field(default_factory=list)
    _runs: dict[int, tuple[Run, Taken]] = field(default_factory=dict)
    _begun: int = 0
    _head: Head | None = None
    _heads: int = 0
    _shares: Shares | None = None
    _ends_by: frozenset[str] = frozenset()

    def run(self, running: Sequence[Ending]) -> None:
        """Project until nothing happens any more; pods that are being deleted are gone at once."""
        table, params = self.session.snapshot.node_table, self.session.parameters
        if params.fair_share.enabled:
            jobs = (ending.job for ending in running)
            self._shares = namespace_shares.of_running(jobs, self.session.snapshot, params)
        self._room = Room(table.free, self.needs.classes)
        self._until = TakenUntil(len(table.resources))
        self._pending = {place.job.key: self._waiter(place.job) for place in self.waiting}
        for ending in running:
            self._add(ending, table)
        for place in self.waiting:
            job = place.job
            at = backfill.deadline(job.created_at, job.spec.max_wait_seconds, params.waiting)
            if at is not None:
                heapq.heappush(self._deadlines, (at, job.created_at, job.about.uid, job.key))
        began = self.now
        self._pass(first=True)
        while self._pending and (moment := self._next_moment()) < math.inf:
            step = max(LEAST_STEP_SECONDS, COARSENESS * (moment - began))
            self.now = moment
            self._end_until(moment + step)
            self._pass(first=False)

    def _waiter(self, job: Job) -> Waiter:
        duration = running_jobs.length(job, self.lengths.state.runs)
        lasts = None if duration is None else duration.seconds
        return Waiter(job, self.needs.parts[job.key], lasts)

    def _add(self, ending: Ending, table: NodeTable) -> None:
        rows = np.array([node for _, node in ending.job.pods], dtype=np.int64)
        amounts = np.array([table.demand(shape) for shape, _ in ending.job.pods], dtype=np.int64)
        taken = Taken(rows, amounts.reshape(len(rows), len(table.resources)))
        if ending.end is None:
            self._leave([(Run(ending.job, self.now, ""), taken)])
            return
        length = self.lengths.of_running(ending)
        if length is not None:
            at = self.now + length.in_case(self.case)
            self._begin(Run(ending.job, at, length.source), taken)

    def _begin(self, run: Run, taken: Taken) -> None:
        self._begun += 1
        self._runs[self._begun] = (run, taken)
        heapq.heappush(self._ends, (run.ends_at, self._begun))
        if run.job.ends_at is not None:
            self._until.add(self._begun, taken, run.job.ends_at)

    def _leave(self, gone: Sequence[tuple[Run, Taken]]) -> None:
        taken = joined([taken for _, taken in gone])
        self._room.change(*taken)
        if self._head is not None:
            self._head.update(self._room, taken.rows)
        if self._shares is not None:
            for run, _ in gone:
                self._shares.leave(run.job)

    def _next_moment(self) -> float:
        ends = self._ends[0][0] if self._ends else math.inf
        return min(ends, self._deadlines[0][0] if self._deadlines else math.inf)

    def _end_until(self, until: float) -> None:
        gone = []
        while self._ends and self._ends[0][0] <= until:
            at, number = heapq.heappop(self._ends)
            self.now = max(self.now, at)
            self._until.drop(number)
            gone.append(self._runs.pop(number))
        if gone:
            self._ends_by |= {run.why for run, _ in gone}
            self._leave(gone)
        while self._deadlines and self._deadlines[0][0] <= self.now:
            self._overdue.append(heapq.heappop(self._deadlines))

    def _pass(self, *, first: bool) -> None:
        """Place the jobs that can be placed at this moment."""
        if self._shares is not None:
            self._shares.begin()
        self._drop_head()
        may_keep, before = True, len(self.starts)
        for waiter, overdue in self._in_turn():
            job, parts = waiter.job, waiter.parts
            if self._shares is not None and isinstance(self._shares.within(job), Refusal):
                continue
            room = self._room_for(waiter)
            if all(room.totals[part.number] >= part.pods for part in parts):
                if self._start(waiter, room):
                    self.starts[job.key] = Start(self.now, first, self._ends_by)
            elif may_keep and self._head is None:
                self._reserve(job.key, parts, overdue=overdue)
                may_keep = self._head is not None
        for key in list(self.starts)[before:]:
            del self._pending[key]

    def _in_turn(self) -> Iterator[tuple[Waiter, bool]]:
        """Yield the jobs that wait, and whether their maximum wait is over: these come first."""
        late = self._late()
        for key in late:
            yield self._pending[key], True
        gone = set(late)
        for key, waiter in self._pending.items():
            if key not in gone:
                yield waiter, False

    def _late(self) -> list[JobKey]:
        """Return the jobs that wait beyond their maximum wait, in the order of its end."""
        return [key for *_, key in self._overdue if key in self._pending]

    def _room_for(self, waiter: Waiter) -> Room:
        """Return the room in which a job may start now: beside the head if it stays longer."""
        head, lasts = self._head, waiter.lasts
        if head is None or head.job == waiter.job.key:
            return self._room
        stays = lasts is None or self.now + lasts > head.starts_at
        return head.beside if stays else self._room

    def _drop_head(self) -> None:
        """Forget the head once it has started or its time has come, or another is overdue."""
        head = self._head
        if head is None:
            return
        another = any(key != head.job for key in self._late())
        if head.job not in self._pending or head.starts_at <= self.now or another:
            self._head = None

    def _reserve(self, key: JobKey, parts: Sequence[Part], *, overdue: bool) -> None:
        """Keep room for a job at its start, if that is known and the settings keep any."""
        keeps = self.session.parameters.waiting.keeps_room
        if (keeps is KeepsRoom.OVERDUE and not overdue) or self._heads >= MOST_HEADS:
            return
        self._heads += 1
        ends, part = self._until.by_end(self.now), parts[0]
        low, high = 0, len(ends.at)
        if self._slots_after(ends, high, part)[1].sum() < part.pods:
            return
        while low < high:
            middle = (low + high) // 2
            fits = self._slots_after(ends, middle, part)[1].sum() >= part.pods
            low, high = (low, middle) if fits else (middle + 1, high)
        free, slots = self._slots_after(ends, high, part)
        rows = fewest_nodes(slots, part.pods)
        np.subtract.at(free, rows, self._room.request(part.number))
        starts_at = float(ends.at[high - 1]) if high else self.now
        self._head = Head(key, starts_at, free, self._room.beside(free))

    def _slots_after(self, ends: Ends, count: int, part: Part) -> tuple[IntMatrix, IntVector]:
        """Return what is free after so many ends, and how many pods of a part fit then."""
        free = self._room.free.copy()
        np.add.at(free, ends.taken.rows[:count], ends.taken.amounts[:count])
        return free, self._room.slots(part.number, free, slice(None))

    def _start(self, waiter: Waiter, room: Room) -> bool:
        """Start a job in that room; return False if its parts do not fit together."""
        placed: list[Taken] = []
        for number, count, _ in waiter.parts:
            if room.totals[number] < count:
                room.change(*joined(placed))
                return False
            rows = room.nodes_for(number, count)
            taken = Taken(rows, np.tile(room.request(number), (count, 1)))
            room.change(rows, -taken.amounts)
            placed.append(taken)
        taken = joined(placed)
        head = self._head
        if head is not None and room is head.beside:
            self._room.change(taken.rows, -taken.amounts)
            np.subtract.at(head.free, *taken)
        elif head is not None:
            head.update(self._room, taken.rows)
        if head is not None and head.job == waiter.job.key:
            self._head = None
        self._run(waiter, taken)
        return True

    def _run(self, waiter: Waiter, taken: Taken) -> None:
        job, lasts = waiter.job, waiter.lasts
        shapes = [part.shape for part in waiter.parts for _ in range(part.pods)]
        pods = list(zip(shapes, taken.rows.tolist(), strict=True))
        if self._shares is not None:
            self._shares.take(job, pods)
        if registry.is_endless(job.key):
            return
        run = RunningJob(job.key, self.now, None if lasts is None else self.now + lasts, pods)
        length = self.lengths.of_waiting(job)
        self._begin(Run(run, self.now + length.in_case(self.case), length.source), taken)
