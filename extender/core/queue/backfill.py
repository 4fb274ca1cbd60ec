"""Room that is kept for the job that has waited too long (docs/policies/reservation.md).

One job at a time holds the reservation; who may start before it is ``passing``.
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
    """A job that runs, or was given seats, with the nodes (by index) of its pods.

    Attributes:
        started_at: Seconds since the epoch.
        ends_at: Not before now; None if unknown.
        endless: It does not end by itself, as far as its kind says.
    """

    job: JobKey
    started_at: float
    ends_at: float | None
    seats: Sequence[tuple[PodShape, int]]
    endless: bool = False


@dataclass(frozen=True, eq=False)
class Reservation:
    """What is kept for the holder.

    Attributes:
        job: The holder.
        starts_at: When it starts at the latest, if those it waits for end as they say (seconds
            since the epoch); None if the end of one of them is unknown.
        waits_for: The jobs that end before, the first one first.
        before: The room when those have ended, without the holder.
        room: The same with the holder in it.
    """

    job: JobKey
    starts_at: float | None
    waits_for: tuple[JobKey, ...]
    before: NodeTable
    room: NodeTable


Seat = Callable[[NodeTable], NodeTable | None]
"""Places the holder: the room with it, or None if it does not fit."""


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
    deadlines = ((deadline(one.created_at, one.max_wait_seconds, params), one) for one in waiters)
    over = [(at, one.created_at, one.uid, one.job) for at, one in deadlines if _passed(at, now)]
    return tuple(job for *_, job in sorted(over))


def reserve(
    job: JobKey, room: NodeTable, tenants: Iterable[RunningJob], seat: Seat, now: float
) -> Reservation | None:
    """Return what is kept for a job that does not fit now; None if it would not fit ever.

    1. Tenants in the order in which they are expected to end: those with a known end by it, then
       the others, the one that runs longest first, and last those that never end by themselves.
    2. The shortest row of them, from the first, after whose end the job fits (by bisection).
    3. The job starts when the last of these has ended, on the room that is free then.

    Args:
        job: The holder.
        room: What is free now.
        tenants: Every job that runs or has seats.
        seat: Places the holder.
        now: Seconds since the epoch.

    Source:
        EASY's shadow time (Mu'alem and Feitelson, IEEE TPDS 12(6), 2001), for whole gangs on nodes
        instead of a number of processors.
    """
    order = sorted(tenants, key=_end_key)
    leaving = _Leaving(room, order)
    whole = seat(leaving.room(len(order)))
    if whole is None:
        return None
    low, high = 0, len(order)
    while low < high:
        middle = (low + high) // 2
        found = seat(leaving.room(middle))
        if found is None:
            low = middle + 1
        else:
            high, whole = middle, found
    ends = [tenant.ends_at for tenant in order[:high]]
    known = all(at is not None for at in ends)
    return Reservation(
        job=job,
        starts_at=max((at for at in ends if at is not None), default=now) if known else None,
        waits_for=tuple(tenant.job for tenant in order[:high]),
        before=leaving.room(high),
        room=whole,
    )


def without(room: NodeTable, tenants: Sequence[RunningJob]) -> NodeTable:
    """Return the room after these tenants have left."""
    return _Leaving(room, tenants).room(len(tenants))


def _passed(at: float | None, now: float) -> bool:
    return at is not None and at <= now


def _end_key(tenant: RunningJob) -> tuple[int, float, float, JobKey]:
    if tenant.ends_at is not None:
        return 0, tenant.ends_at, tenant.started_at, tenant.job
    return 1 + tenant.endless, tenant.started_at, math.inf, tenant.job


class _Leaving:
    """The room after the first of some tenants have left, for any number of them."""

    def __init__(self, room: NodeTable, order: Sequence[RunningJob]) -> None:
        self._room, self._order = room, order
        demands: dict[int, IntVector] = {}  # by identity: hashing a shape costs more than all else
        rows, amounts, self._until = [], [], [0]
        for tenant in order:
            for shape, node in tenant.seats:
                if id(shape) not in demands:
                    demands[id(shape)] = room.demand(shape)
                rows.append(node)
                amounts.append(demands[id(shape)])
            self._until.append(len(rows))
        self._rows: IntVector = np.array(rows, dtype=np.int64)
        self._amounts: IntMatrix = np.array(amounts, dtype=np.int64).reshape(
            len(rows), len(room.resources)
        )

    def room(self, count: int) -> NodeTable:
        """Return the room without the first ``count`` tenants."""
        until = self._until[count]
        used = self._room.used.copy()
        np.subtract.at(used, self._rows[:until], self._amounts[:until])
        return self._room.replaced(used=used, ports=self._ports(count))

    def _ports(self, count: int) -> tuple[frozenset[HostPort], ...]:
        freed = [
            (node, shape.host_ports)
            for tenant in self._order[:count]
            for shape, node in tenant.seats
            if shape.host_ports
        ]
        if not freed:
            return self._room.ports
        ports = list(self._room.ports)
        for node, gone in freed:
            ports[node] = frozenset(p for p in ports[node] if not conflicts([p], gone))
        return tuple(ports)


# === Who may start before the holder of the reservation (docs/policies/reservation.md).
#
# A job may pass if it is gone when the holder starts, or if the holder starts then in spite of
# it.


Seats = Sequence[tuple[PodShape, int]]
"""Pods by shape, with the index of the node of each."""


def gone_in_time(reservation: Reservation, now: float, lasts_seconds: float | None) -> bool:
    """Say whether a job that starts now has ended when the holder starts; no if that is unknown."""
    start = reservation.starts_at
    return start is not None and lasts_seconds is not None and now + lasts_seconds <= start


def open_room(reservation: Reservation, room: NodeTable) -> NodeTable:
    """Return what a job may use that stays longer: free now, and not needed by the holder then."""
    pairs = zip(room.ports, reservation.room.ports, strict=True)
    return room.replaced(
        used=np.maximum(room.used, reservation.room.used),
        ports=tuple(now | then for now, then in pairs),
    )


def with_pods(reservation: Reservation, seats: Seats) -> Reservation:
    """Return the reservation beside pods that stay, where they leave its seats free."""
    before, room = reservation.before, reservation.room
    return replace(reservation, before=before.with_pods(seats), room=room.with_pods(seats))


def beside(reservation: Reservation, seats: Seats, seat: Seat) -> Reservation | None:
    """Return the reservation with its seats chosen anew beside pods that stay.

    None if the holder would not fit at its start any more: these pods must not pass.
    """
    before = reservation.before.with_pods(seats)
    room = seat(before)
    return None if room is None else replace(reservation, before=before, room=room)
