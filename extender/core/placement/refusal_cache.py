"""Cache of placement failures: one search for all jobs that ask for the same.

Thousands of jobs that wait are mostly of a few kinds, and most passes begin with the same free
amounts as the one before.
"""

from collections.abc import Mapping, MutableMapping
from typing import Final
from weakref import WeakKeyDictionary

from extender.core.cluster.cache import Cache, Slot
from extender.core.cluster.jobs import Demand, Job
from extender.core.nodes.node_table import NodeTable
from extender.core.parameters.combined import CoreParameters
from extender.core.placement import planner
from extender.core.placement.planner import Plan, Refusal
from extender.core.placement.single_pod import SINGLE_PODS
from shared.model import NodeName, Uid

MOST_ROOMS: Final = 16
"""Rooms whose refusals are kept: what cycles begin with, and what the last one went through."""


class Refusals:
    """Failures of jobs that ask for the same on the same nodes.

    An entry goes with the job that it was found for: a room may stay as it is for days, while a
    tenant makes and deletes pods of which no two ask for the same.
    """

    def __init__(self) -> None:
        self._by_room: list[tuple[object, object, WeakKeyDictionary[Demand, Refusal]]] = []

    def of(self, room: object, params: object) -> MutableMapping[Demand, Refusal]:
        """Return what is kept for this very room and these parameters, to be read and added to."""
        for number, (held, of_params, refusals) in enumerate(self._by_room):
            if held is room and of_params is params:
                if number:  # the one that was asked for last stands in front
                    self._by_room.insert(0, self._by_room.pop(number))
                return refusals
        found: WeakKeyDictionary[Demand, Refusal] = WeakKeyDictionary()
        self._by_room.insert(0, (room, params, found))
        del self._by_room[MOST_ROOMS:]
        return found


REFUSALS: Final[Slot[Refusals]] = Slot(Refusals)


def plan(
    cache: Cache,
    job: Job,
    room: NodeTable,
    params: CoreParameters,
    value: float,
    *,
    was_whole: bool,
    targets: Mapping[Uid, NodeName],
    rule: str = planner.MIGRATION,
) -> Plan | Refusal:
    """Return what ``planning.plan`` does, without planning where the refusal is known."""
    demand = None if targets else job.demand
    if demand is None:
        return planner.plan(
            job, room, params, value, was_whole=was_whole, targets=targets, rule=rule
        )
    refusals = cache.of(REFUSALS).of(room, params)
    known = refusals.get(demand)
    if known is not None:
        return known
    result = planner.plan(job, room, params, value, was_whole=was_whole, lone=cache.of(SINGLE_PODS))
    if isinstance(result, Refusal):
        refusals[demand] = result
    return result
