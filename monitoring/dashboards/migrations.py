"""Migrations: outcomes, causes and costs; work kept and lost."""

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
    quantiles,
    wide,
)

_STEPS: Final = "shuntyard_migration_{0}_steps_total"


def _in_the_window(metric: str) -> str:
    return f"sum(increase({metric}{{@}}[{WINDOW}]))"


_NOW: Final = (
    number(
        "Migrating jobs",
        "Migrations that are open.",
        Unit.NUMBER,
        "sum(shuntyard_migrating_jobs{@})",
    ),
    count(
        "Completed",
        "Migrations completed in the window.",
        f'sum(increase(shuntyard_migrations_total{{@, outcome="completed"}}[{WINDOW}]))',
    ),
    limited(
        count(
            "Not completed",
            "Migrations aborted or failed in the window; shuntyard migrations shows why.",
            f'sum(increase(shuntyard_migrations_total{{@, outcome!="completed"}}[{WINDOW}]))',
        ),
        (1.0, Level.WARNING),
    ),
    number(
        "Expected gain",
        "What the completed migrations of the window were expected to gain.",
        Unit.SECONDS,
        _in_the_window("shuntyard_migration_expected_gain_seconds_total"),
    ),
    number(
        "Downtime",
        "Total pause of training for them.",
        Unit.SECONDS,
        _in_the_window("shuntyard_migration_downtime_seconds_sum"),
    ),
    limited(
        count(
            "Steps lost",
            "Training steps that had to be repeated; 0 with checkpoints.",
            _in_the_window(_STEPS.format("lost")),
        ),
        (1.0, Level.WARNING),
    ),
)
_LEDGER: Final = (
    wide(
        lines(
            "Outcomes",
            "Migrations in the window, by what asked for them and how they ended.",
            Unit.NUMBER,
            (
                "sum by (trigger, outcome) "
                f"(increase(shuntyard_migrations_total{{@}}[{WINDOW}])) > 0",
                "{{trigger}} {{outcome}}",
            ),
        )
    ),
    wide(
        lines(
            "Work kept and lost",
            "Training steps in the window that evicted pods went on from, and steps that had to be "
            "taken again.",
            Unit.NUMBER,
            (_in_the_window(_STEPS.format("kept")), "kept"),
            (_in_the_window(_STEPS.format("lost")), "lost"),
        )
    ),
)
_COSTS: Final = (
    lines(
        "Downtime",
        "From the eviction to the resumed training, of the migrations completed in the window.",
        Unit.SECONDS,
        *quantiles("shuntyard_migration_downtime_seconds", WINDOW),
    ),
    lines(
        "Time per phase",
        "Mean time of the migrations of the window in each phase (docs/migration.md).",
        Unit.SECONDS,
        (
            "sum by (phase) "
            f"(increase(shuntyard_migration_phase_duration_seconds_sum{{@}}[{WINDOW}]))"
            " / (sum by (phase) "
            f"(increase(shuntyard_migration_phase_duration_seconds_count{{@}}[{WINDOW}])) > 0)",
            "{{phase}}",
        ),
    ),
    lines(
        "Agent commands",
        "Commands to agents, by outcome.",
        Unit.NUMBER,
        (
            f"sum by (outcome) (increase(shuntyard_agent_commands_total{{@}}[{WINDOW}])) > 0",
            "{{outcome}}",
        ),
    ),
)
MIGRATIONS: Final = Dashboard(
    name="migrations",
    title="Migrations",
    about="Outcomes, causes and costs; work kept and lost.",
    rows=(Row("In the window", _NOW), Row("Ledger", _LEDGER), Row("Costs", _COSTS)),
)
