"""Convergence: training progress of each job, as the agents read it."""

from typing import Final

from monitoring.panels import RATE, Dashboard, Row, Unit, lines, number, stacked, wide

_JOB: Final = "{{job_namespace}}/{{job_name}} {{role}} {{index}}"
_LABELS: Final = "job_namespace, job_name, role, index"


def _by_pod(metric: str) -> str:
    return f"max by ({_LABELS}) ({metric}{{@}})"


_NOW: Final = tuple(
    number(
        f"Pods {category}",
        f"Pods whose training is {what}, by SpeCon's categories.",
        Unit.NUMBER,
        f'max(shuntyard_training_pods{{@, category="{category}"}})',
    )
    for category, what in (
        ("progressing", "getting better fast"),
        ("watching", "slowing down"),
        ("converged", "hardly getting better"),
    )
)
_CATEGORIES: Final = (
    stacked(
        lines(
            "Pods by category",
            "Pods whose training is followed, by SpeCon's category (docs/policies/convergence.md).",
            Unit.NUMBER,
            ("max by (category) (shuntyard_training_pods{@})", "{{category}}"),
        )
    ),
    lines(
        "Growth",
        "Last growth of each training run's metric, which decides its category.",
        Unit.NUMBER,
        (_by_pod("shuntyard_agent_job_growth_ratio"), _JOB),
    ),
    lines(
        "Steps per second",
        "How fast each training run goes.",
        Unit.PER_SECOND,
        (f"max by ({_LABELS}) (deriv(shuntyard_agent_job_step{{@}}[{RATE}]))", _JOB),
    ),
)
_CURVES: Final = (
    wide(
        lines(
            "Loss curves",
            "Last value of the metric from which the category is computed, of each training run.",
            Unit.NUMBER,
            (_by_pod("shuntyard_agent_job_value"), _JOB),
        )
    ),
    wide(
        lines(
            "Progress",
            "Share of the steps done, for runs with a known total.",
            Unit.SHARE,
            (
                f"{_by_pod('shuntyard_agent_job_step')} / "
                f"{_by_pod('shuntyard_agent_job_total_steps')}",
                _JOB,
            ),
        )
    ),
)
_ENDS: Final = (
    wide(
        lines(
            "Predicted time left",
            "Remaining time of each training run by the curve fit.",
            Unit.SECONDS,
            (_by_pod("shuntyard_agent_job_remaining_seconds"), _JOB),
        )
    ),
    wide(
        lines(
            "Drift of the prediction",
            "Seconds by which the predicted end moves in a second: 0 is a prediction that holds, "
            "1 one that moves away as fast as time goes by, below 0 it comes nearer.",
            Unit.NUMBER,
            (
                f"1 + max by ({_LABELS}) "
                f"(deriv(shuntyard_agent_job_remaining_seconds{{@}}[{RATE}]))",
                _JOB,
            ),
        )
    ),
)
CONVERGENCE: Final = Dashboard(
    name="convergence",
    title="Convergence",
    about="Training progress of each job, as the agents read it.",
    rows=(
        Row("Now", _NOW),
        Row("Categories", _CATEGORIES),
        Row("Curves", _CURVES),
        Row("Ends", _ENDS),
    ),
)
