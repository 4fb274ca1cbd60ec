"""A mapping that one writer changes and many snapshots share."""

from collections.abc import Mapping
from sys import getrefcount
from types import MappingProxyType
from typing import Final, Generic, TypeVar

K = TypeVar("K")
V = TypeVar("V")


class Table(Generic[K, V]):
    """Copied before a change that somebody who has looked at it could see, and only then.

    Nearly every look is over before the next change: a cluster of a hundred thousand pods is not
    copied for each event of one of them. Who still looks is told by CPython's reference counts, of
    the mapping that was given out and of the rows below it, which views and iterators hold.
    """

    def __init__(self) -> None:
        self._rows: dict[K, V] = {}
        self._frozen: Mapping[K, V] | None = None

    def set(self, key: K, value: V | None) -> None:
        """Put a value under the key; None takes it away."""
        if value is self._rows.get(key):
            return
        if self._frozen is not None and self._references() != _NOBODY_LOOKS:
            self._rows, self._frozen = self._rows.copy(), None
        if value is None:
            del self._rows[key]
        else:
            self._rows[key] = value

    def frozen(self) -> Mapping[K, V]:
        """Return it read-only; what is held of the answer never changes."""
        if self._frozen is None:
            self._frozen = MappingProxyType(self._rows)
        return self._frozen

    def _references(self) -> tuple[int, int]:
        return getrefcount(self._frozen), getrefcount(self._rows)


def _nobody_looks() -> tuple[int, int]:
    """Return the counts of a table that nobody looks at, counted by the very code that asks."""
    table = Table[int, int]()
    table.frozen()
    return table._references()  # noqa: SLF001 - of this module's own class


_NOBODY_LOOKS: Final = _nobody_looks()
