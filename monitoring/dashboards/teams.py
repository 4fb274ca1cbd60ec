"""GPUs and teams: what is used, free and stranded; queue and GPU hours by namespace."""

from typing import Final

from monitoring.panels import (
    WINDOW,
    Dashboard,
    Level,
    Row,
    Unit,
    limited,
    lines,
    number,
    stacked,
    table,
    wide,
)

_TEAM: Final = 'team=~"$namespace"'
_WAITING: Final = f"sum by (team) (shuntyard_team_waiting_jobs{{@, {_TEAM}}})"
_HELD: Final = f"max by (team) (shuntyard_team_gpus{{@, {_TEAM}}})"
_HOURS: Final = (
    f"max by (team) (increase(shuntyard_team_gpu_seconds_total{{@, {_TEAM}}}[{WINDOW}])) / 3600"
)
"""Every replica counts all GPUs, so their counters are not added."""


def _gpus(state: str) -> str:
    return f'max(shuntyard_gpus{{@, state="{state}"}})'


_NOW: Final = (
    number(
        "GPUs used",
        "GPUs that pods of any scheduler and reservations take.",
        Unit.NUMBER,
        _gpus("used"),
    ),
    number("GPUs free", "GPUs that a pod could have.", Unit.NUMBER, _gpus("free")),
    limited(
        number(
            "GPUs stranded",
            "Free GPUs that no pod can have: their node takes no pods, or is out of CPU, memory or "
            "pods.",
            Unit.NUMBER,
            _gpus("stranded"),
        ),
        (1.0, Level.WARNING),
    ),
    number(
        "Teams that wait",
        "Chosen namespaces with waiting jobs.",
        Unit.NUMBER,
        f"count({_WAITING} > 0) or vector(0)",
    ),
)
_GPUS: Final = (
    stacked(
        wide(
            lines(
                "GPUs of the cluster",
                "Used, free and stranded; together they are all GPUs of all nodes.",
                Unit.NUMBER,
                ("max by (state) (shuntyard_gpus{@})", "{{state}}"),
            )
        )
    ),
    stacked(
        wide(
            lines(
                "GPUs by team",
                "GPUs that the bound and released pods of each namespace request.",
                Unit.NUMBER,
                (f"{_HELD} > 0", "{{team}}"),
            )
        )
    ),
)
_TEAMS: Final = (
    stacked(
        wide(
            lines(
                "Queue by team",
                "Waiting jobs of each namespace.",
                Unit.NUMBER,
                (f"{_WAITING} > 0", "{{team}}"),
            )
        )
    ),
    table(
        "Teams",
        "Waiting jobs and GPUs now, and GPU hours in the window, by namespace.",
        Unit.NUMBER,
        (_WAITING, "waiting jobs"),
        (_HELD, "GPUs"),
        (_HOURS, "GPU hours"),
    ),
)
TEAMS: Final = Dashboard(
    name="teams",
    title="GPUs and teams",
    about="GPUs that are used, free and stranded; queue and GPU hours by namespace.",
    rows=(
        Row("Now", tuple(wide(one, 6) for one in _NOW)),
        Row("GPUs", _GPUS),
        Row("Teams", _TEAMS),
    ),
)
