"""Objects that no index counts: kept by key, shown to decisions under a name of their own."""

from collections.abc import Callable, Iterable, Mapping
from itertools import groupby
from operator import attrgetter
from types import MappingProxyType
from typing import Generic, Protocol, TypeVar

from extender.store.table import Table
from shared import devices
from shared.model import DeviceClass, ResourceQuota


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


class DeviceClasses(Collection[str, DeviceClass]):
    """Device classes, and the resources that they serve."""

    def __init__(self) -> None:
        super().__init__(attrgetter("name"))
        self._served_from: Mapping[str, DeviceClass] | None = None
        self._served: Mapping[str, str] = MappingProxyType({})

    def served(self) -> Mapping[str, str]:
        """The class behind each resource; the same object until something changes."""
        if self.frozen() is not self._served_from:
            self._served_from = self.frozen()
            self._served = MappingProxyType(devices.served_resources(self.all()))
        return self._served


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
