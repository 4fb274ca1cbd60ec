"""Kubernetes quantities: ``100m``, ``1.5Gi``, ``2e3``; rounded up to whole base units."""

import re
from decimal import Decimal
from fractions import Fraction
from typing import Final

from shared.errors import QuantityError

_SUFFIXES: Final[dict[str, Fraction]] = {
    "n": Fraction(1, 10**9),
    "u": Fraction(1, 10**6),
    "m": Fraction(1, 10**3),
    "": Fraction(1),
    **{s: Fraction(10 ** (3 * (i + 1))) for i, s in enumerate(("k", "M", "G", "T", "P", "E"))},
    **{f"{s}i": Fraction(2 ** (10 * (i + 1))) for i, s in enumerate("KMGTPE")},
}
_PATTERN: Final = re.compile(
    r"([+-]?(?:\d+\.?\d*|\.\d+))(?:([eE][+-]?\d+)|([numkMGTPE]|[KMGTPE]i)?)"
)
_EXPECTED: Final = "a Kubernetes quantity such as 500m, 2 or 1.5Gi"
LARGEST: Final = 2**53
"""Largest amount in base units: 8 PiB, 9 million million cores. No node has so much, and a thousand
of them can be added in 64 bits. The API server accepts requests of a thousand times as much, which
fit nowhere either."""
LONGEST_TEXT: Final = 64
"""Characters; the API server writes no longer one."""
_MOST_EXPONENT: Final = 40
"""Exponents beyond it, either way, do not occur."""


def parse(text: str, *, field: str = "quantity") -> Fraction:
    """Return the exact value of a quantity in its own unit (CPUs, bytes, pieces).

    Raises:
        QuantityError: ``text`` is not a quantity.

    Source:
        k8s.io/apimachinery/pkg/api/resource, grammar in the comment of ``Quantity``.
    """
    match = _PATTERN.fullmatch(text) if len(text) <= LONGEST_TEXT else None
    if match is None:
        raise QuantityError(field, text, _EXPECTED)
    number, exponent, suffix = match.groups()
    value = Fraction(Decimal(number))
    if exponent:
        if abs(int(exponent[1:])) > _MOST_EXPONENT:
            raise QuantityError(field, text, _EXPECTED)
        return value * Fraction(Decimal(f"1{exponent}"))
    return value * _SUFFIXES[suffix or ""]


def base_units(resource: str, text: str, *, field: str | None = None) -> int:
    """Return the amount of ``resource`` in base units, rounded up: milli-CPU, else whole units.

    ``LARGEST`` at most, either way.

    Raises:
        QuantityError: ``text`` is not a quantity.
    """
    value = parse(text, field=field or f"quantity of {resource}")
    return rounded_up(resource, value)


def rounded_up(resource: str, amount: Fraction) -> int:
    """Return milli-CPU for ``cpu``, whole units for everything else; ``LARGEST`` at most."""
    scaled = amount * 1000 if resource == "cpu" else amount
    return max(-LARGEST, min(LARGEST, -(-scaled.numerator // scaled.denominator)))
