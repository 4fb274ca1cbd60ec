"""Label selectors of owners and disruption budgets."""

from collections.abc import Mapping
from typing import Final

from msgspec import Struct

MOST_LINES: Final = 16
"""Expressions of a selector: each costs time for each pod. Controllers write none, and people write
two or three."""

MOST_VALUES: Final = 64
"""Values of one expression, for the same reason."""


class Line(Struct, frozen=True):
    """``matchExpressions[]``."""

    key: str
    operator: str
    values: tuple[str, ...] | None = None

    def matches(self, value: str | None) -> bool:
        """Return True if it matches a label's value; None: the label is missing."""
        match self.operator:
            case "In":
                return value in (self.values or ())
            case "NotIn":
                return value not in (self.values or ())
            case "Exists":
                return value is not None
            case "DoesNotExist":
                return value is None
            case _:
                return False


class LabelSelector(Struct, frozen=True, rename="camel"):
    """A selector; one without labels and expressions matches everything.

    Source:
        k8s.io/apimachinery pkg/apis/meta/v1 ``LabelSelector``.
    """

    match_labels: Mapping[str, str] | None = None
    match_expressions: tuple[Line, ...] | None = None

    def matches(self, labels: Mapping[str, str]) -> bool:
        """Return True if an object with these labels is selected."""
        for key, value in (self.match_labels or {}).items():
            if labels.get(key) != value:
                return False
        return all(line.matches(labels.get(line.key)) for line in self.match_expressions or ())

    @property
    def small(self) -> bool:
        """True if it may be matched with every pod: ``MOST_LINES``, ``MOST_VALUES``."""
        lines = self.match_expressions or ()
        return (
            len(self.match_labels or ()) <= MOST_LINES
            and len(lines) <= MOST_LINES
            and all(len(line.values or ()) <= MOST_VALUES for line in lines)
        )


NOTHING: Final = LabelSelector(match_expressions=(Line("", "Never"),))
"""Matches no object."""


def select_label(key: str, name: str) -> LabelSelector:
    """Return a selector of the objects whose label ``key`` is ``name``."""
    return LabelSelector(match_labels={key: name})
