"""EASY backfill: room kept for one waiting job, and jobs that start before it.

One job at a time, the backfill head, holds such a reservation. Another job may start before it if
it has ended when the head starts, or if the head can start then in spite of it
(docs/policies/reservation.md).
"""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from extender.core.nodes.node_table import IntMatrix, IntVector, NodeTable, conflicts
from extender.core.parameters.queue import BackfillParameters
from shared.model import HostPort, JobKey, PodShape, Uid


@dataclass(frozen=True)
class Waiter:
    """A waiting job, as far as its turn depends on it; times are seconds since the epoch."""

    job: JobKey
    uid: Uid
    created_at: float
    max_wait_seconds: float | None


@dataclass(frozen=True, eq=False)
class RunningJob:
    """A job that runs, or has reservations.

    Attributes:
        started_at: Seconds since the epoch.
        ends_at: The upper end of the band, not before now; None if unknown.
        pods: Their shapes, with the index of the node of each.
        endless: It does not end by itself, by its kind.
        expected_at: When it is expected to end; None: as ``ends_at``.
    """

    job: JobKey
    started_at: float
    ends_at: float | None
    pods: Sequence[tuple[PodShape, int]]
    endless: bool = False
    expected_at: float | None = None


@dataclass(frozen=True, eq=False)
class HeadReservation:
    """What is kept for the backfill head.

    Attributes:
        job: The backfill head.
        starts_at: When it starts at the latest, if those it waits for end as expected (seconds
            since the epoch); None if the end of one of them is unknown.
        expected_at: When it is expected to start, not after ``starts_at``; None likewise.
        waits_for: The jobs that end before, the first one first.
        before: The nodes when those have ended, without the head.
        after: The same with the head placed.
    """

    job: JobKey
    starts_at: float | None
    expected_at: float | None
    waits_for: tuple[JobKey, ...]
    before: NodeTable
    after: NodeTable


PlaceHead = Callable[[NodeTable], NodeTable | None]
"""Places the backfill head: returns the nodes with it, or None if it does not fit."""


PlacedPods = Sequence[tuple[PodShape, int]]
"""Pods by shape, with the index of the node of each."""


def deadline(
    created_at: float, max_wait_seconds: float | None, params: BackfillParameters
) -> float | None:
    """Return when a job's maximum wait is over; None if it may wait for ever."""
    if max_wait_seconds is None:
        max_wait_seconds = params.default_max_wait_seconds
    return None if max_wait_seconds is None else created_at + max_wait_seconds


def in_turn(
    waiters: Iterable[Waiter], params: BackfillParameters, now: float
) -> tuple[JobKey, ...]:
    """Return the jobs whose maximum wait is over, the oldest deadline first.

    Then the earlier creation, then the smaller uid: total, and the same for every order of input.
    """
    deadlines = ((deadline(w.created_at, w.max_wait_seconds, params), w) for w in waiters)
    over = [(at, w.created_at, w.uid, w.job) for at, w in deadlines if _passed(at, now)]
    return tuple(job for *_, job in sorted(over))


def reserve(
    job: JobKey, table: NodeTable, running_jobs: Iterable[RunningJob], place: PlaceHead, now: float
) -> HeadReservation | None:
    """Return what is kept for a job that does not fit now; None if it would not fit ever.

    1. Running jobs in the order in which they are expected to end: those with a known end by it,
       then the others, the one that runs longest first, and last those that never end by
       themselves.
    2. The shortest row of them, from the first, after whose end the job fits (by bisection).
    3. The job starts when the last of these has ended, on what is free then.

    Args:
        job: The job.
        table: What is free now.
        running_jobs: Every job that runs or has reservations.
        place: Places the job.
        now: Seconds since the epoch.

    Source:
        EASY's shadow time (Mu'alem and Feitelson, IEEE TPDS 12(6), 2001), for whole gangs on nodes
        instead of a number of processors.
    """
    order = sorted(running_jobs, key=_end_key)
    leaving = _Leaving(table, order)
    after = place(leaving.table(len(order)))
    if after is None:
        return None
    low, high = 0, len(order)
    while low < high:
        middle = (low + high) // 2
        placed = place(leaving.table(middle))
        if placed is None:
            low = middle + 1
        else:
            high, after = middle, placed
    first = order[:high]
    return HeadReservation(
        job=job,
        starts_at=_last([running.ends_at for running in first], now),
        expected_at=_last([_expected(running) for running in first], now),
        waits_for=tuple(running.job for running in order[:high]),
        before=leaving.table(high),
        after=after,
    )


def _last(ends: Sequence[float | None], now: float) -> float | None:
    """Return the last of the ends; None if one is unknown, now if there is none."""
    known = [at for at in ends if at is not None]
    return max(known, default=now) if len(known) == len(ends) else None


def _expected(running: RunningJob) -> float | None:
    return running.ends_at if running.expected_at is None else running.expected_at


def without(table: NodeTable, ended: Sequence[RunningJob]) -> NodeTable:
    """Return the nodes after these jobs have ended."""
    return _Leaving(table, ended).table(len(ended))


def _passed(at: float | None, now: float) -> bool:
    return at is not None and at <= now


def _end_key(running: RunningJob) -> tuple[int, float, float, JobKey]:
    if running.ends_at is not None:
        return 0, running.ends_at, running.started_at, running.job
    return 1 + running.endless, running.started_at, math.inf, running.job


class _Leaving:
    """The nodes after the first of some jobs have ended, for any number of them."""

    def __init__(self, table: NodeTable, order: Sequence[RunningJob]) -> None:
        self._table, self._order = table, order
        demands: dict[int, IntVector] = {}  # by identity: hashing a shape costs more than all else
        rows, amounts, self._until = [], [], [0]
        for running in order:
            for shape, node in running.pods:
                if id(shape) not in demands:
                    demands[id(shape)] = table.demand(shape)
                rows.append(node)
                amounts.append(demands[id(shape)])
            self._until.append(len(rows))
        self._rows: IntVector = np.array(rows, dtype=np.int64)
        self._amounts: IntMatrix = np.array(amounts, dtype=np.int64).reshape(
            len(rows), len(table.resources)
        )

    def table(self, count: int) -> NodeTable:
        """Return the nodes without the first ``count`` jobs."""
        until = self._until[count]
        used = self._table.used.copy()
        np.subtract.at(used, self._rows[:until], self._amounts[:until])
        return self._table.replaced(used=used, ports=self._ports(count))

    def _ports(self, count: int) -> tuple[frozenset[HostPort], ...]:
        freed = [
            (node, shape.host_ports)
            for running in self._order[:count]
            for shape, node in running.pods
            if shape.host_ports
        ]
        if not freed:
            return self._table.ports
        ports = list(self._table.ports)
        for node, gone in freed:
            ports[node] = frozenset(p for p in ports[node] if not conflicts([p], gone))
        return tuple(ports)


def gone_in_time(head: HeadReservation, now: float, lasts_seconds: float | None) -> bool:
    """Return True if a job that starts now has ended when the head starts; False if unknown.

    The head starts when it is expected to, the job ends at the upper end of its band: neither side
    counts on luck of the other.
    """
    start = head.expected_at
    return start is not None and lasts_seconds is not None and now + lasts_seconds <= start


def open_nodes(head: HeadReservation, table: NodeTable) -> NodeTable:
    """Return what a job may use that stays longer: free now, and not needed by the head then."""
    pairs = zip(table.ports, head.after.ports, strict=True)
    return table.replaced(
        used=np.maximum(table.used, head.after.used),
        ports=tuple(now | then for now, then in pairs),
    )


def with_pods(head: HeadReservation, pods: PlacedPods) -> HeadReservation:
    """Return the reservation beside pods that stay, where they leave its nodes free."""
    return replace(head, before=head.before.with_pods(pods), after=head.after.with_pods(pods))


def beside(head: HeadReservation, pods: PlacedPods, place: PlaceHead) -> HeadReservation | None:
    """Return the reservation with its nodes chosen anew beside pods that stay.

    None if the head would not fit at its start any more: these pods must not start.
    """
    before = head.before.with_pods(pods)
    after = place(before)
    return None if after is None else replace(head, before=before, after=after)
