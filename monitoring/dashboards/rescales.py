"""Rescales: causes and outcomes, workers added and removed."""

from typing import Final

from monitoring.panels import WINDOW, Dashboard, Row, Unit, count, lines, number


def _in_the_window(metric: str, by: str = "") -> str:
    return f"sum{by} (increase({metric}{{@}}[{WINDOW}]))"


_NOW: Final = (
    number(
        "Rescaling jobs",
        "Jobs whose number of workers is changing now.",
        Unit.NUMBER,
        "sum(shuntyard_rescaling_jobs{@})",
    ),
    count(
        "Workers added",
        "Workers added to jobs in the window.",
        _in_the_window("shuntyard_workers_added_total"),
    ),
    count(
        "Workers removed",
        "Workers removed from jobs in the window.",
        _in_the_window("shuntyard_workers_removed_total"),
    ),
    count(
        "Aborted",
        "Changes given up in the window; shuntyard rescales shows why.",
        f'sum(increase(shuntyard_rescales_total{{@, outcome="Aborted"}}[{WINDOW}]))',
    ),
)
_WHY: Final = (
    lines(
        "Rescales by cause",
        "Changes of workers that ended in the window, by cause.",
        Unit.NUMBER,
        (_in_the_window("shuntyard_rescales_total", " by (cause)"), "{{cause}}"),
    ),
    lines(
        "Rescales by outcome",
        "The same by outcome.",
        Unit.NUMBER,
        (_in_the_window("shuntyard_rescales_total", " by (outcome)"), "{{outcome}}"),
    ),
    lines(
        "Workers added and removed",
        "Workers in the window that jobs were given, and that left jobs.",
        Unit.NUMBER,
        (_in_the_window("shuntyard_workers_added_total"), "added"),
        (_in_the_window("shuntyard_workers_removed_total"), "removed"),
    ),
)
RESCALES: Final = Dashboard(
    name="rescales",
    title="Rescales",
    about="Causes and outcomes, workers added and removed.",
    rows=(Row("In the window", _NOW), Row("Changes", _WHY)),
)
