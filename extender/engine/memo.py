"""What was worked out already, kept with exactly what it was worked out from.

A decision is the same with a memo and without: whatever is taken from one is what the same values
would give again. So a replay needs none, and losing one costs time only.
"""

from collections.abc import Collection, Hashable, MutableMapping
from typing import Any, Final, Generic, TypeVar
from weakref import WeakKeyDictionary

from typing_extensions import override

from extender.policy.lone import LoneSeats

K = TypeVar("K", bound=Hashable)

MOST_ROOMS: Final = 16
"""Rooms whose refusals are kept: what cycles begin with, and what the last one went through."""
_SLACK: Final = 256


class Kept(Generic[K]):
    """The latest value of each key, with what it was worked out from.

    Args:
        below: Read where nothing is held here, and never changed. It may belong to another thread:
            a look-up is one operation of a dict.
    """

    def __init__(self, below: "Kept[K] | None" = None) -> None:
        self._held: dict[K, tuple[object, Any]] = {}
        self._below = below

    def get(self, key: K, source: object) -> Any | None:
        """Return what was worked out from this very source; None if it was another one."""
        held = self._held.get(key)
        if held is not None and held[0] == source:
            return held[1]
        return None if self._below is None else self._below.get(key, source)

    def latest(self, key: K) -> Any | None:
        """Return the value whatever it was worked out from; None if there is none."""
        held = self._held.get(key)
        if held is not None:
            return held[1]
        return None if self._below is None else self._below.latest(key)

    def put(self, key: K, source: object, value: Any) -> None:
        """Keep a value in place of what was there."""
        self._held[key] = (source, value)

    def trim(self, wanted: Collection[K]) -> None:
        """Drop the others, once they are many."""
        if len(self._held) > 2 * len(wanted) + _SLACK:
            self._held = {key: self._held[key] for key in wanted if key in self._held}


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


class Memo:
    """See the module.

    Attributes:
        views: Jobs as ``jobs.view`` saw them, by key.
        accepted: Whether the node of a pod's seat accepts it (``repairing``), by uid.
        refusals: Why jobs were not placed (``refusing``).
        emptied: The room with nobody on it (``unplaceable``).
        lone: What nodes are for single pods, by shape (``planning``).
        rescales: What owners say about changes of their workers (``scaling.records``).
        ranged: Which jobs have a range of workers (``scaling.ranged``).
        parts: What of the room jobs without a utility see (``admission.gate``).
    """

    def __init__(self, views: Kept[str] | None = None) -> None:
        self.views: Kept[str] = Kept() if views is None else views
        self.accepted: Kept[str] = Kept()
        self.refusals = Refusals()
        self.emptied: Kept[str] = Kept()
        self.lone = LoneSeats()
        self.rescales: Kept[str] = Kept()
        self.ranged: Kept[str] = Kept()
        self.parts: Kept[str] = Kept()

    def beside(self) -> "Memo":
        """Return one for another thread: it knows the jobs that this one has viewed.

        What the thread works out stays there, so that jobs that are only supposed are not kept.
        """
        return Memo(Kept(self.views))
