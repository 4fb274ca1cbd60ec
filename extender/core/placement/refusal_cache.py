"""Jobs that ask for the same are refused alike: the room is searched once for all of them.

Thousands of jobs that wait for room are mostly of a few kinds, and most cycles find the room as the
one before left it.
"""

from collections.abc import Hashable, Mapping, MutableMapping
from dataclasses import replace
from typing import Any, Final
from weakref import WeakKeyDictionary

from typing_extensions import override

from extender.core.cluster.cache import Cache, Slot
from extender.core.cluster.jobs import Job, State
from extender.core.nodes.node_table import NodeTable
from extender.core.parameters.combined import CoreParameters
from extender.core.placement import planner
from extender.core.placement.planner import Plan, Refusal
from extender.core.placement.single_pod import SINGLE_PODS
from shared.model import NodeName, Uid

MOST_ROOMS: Final = 16
"""Rooms whose refusals are kept: what cycles begin with, and what the last one went through."""


class Alike:
    """A value as a key of which the hash is worked out once."""

    def __init__(self, value: Hashable) -> None:
        self._value = value
        self._hash = hash(value)

    @override
    def __hash__(self) -> int:
        return self._hash

    @override
    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, Alike) and self._value == other._value)


class Refusals:
    """What jobs that ask for the same were told on the same room.

    An entry goes with the job that it was found for: a room may stay as it is for days, while a
    tenant makes and deletes pods of which no two ask for the same.
    """

    def __init__(self) -> None:
        self._by_room: list[tuple[object, object, WeakKeyDictionary[Alike, Any]]] = []

    def of(self, room: object, params: object) -> MutableMapping[Alike, Any]:
        """Return what is kept for this very room and these parameters, to be read and added to."""
        for number, (held, of_params, refusals) in enumerate(self._by_room):
            if held is room and of_params is params:
                if number:  # the one that was asked for last stands in front
                    self._by_room.insert(0, self._by_room.pop(number))
                return refusals
        found: WeakKeyDictionary[Alike, Any] = WeakKeyDictionary()
        self._by_room.insert(0, (room, params, found))
        del self._by_room[MOST_ROOMS:]
        return found


REFUSALS: Final[Slot[Refusals]] = Slot(Refusals)


_WAITING: Final = frozenset({State.GATED, State.HELD, State.DIRECT, State.SUCCEEDED, State.FAILED})
"""A job whose members are all in one of these states is known by what it asks for."""


_ASKED: Final = "asked"


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
    alike = None if targets else asks_for(job)
    if alike is None:
        return planner.plan(
            job, room, params, value, was_whole=was_whole, targets=targets, rule=rule
        )
    refusals = cache.of(REFUSALS).of(room, params)
    known: Refusal | None = refusals.get(alike)
    if known is not None:
        return known
    result = planner.plan(job, room, params, value, was_whole=was_whole, lone=cache.of(SINGLE_PODS))
    if isinstance(result, Refusal):
        refusals[alike] = result
    return result


def asks_for(job: Job) -> Alike | None:
    """Return what a refusal of the job depends on beside the room; None if that is its pods too.

    Which pods there are, how they are called and when they came makes a plan, but no refusal.
    """
    if _ASKED not in job.derived:
        job.derived[_ASKED] = _asked(job)
    found: Alike | None = job.derived[_ASKED]
    return found


def _asked(job: Job) -> Alike | None:
    if any(member.state not in _WAITING for member in job.members):
        return None
    members = planner.in_order(job.members)
    asked = tuple((m.state, m.role, m.rank, m.shape) for m in members)
    wishes = replace(job.wishes, max_wait_seconds=None, expected_seconds=None)  # time is no room
    return Alike((job.problem, job.min_available, job.kept, wishes, asked))
