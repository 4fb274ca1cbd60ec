"""Results of earlier work, kept with exactly what they were computed from.

A decision is the same with a cache and without: a cached value is what the same inputs would give
again. So a replay needs none, and losing one costs time only. Each module declares the slot of what
it caches, and knows its type.
"""

from collections.abc import Callable, Collection, Hashable
from typing import Any, Final, Generic, TypeVar, cast

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")
T = TypeVar("T")

_SLACK: Final = 256


class Kept(Generic[K, V]):
    """The latest value of each key, with what it was computed from.

    Args:
        below: Read where nothing is held here, and never changed. It may belong to another thread:
            a look-up is one operation of a dict.
    """

    def __init__(self, below: "Kept[K, V] | None" = None) -> None:
        self._held: dict[K, tuple[object, V]] = {}
        self._below = below

    def get(self, key: K, source: object) -> V | None:
        """Return what was computed from this very source; None if it was another one."""
        held = self._held.get(key)
        if held is not None and held[0] == source:
            return held[1]
        return None if self._below is None else self._below.get(key, source)

    def latest(self, key: K) -> V | None:
        """Return the value whatever it was computed from; None if there is none."""
        held = self._held.get(key)
        if held is not None:
            return held[1]
        return None if self._below is None else self._below.latest(key)

    def put(self, key: K, source: object, value: V) -> None:
        """Keep a value in place of the one before."""
        self._held[key] = (source, value)

    def trim(self, wanted: Collection[K]) -> None:
        """Drop the others, once they are many."""
        if len(self._held) > 2 * len(wanted) + _SLACK:
            self._held = {key: self._held[key] for key in wanted if key in self._held}


class Slot(Generic[T]):
    """The place of one cached structure; the module that fills it declares it as a constant.

    Args:
        make: Makes an empty structure.
        over: Makes one that reads another cache's structure where it has nothing itself; None:
            caches beside each other share nothing.
    """

    def __init__(self, make: Callable[[], T], over: Callable[[T], T] | None = None) -> None:
        self.make = make
        self.over = over


class Cache:
    """Cached structures by slot."""

    def __init__(self, below: "Cache | None" = None) -> None:
        self._held: dict[Slot[Any], object] = {}
        self._below = below

    def of(self, slot: Slot[T]) -> T:
        """Return the structure of a slot; an empty one at first."""
        held = self._held.get(slot)
        if held is None:
            held = self._held.setdefault(slot, self._made(slot))
        return cast("T", held)

    def beside(self) -> "Cache":
        """Return one for another thread, which reads what this one shares.

        What the thread computes stays there, so that jobs of a what-if are not kept.
        """
        return Cache(self)

    def _made(self, slot: Slot[T]) -> T:
        if self._below is None or slot.over is None:
            return slot.make()
        return slot.over(self._below.of(slot))
