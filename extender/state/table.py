"""A mapping that one writer changes and many snapshots share."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Generic, TypeVar

K = TypeVar("K")
V = TypeVar("V")


class Table(Generic[K, V]):
    """Copied when it is asked for after a change, not at each change: a burst costs one copy."""

    def __init__(self) -> None:
        self._rows: dict[K, V] = {}
        self._frozen: Mapping[K, V] | None = None

    def set(self, key: K, value: V | None) -> None:
        """Put a value under the key; None takes it away."""
        if value is not None:
            self._rows[key] = value
            self._frozen = None
        elif key in self._rows:
            del self._rows[key]
            self._frozen = None

    def frozen(self) -> Mapping[K, V]:
        """A read-only copy; the same object until something changes."""
        if self._frozen is None:
            self._frozen = MappingProxyType(self._rows.copy())
        return self._frozen
