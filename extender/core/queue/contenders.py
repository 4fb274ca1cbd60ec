"""Jobs of the cluster as the order `service` reads them."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from extender.core.cluster.jobs import Job, State
from extender.core.cluster.session import Session
from extender.core.nodes.goods import Goods, goods
from extender.core.nodes.node_table import NodeTable
from extender.core.queue import namespace_shares, service
from extender.core.queue.service import Contender, Place
from extender.core.queue.state import QueueState
from extender.core.queue.time_left import Timed, TimeLeft
from shared.model import JobKey

LEAST_SHARE: Final = 1e-9
"""Share of a job that requests nothing of what the nodes have."""

_GONE: Final = frozenset({State.SUCCEEDED, State.FAILED, State.LEAVING})


@dataclass(frozen=True)
class Standing:
    """Where a job stands in the order `service`, and how long it still needs."""

    place: Place
    left: TimeLeft


def standings(
    jobs: Mapping[JobKey, Timed],
    importance: Mapping[JobKey, float],
    session: Session,
    state: QueueState,
) -> tuple[Standing, ...]:
    """Return the standings of jobs that run and that wait, the one that goes first in front.

    Args:
        jobs: All of them.
        importance: V/2k' of each, 0…1.
        session: The cluster, now.
        state: Of the queue: which jobs have no slot plan because of the price.
    """
    table = session.snapshot.node_table
    counted = goods(table, session.parameters.job_size)
    found = [
        _contender(timed, importance[key], share(timed.job, table, counted), session.now, state)
        for key, timed in jobs.items()
    ]
    places = service.ordered(found, session.parameters.service)
    return tuple(Standing(place, jobs[place.job].left) for place in places)


def share(job: Job, table: NodeTable, counted: Goods) -> float:
    """Return the dominant share of the cluster that all pods of a job request, above 0."""
    shapes = (member.shape for member in job.members if member.state not in _GONE)
    return max(LEAST_SHARE, counted.share(namespace_shares.total(shapes, table)))


def _contender(
    timed: Timed, importance: float, part: float, now: float, state: QueueState
) -> Contender:
    job, seconds = timed.job, timed.left.seconds.value
    age = max(0.0, now - job.created_at)  # another machine's clock stamped it
    return Contender(
        job=job.key,
        uid=job.about.uid,
        created_at=job.created_at,
        seconds=seconds,
        service=seconds * part,
        age_seconds=age,
        waited_seconds=max(0.0, age - timed.ran_seconds),
        importance=importance,
        runs=timed.runs,
        utility=_utility(job, state),
    )


def _utility(job: Job, state: QueueState) -> Callable[[float], float] | None:
    """Return the utility of a job; None if it states none, or pricing gave it no slot plan."""
    stated = job.spec.utility
    if stated is None or stated.value is None or job.key in state.priced:
        return None
    return stated.value.of
