"""Which job goes first by the service that it still needs: the order `service` (docs/policies).

1. *Urgent jobs*: waiting would cost them a part of their utility. By utility for each unit of
   service that is left.
2. *Critical jobs*: one takes longer than all jobs together would on the whole cluster, so that it
   decides when the last job ends. The longest first.
3. *All others*, by the service that is left over a weight: short and important jobs first. The
   weight is made of the CPS value V and grows while the job waits.

Jobs that run are in the same order as jobs that wait. ``chosen`` says which of them should run:
the first that fit. A job that runs and is not among them should stop.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Final, NamedTuple, Protocol

from extender.core.parameters.queue import ServiceParameters
from shared.model import JobKey, Uid

LEAST_SECONDS: Final = 1e-6
"""Time left below this counts as this, so that no quotient divides by zero."""


class Rank(IntEnum):
    """In which of the three groups of the module a job is."""

    URGENT = 0
    CRITICAL = 1
    SERVICE = 2


@dataclass(frozen=True, kw_only=True)
class Contender:
    """A job that waits or runs, as far as its place depends on it.

    Attributes:
        job: The job.
        uid: Last key of the order.
        created_at: Seconds since the epoch; the key before.
        seconds: Time that it still needs with the workers that it should have, above 0.
        service: The same as seconds of the whole cluster: times the share that it takes.
        age_seconds: Time since it was created.
        waited_seconds: The part of it in which it did not run.
        importance: V/2k' among these jobs, 0…1.
        runs: It has nodes.
        utility: Utility of completing so many seconds after creation; None if it has none.
    """

    job: JobKey
    uid: Uid
    created_at: float
    seconds: float
    service: float
    age_seconds: float
    waited_seconds: float
    importance: float
    runs: bool
    utility: Callable[[float], float] | None = None


@dataclass(frozen=True)
class Place:
    """Where a job stands, and what of.

    Attributes:
        job: The job.
        rank: Its group.
        key: Within the group the smaller goes first.
        weight: What its service is divided by in the third group.
    """

    job: JobKey
    rank: Rank
    key: float
    weight: float


def ordered(contenders: Sequence[Contender], params: ServiceParameters) -> tuple[Place, ...]:
    """Return the places of all jobs, the one that goes first in front.

    Of equal keys the earlier creation goes first, then the smaller uid: total, and the same for
    every order of ``contenders``.

    Source:
        Urgent jobs by density: Bansal and Pruhs, "Server scheduling to balance priorities,
        fairness, and average quality of service", SIAM J. Comput. 39(7), 2010 (highest density
        first). Others: shortest remaining processing time (Schrage, Oper. Res. 16(3), 1968) with
        weights. The groups and the numbers are ours (docs/compare.md).
    """
    backlog = math.fsum(contender.service for contender in contenders)
    placed = [(_place(c, backlog, params), c) for c in contenders]
    placed.sort(key=lambda pair: (pair[0].rank, pair[0].key, pair[1].created_at, pair[1].uid))
    return tuple(place for place, _ in placed)


def base_weight(importance: float, params: ServiceParameters) -> float:
    """Return the weight of a job that has not waited; ``importance`` as in ``Contender``."""
    return 1.0 + params.cps_weight * importance


def urgency(contender: Contender, params: ServiceParameters) -> float:
    """Return the utility that an urgent job can still reach; 0 for a job that is not urgent.

    A job is urgent if waiting for a part of its remaining time costs more than a part of it.
    """
    if contender.utility is None:
        return 0.0
    seconds = contender.seconds
    soonest = contender.age_seconds + seconds
    now = contender.utility(soonest)
    held = params.held if contender.runs else 1.0
    later = contender.utility(soonest + held * params.slack * seconds)
    return now if now - later > params.loss * now else 0.0


def _place(contender: Contender, backlog: float, params: ServiceParameters) -> Place:
    seconds = contender.seconds
    lead = params.lead if contender.runs else 1.0
    weight = base_weight(contender.importance, params)
    urgent = urgency(contender, params)
    if urgent > 0:
        return Place(contender.job, Rank.URGENT, -urgent / contender.service * lead, weight)
    if seconds * lead >= params.critical * backlog:
        return Place(contender.job, Rank.CRITICAL, -seconds, weight)
    weight *= 1.0 + params.ageing * contender.waited_seconds / seconds
    return Place(contender.job, Rank.SERVICE, contender.service / (weight * lead), weight)


class Size(NamedTuple):
    """How many workers a job may run with.

    Attributes:
        least: The fewest.
        most: The most that are worth it.
        fixed: The number that it has and keeps, because it may not be stopped; None if it may be.
    """

    least: int
    most: int
    fixed: int | None = None


class Capacity(Protocol):
    """What the cluster holds; less with every job that is taken."""

    def has(self, job: JobKey, workers: int) -> bool:
        """Return True if so many workers of the job fit."""
        ...

    def take(self, job: JobKey, workers: int) -> None:
        """Take what they need."""
        ...


def chosen(
    order: Iterable[JobKey], sizes: Mapping[JobKey, Size], capacity: Capacity
) -> dict[JobKey, int]:
    """Return the jobs that should run, with their workers: the first of the order that fit.

    Jobs that may not be stopped keep what they have, wherever they stand.
    """
    order = tuple(order)
    runs: dict[JobKey, int] = {}
    for job in order:
        fixed = sizes[job].fixed
        if fixed is not None:
            runs[job] = fixed
            capacity.take(job, fixed)
    for job in order:
        if job in runs:
            continue
        least, most, _ = sizes[job]
        for workers in range(most, least - 1, -1):
            if capacity.has(job, workers):
                runs[job] = workers
                capacity.take(job, workers)
                break
    return runs
