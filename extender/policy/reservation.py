"""Room that is kept for the job that has waited too long (docs/policies/reservation.md).

One job at a time holds the reservation; who may start before it is ``passing``.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from extender.policy.room import IntMatrix, IntVector, Room, conflicts
from shared.model import HostPort, JobKey, PodShape, Uid

DAY_SECONDS: Final = 86_400.0

BOUNDS: Final[Mapping[str, tuple[float, float]]] = {
    "default_max_wait_seconds": (1.0, 366 * DAY_SECONDS),
    "passing_tries": (0, 1000),
}
"""Lowest and highest value of each number in ``ReservationParameters``."""


@dataclass(frozen=True)
class ReservationParameters:
    """When a job has waited too long, and how hard is tried to let others pass.

    Attributes:
        default_max_wait_seconds: Of a job that states none; None: such a job may wait for ever.
            A day: a job without a wish is in no hurry, but no job starves.
        passing_tries: How many jobs a cycle that need the holder planned anew are tried.

    Source:
        One reservation and backfill behind it: EASY (Lifka, JSSPP 1995). The numbers are ours.
    """

    default_max_wait_seconds: float | None = DAY_SECONDS
    passing_tries: int = 20


@dataclass(frozen=True)
class Waiter:
    """A waiting job, as far as its turn depends on it; times are seconds since the epoch."""

    job: JobKey
    uid: Uid
    created_at: float
    max_wait_seconds: float | None


@dataclass(frozen=True, eq=False)
class Tenant:
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
    before: Room
    room: Room


Seat = Callable[[Room], Room | None]
"""Places the holder: the room with it, or None if it does not fit."""


def deadline(
    created_at: float, max_wait_seconds: float | None, params: ReservationParameters
) -> float | None:
    """Return when a job's maximum wait is over; None if it may wait for ever."""
    if max_wait_seconds is None:
        max_wait_seconds = params.default_max_wait_seconds
    return None if max_wait_seconds is None else created_at + max_wait_seconds


def in_turn(
    waiters: Iterable[Waiter], params: ReservationParameters, now: float
) -> tuple[JobKey, ...]:
    """Return the jobs whose maximum wait is over, the oldest deadline first.

    Then the earlier creation, then the smaller uid: total, and the same for every order of input.
    """
    deadlines = ((deadline(one.created_at, one.max_wait_seconds, params), one) for one in waiters)
    over = [(at, one.created_at, one.uid, one.job) for at, one in deadlines if _passed(at, now)]
    return tuple(job for *_, job in sorted(over))


def reserve(
    job: JobKey, room: Room, tenants: Iterable[Tenant], seat: Seat, now: float
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


def without(room: Room, tenants: Sequence[Tenant]) -> Room:
    """Return the room after these tenants have left."""
    return _Leaving(room, tenants).room(len(tenants))


def _passed(at: float | None, now: float) -> bool:
    return at is not None and at <= now


def _end_key(tenant: Tenant) -> tuple[int, float, float, JobKey]:
    if tenant.ends_at is not None:
        return 0, tenant.ends_at, tenant.started_at, tenant.job
    return 1 + tenant.endless, tenant.started_at, math.inf, tenant.job


class _Leaving:
    """The room after the first of some tenants have left, for any number of them."""

    def __init__(self, room: Room, order: Sequence[Tenant]) -> None:
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

    def room(self, count: int) -> Room:
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
