"""Names of metrics that a parser remembers, with a bound: programs make names up."""

from sys import getsizeof
from typing import Final, Generic, TypeVar

MOST_METRICS: Final = 256
"""Names of one source; a training script has ten, a very thorough one a hundred."""
ENTRY_BYTES: Final = 160
"""For the place of a name and a small value."""

T = TypeVar("T")


class Names(Generic[T]):
    """Something about each name; names beyond the bound are not remembered.

    Attributes:
        held_bytes: Roughly what they take.
    """

    def __init__(self) -> None:
        self.held_bytes = 0
        self._said: dict[str, T] = {}

    def __contains__(self, name: str) -> bool:
        return name in self._said

    def get(self, name: str) -> T | None:
        """Return what was put under a name; None if nothing was."""
        return self._said.get(name)

    def put(self, name: str, said: T) -> bool:
        """Remember something small; return whether there is room for the name."""
        if name not in self._said:
            if len(self._said) >= MOST_METRICS:
                return False
            self.held_bytes += getsizeof(name) + ENTRY_BYTES
        self._said[name] = said
        return True

    def clear(self) -> None:
        """Forget all."""
        self._said = {}
        self.held_bytes = 0

    def without(self, names: "set[str] | dict[str, float]") -> list[str]:
        """Return the remembered names that are not among ``names``, in order."""
        return sorted(self._said.keys() - names)
