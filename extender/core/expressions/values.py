"""Values that Kubernetes adds to CEL: quantities and semantic versions; and optional values.

Source:
    k8s.io/apiserver v0.36.3, pkg/cel/library ``quantity.go``, ``semverlib.go``; Semantic
    Versioning 2.0.0, section 11.
"""

import re
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

from extender.core.expressions.errors import EvaluationError
from shared import quantity
from shared.errors import QuantityError

_SEMVER: Final = re.compile(
    r"(0|[1-9]\d{0,17})\.(0|[1-9]\d{0,17})\.(0|[1-9]\d{0,17})"
    r"(?:-([0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*))?(?:\+[0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*)?"
)
_PARTS: Final = 3


@dataclass(frozen=True, slots=True, order=True)
class Quantity:
    """An exact amount in its own unit."""

    amount: Fraction

    @classmethod
    def of(cls, text: str) -> "Quantity":
        """Read a quantity.

        Raises:
            EvaluationError: It is none.
        """
        try:
            return cls(quantity.parse(text))
        except QuantityError as error:
            raise EvaluationError(str(error)) from error


@dataclass(frozen=True, slots=True)
class Semver:
    """A semantic version; what follows ``+`` does not count."""

    numbers: tuple[int, int, int]
    pre: tuple[str, ...]

    @classmethod
    def of(cls, text: str, *, normalize: bool = False) -> "Semver":
        """Read a version; ``normalize`` accepts a leading v, missing parts and leading zeros.

        Raises:
            EvaluationError: It is none.
        """
        match = _SEMVER.fullmatch(_normalized(text) if normalize else text)
        if match is None:
            raise EvaluationError(f"{text[:64]!r} is not a semantic version")
        major, minor, patch, pre = match.groups()
        parts = tuple(pre.split(".")) if pre else ()
        if any(part.isdigit() and part != "0" and part.startswith("0") for part in parts):
            raise EvaluationError(f"{text[:64]!r} is not a semantic version")
        return cls((int(major), int(minor), int(patch)), parts)

    @property
    def rank(self) -> tuple[object, ...]:
        """What versions are compared by."""
        parts = tuple((0, int(p), "") if p.isdigit() else (1, 0, p) for p in self.pre)
        return (self.numbers, not self.pre, parts)


def _normalized(text: str) -> str:
    cut = re.search(r"[-+]", text)
    core, rest = (text[: cut.start()], text[cut.start() :]) if cut else (text, "")
    parts = core.removeprefix("v").split(".")
    parts += ["0"] * (_PARTS - len(parts))
    return ".".join(part.lstrip("0") or "0" for part in parts) + rest


@dataclass(frozen=True, slots=True)
class Optional:
    """A value that may be missing."""

    present: bool
    value: object = None


NONE: Final = Optional(present=False)


class Domains(dict[str, object]):
    """Attributes or capacities by domain: an unknown domain has none, rather than an error.

    Source:
        k8s.io/dynamic-resource-allocation v0.36.3, cel ``newStringInterfaceMapWithDefault``.
    """

    __slots__ = ()

    def __missing__(self, key: str) -> object:
        return {}
