"""The forms of rules: recordings and alerts."""

from dataclasses import dataclass
from enum import StrEnum


class Severity(StrEnum):
    """How urgent an alert is."""

    CRITICAL = "critical"
    """Wakes a person: nothing is scheduled, or a promise is broken now."""
    WARNING = "warning"
    """For working hours."""
    INFO = "info"
    """For information."""


@dataclass(frozen=True)
class Recording:
    """A query that Prometheus evaluates continuously.

    Attributes:
        name: ``level:metric:operation``.
        text: PromQL.
    """

    name: str
    text: str


@dataclass(frozen=True)
class Alert:
    """An alert and its texts.

    Attributes:
        name: Also the name of its page in docs/runbooks.
        text: PromQL; each series it gives is an alert.
        wait: How long it must be so; Prometheus' duration, empty for at once.
        summary: One line, with ``{{ $labels.x }}`` and ``{{ $value }}``.
        about: What it means, in whole sentences.
    """

    name: str
    severity: Severity
    text: str
    wait: str
    summary: str
    about: str
