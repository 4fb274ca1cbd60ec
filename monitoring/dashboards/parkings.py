"""Parkings: why jobs leave and come back, what that costs, and the budgets of drains."""

from typing import Final

from monitoring.panels import (
    WINDOW,
    Dashboard,
    Level,
    Row,
    Unit,
    count,
    limited,
    lines,
    number,
    stacked,
    wide,
)

_ENDED: Final = "shuntyard_parkings_total"


def _in_the_window(metric: str, matchers: str = "", by: str = "") -> str:
    return f"sum{by} (increase({metric}{{@{matchers}}}[{WINDOW}]))"


def _each(metric: str, times: str, matchers: str = "") -> str:
    """Return the mean of a metric over what another one counted, by cause; 0 without any."""
    total = _in_the_window(metric, by=" by (cause)")
    count = _in_the_window(times, matchers, by=" by (cause)")
    return f"{total} / clamp_min({count}, 1)"


_RESUMED: Final = ', outcome="Resumed"'
_NOW: Final = (
    number(
        "Parked now",
        "Jobs that are parked, or about to be, or on their way back.",
        Unit.NUMBER,
        "sum(shuntyard_parking_jobs{@})",
    ),
    count(
        "Came back",
        "Parkings of the window that ended: the jobs run again.",
        _in_the_window(_ENDED, _RESUMED),
    ),
    limited(
        count(
            "Given up",
            "Parkings of the window that were aborted: the jobs ran on. shuntyard parkings shows "
            "why.",
            _in_the_window(_ENDED, ', outcome="Aborted"'),
        ),
        (5.0, Level.WARNING),
    ),
    number(
        "Waited parked",
        "How long the jobs of the window were parked, added up.",
        Unit.SECONDS,
        _in_the_window("shuntyard_parked_seconds_total"),
    ),
    limited(
        count(
            "Steps lost",
            "Training steps of the window that had to be done again; 0 with checkpoints.",
            _in_the_window("shuntyard_parking_lost_steps_total"),
        ),
        (1.0, Level.WARNING),
    ),
    number(
        "Budgets for drains",
        "PodDisruptionBudgets by which evictions wait for a checkpoint.",
        Unit.NUMBER,
        "sum(shuntyard_drain_budget_jobs{@})",
    ),
)
_WHY: Final = (
    wide(
        stacked(
            lines(
                "Parkings by cause",
                "Parkings that ended in the window: for a more important job (Priority), one that "
                "needs less (Order), a guaranteed share (Share), a drain, a lost node, a move, or "
                "its user (Manual).",
                Unit.NUMBER,
                (_in_the_window(_ENDED, by=" by (cause)"), "{{cause}}"),
            )
        )
    ),
    wide(
        stacked(
            lines(
                "Jobs by phase",
                "Where parkings are now: the trainers save (Asked), the pods leave (Suspending), "
                "the job waits (Parked), the pods come back (Resuming).",
                Unit.NUMBER,
                (
                    'sum by (phase) (shuntyard_parking_jobs{@, phase!~"Resumed|Aborted"})',
                    "{{phase}}",
                ),
            )
        )
    ),
)
_COST: Final = (
    lines(
        "Save",
        "How long the trainers saved before a parking, mean of the window by cause.",
        Unit.SECONDS,
        (_each("shuntyard_parking_save_seconds_total", _ENDED, _RESUMED), "{{cause}}"),
    ),
    lines(
        "Time parked",
        "From the end of the pods to the end of the suspension, mean of the window by cause.",
        Unit.SECONDS,
        (_each("shuntyard_parked_seconds_total", _ENDED, _RESUMED), "{{cause}}"),
    ),
    lines(
        "Restart",
        "From there to the first new step that an agent reports, mean of the window by cause.",
        Unit.SECONDS,
        (
            _each("shuntyard_parking_restart_seconds_total", "shuntyard_parking_restarts_total"),
            "{{cause}}",
        ),
    ),
)


def _of(cause: str) -> tuple[tuple[str, str], ...]:
    matchers = f', cause="{cause}"'
    ended = _in_the_window(_ENDED, matchers, by=" by (outcome)")
    return ((ended, "{{outcome}}"),)


_SOME: Final = (
    wide(
        lines(
            "Reclaims",
            "Parkings of the window that gave a namespace its guaranteed share back (Share).",
            Unit.NUMBER,
            *_of("Share"),
        ),
        6,
    ),
    wide(
        lines(
            "Gang moves",
            "Gangs that were moved as a whole in the window (Move).",
            Unit.NUMBER,
            *_of("Move"),
        ),
        6,
    ),
    wide(
        lines(
            "Drains",
            "Jobs that left a node in the window because it was about to go (Drain).",
            Unit.NUMBER,
            *_of("Drain"),
        ),
        6,
    ),
    wide(
        lines(
            "Drain budgets",
            "Budgets of ours, and running jobs that have none, by why.",
            Unit.NUMBER,
            ("sum(shuntyard_drain_budget_jobs{@})", "budgets"),
            ("sum by (reason) (shuntyard_no_drain_budget_jobs{@})", "none: {{reason}}"),
        ),
        6,
    ),
)
PARKINGS: Final = Dashboard(
    name="parkings",
    title="Parkings",
    about="Why jobs leave and come back, what that costs, and the budgets of drains.",
    rows=(
        Row("In the window", _NOW),
        Row("Why", _WHY),
        Row("What it costs", _COST),
        Row("Shares, moves and drains", _SOME),
    ),
)
