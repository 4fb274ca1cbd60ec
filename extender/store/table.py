"""Observed objects by key, in mappings that one writer changes and many snapshots share.

A ``Table`` is copied before a change, if a snapshot holds it. Nearly every snapshot is dropped
before the next change, so the table of a hundred thousand pods is not copied for each event of one
pod. CPython's reference counts tell whether a reader still holds the mapping, or a view or an
iterator of it. ADR 15 compares this with persistent maps. A snapshot that a reader keeps costs one
copy, with O(pods), at the next change of each table.

Interpreters without exact reference counts do not work: those without a GIL count in another way,
and those that borrow references count too few. Importing this module checks both directions.
"""

from collections.abc import Callable, Iterable, Mapping
from itertools import groupby
from operator import attrgetter, length_hint
from sys import getrefcount
from types import MappingProxyType
from typing import Final, Generic, Protocol, TypeVar

from shared.model import ResourceQuota


class Keyed(Protocol):
    """An entity of ``shared.model``."""

    @property
    def key(self) -> str:
        """Unique among its kind."""
        ...


E = TypeVar("E", bound=Keyed)
K = TypeVar("K")


class Collection(Generic[K, E]):
    """All objects of one kind.

    Args:
        shown_as: The key under which a decision finds an object.
    """

    def __init__(self, shown_as: Callable[[E], K]) -> None:
        self._shown_as = shown_as
        self._by_key: dict[str, E] = {}
        self._table: Table[K, E] = Table()

    def get(self, key: str) -> E | None:
        """The object."""
        return self._by_key.get(key)

    def all(self) -> Iterable[E]:
        """Every object."""
        return self._by_key.values()

    def put(self, entity: E) -> None:
        """Add or change an object."""
        self._by_key[entity.key] = entity
        self._table.set(self._shown_as(entity), entity)

    def remove(self, entity: E) -> None:
        """Take an object away."""
        del self._by_key[entity.key]
        self._table.set(self._shown_as(entity), None)

    def frozen(self) -> Mapping[K, E]:
        """Return them read-only; what is held of the answer never changes."""
        return self._table.frozen()


class Quotas(Collection[str, ResourceQuota]):
    """Quotas, also grouped."""

    def __init__(self) -> None:
        super().__init__(attrgetter("key"))
        self._grouped_from: Mapping[str, ResourceQuota] | None = None
        self._grouped: Mapping[str, tuple[ResourceQuota, ...]] = MappingProxyType({})

    def by_namespace(self) -> Mapping[str, tuple[ResourceQuota, ...]]:
        """Quotas of each namespace in order of name; the same object until something changes."""
        if self.frozen() is not self._grouped_from:
            self._grouped_from = self.frozen()
            quotas = sorted(self.all(), key=attrgetter("namespace", "name"))
            groups = groupby(quotas, key=attrgetter("namespace"))
            self._grouped = MappingProxyType({name: tuple(group) for name, group in groups})
        return self._grouped


V = TypeVar("V")


class Table(Generic[K, V]):
    """Rows by key; ``set`` copies them first if a reader holds what ``frozen`` returned."""

    def __init__(self) -> None:
        self._rows: dict[K, V] = {}
        self._frozen: Mapping[K, V] | None = None

    def set(self, key: K, value: V | None) -> None:
        """Put a value under the key; None removes the key."""
        if value is self._rows.get(key):
            return
        if self._frozen is not None and self._references() != _UNSHARED:
            self._rows, self._frozen = self._rows.copy(), None
        if value is None:
            del self._rows[key]
        else:
            self._rows[key] = value

    def get(self, key: K) -> V | None:
        """Return the value under the key."""
        return self._rows.get(key)

    def all(self) -> Iterable[V]:
        """Every value; good until the next change."""
        return self._rows.values()

    def frozen(self) -> Mapping[K, V]:
        """Return the rows read-only; the returned mapping never changes while it is held."""
        if self._frozen is None:
            self._frozen = MappingProxyType(self._rows)
        return self._frozen

    def _references(self) -> tuple[int, int]:
        return getrefcount(self._frozen), getrefcount(self._rows)


def _unshared() -> tuple[int, int]:
    """Return the counts of a table without readers, taken by the code that compares them."""
    table = Table[int, int]()
    table.frozen()
    return table._references()  # noqa: SLF001 - of this module's own class


_UNSHARED: Final = _unshared()


def check_interpreter() -> None:
    """Check that held mappings, views and iterators are counted, and dropped ones are not.

    Raises:
        ImportError: Reference counts of this interpreter do not work so: snapshots could change.
    """
    table = Table[int, int]()
    table.set(1, 1)
    mapping = table.frozen()
    table.set(2, 2)
    keys = table.frozen().keys()
    table.set(3, 3)
    iterator = iter(table.frozen())
    table.set(4, 4)
    table.frozen()
    rows = table._rows  # noqa: SLF001 - of this module's own class
    rows_id = id(rows)
    del rows
    table.set(5, 5)
    kept = (len(mapping), len(keys), length_hint(iterator)) == (1, 2, 3)
    if not kept or id(table._rows) != rows_id:  # noqa: SLF001 - as above
        raise ImportError("expected an interpreter with exact reference counts: CPython with GIL")


check_interpreter()
