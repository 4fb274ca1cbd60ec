"""What a rule is."""

from dataclasses import dataclass
from enum import StrEnum


class Severity(StrEnum):
    """What an alert asks of people."""

    CRITICAL = "critical"
    """Somebody is woken: nothing is scheduled, or what was promised is broken now."""
    WARNING = "warning"
    """Somebody looks in working hours."""
    INFO = "info"
    """Somebody may want to know."""


@dataclass(frozen=True)
class Recording:
    """A query that Prometheus answers all the time.

    Attributes:
        name: ``level:metric:operation``.
        text: PromQL.
    """

    name: str
    text: str


@dataclass(frozen=True)
class Alert:
    """What people are told.

    Attributes:
        name: Also that of its page in docs/runbooks.
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
