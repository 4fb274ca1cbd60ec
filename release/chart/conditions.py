"""Which values of the chart choose between variants of an object, as a template's condition."""

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from release.errors import ReleaseError

Variant = tuple[bool, ...]
"""One truth value for each switch."""
Variants = frozenset[Variant]


@dataclass(frozen=True)
class Switches:
    """Values that are on or off.

    Attributes:
        expressions: Template expressions, one for each switch.
    """

    expressions: tuple[str, ...]

    @property
    def all(self) -> Variants:
        """Every variant."""
        return frozenset(itertools.product((False, True), repeat=len(self.expressions)))

    def condition(self, wanted: Variants, within: Variants) -> str:
        """Return an expression that is true for exactly the wanted variants.

        Args:
            wanted: Some of the variants.
            within: The variants that are possible where the condition is used.

        Returns:
            The shortest expression; "" if all possible variants are wanted.

        Raises:
            ReleaseError: More than two switches would be needed.
        """
        if wanted == within:
            return ""
        for expression, fitting in self._candidates():
            if fitting & within == wanted:
                return expression
        raise ReleaseError(f"no condition over {', '.join(self.expressions)} for {sorted(wanted)}")

    def _candidates(self) -> Iterator[tuple[str, Variants]]:
        literals = [
            (_literal(expression, value), self._fitting(number, value))
            for number, expression in enumerate(self.expressions)
            for value in _VALUES
        ]
        yield from literals
        for (first, some), (second, others) in itertools.combinations(literals, 2):
            yield f"and ({first}) ({second})", some & others
            yield f"or ({first}) ({second})", some | others

    def _fitting(self, number: int, value: bool) -> Variants:  # noqa: FBT001 - it is the value
        return frozenset(one for one in self.all if one[number] is value)


_VALUES: Final = (True, False)


def _literal(expression: str, value: bool) -> str:  # noqa: FBT001 - it is the value
    if value:
        return expression
    return f"not ({expression})" if " " in expression else f"not {expression}"
