"""Fairness and SLA: time left of maximum waits, missed ones, and the terms of the order."""

from typing import Final

from monitoring.panels import (
    RATE,
    WINDOW,
    Dashboard,
    Row,
    Unit,
    heatmap,
    lines,
    number,
    quantiles,
    stacked,
    wide,
)

_NOW: Final = (
    number(
        "Least time left",
        "The least that is left of a waiting job's maximum wait; negative if it is over, empty "
        "while no job that waits has one.",
        Unit.SECONDS,
        "min(shuntyard_max_wait_left_seconds{@} > -Inf)",
    ),
    number(
        "Missed",
        "Jobs that were released after their maximum wait was over.",
        Unit.NUMBER,
        f"sum(increase(shuntyard_max_wait_missed_total{{@}}[{WINDOW}]))",
    ),
    number(
        "Over and still waiting",
        "Waiting jobs whose maximum wait is over.",
        Unit.NUMBER,
        'sum(shuntyard_max_wait_jobs{@, left="none"})',
    ),
    number(
        "Longest wait",
        "Wait of the job that has waited longest, with or without a maximum wait.",
        Unit.SECONDS,
        "max(shuntyard_longest_wait_seconds{@})",
    ),
)
_COUNTDOWN: Final = (
    stacked(
        lines(
            "Countdown",
            "Waiting jobs that have a maximum wait, by how much of it is left at most.",
            Unit.NUMBER,
            ("sum by (left) (shuntyard_max_wait_jobs{@})", "{{left}}"),
        )
    ),
    lines(
        "Time left",
        "Least remaining maximum wait of a waiting job; below 0 it is over.",
        Unit.SECONDS,
        ("min(shuntyard_max_wait_left_seconds{@} > -Inf)", "least time left"),
    ),
    lines(
        "Late jobs",
        "Jobs that were released after their maximum wait, in the window.",
        Unit.NUMBER,
        (f"sum(increase(shuntyard_max_wait_missed_total{{@}}[{WINDOW}]))", "late"),
    ),
)
_WAITS: Final = (
    heatmap(
        "Wait until release",
        "Jobs by their wait when their gang was released: the darker, the more.",
        Unit.SECONDS,
        f"sum by (le) (increase(shuntyard_job_wait_seconds_bucket{{@}}[{RATE}]))",
        "le",
    ),
    wide(
        lines(
            "Wait by percentile",
            "Median and high quantiles: far apart means that few jobs pay for all others.",
            Unit.SECONDS,
            *quantiles("shuntyard_job_wait_seconds", WINDOW),
        )
    ),
)
_ORDER: Final = (
    wide(
        lines(
            "Terms of V, first job",
            "Terms of V of the job that is placed first, each from 0 to 1: user priority, class, "
            "time, urgency among the waiting, number of workers among the waiting.",
            Unit.SHARE,
            ('max by (term) (shuntyard_priority_term_ratio{@, whose="first"})', "{{term}}"),
        )
    ),
    wide(
        lines(
            "Terms of V, mean",
            "The same of all jobs that wait. A first job far above the mean in one term says what "
            "decides the order.",
            Unit.SHARE,
            ('max by (term) (shuntyard_priority_term_ratio{@, whose="mean"})', "{{term}}"),
        )
    ),
)
FAIRNESS: Final = Dashboard(
    name="fairness",
    title="Fairness and SLA",
    about="Time left of maximum waits, missed ones, and the terms of the order.",
    rows=(
        Row("Now", _NOW),
        Row("Maximum waits", _COUNTDOWN),
        Row("Waits", _WAITS),
        Row("Order", _ORDER),
    ),
)
