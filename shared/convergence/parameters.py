"""Which rule finds a run's category, and parameters of SpeCon's: as printed, and recommended."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Final

from annotated_types import Ge, Le
from typing_extensions import Doc


class Rule(StrEnum):
    """By what a training run gets its category."""

    EVIDENCE = "evidence"
    """Its whole curve."""
    SPECON = "specon"
    """SpeCon's Algorithm 1: the last two intervals."""


class Normalisation(StrEnum):
    """By what the change of the metric during an interval is divided."""

    ABSOLUTE = "absolute"
    """Nothing: the threshold has the metric's own unit."""
    RELATIVE_TO_PREVIOUS = "relative-to-previous"
    """The value at the tick before: the threshold is a percentage."""
    RELATIVE_TO_TOTAL_DROP = "relative-to-total-drop"
    """All that was gained since the first tick."""


@dataclass(frozen=True, kw_only=True)
class ConvergenceParameters:
    """When a training run counts as converged.

    Source:
        Mao et al., "Speculative Container Scheduling for Deep Learning Applications in a
        Kubernetes Cluster", IEEE Systems Journal 2021, arXiv 2010.11307, Sect. V-A and VI: 0.01 is
        the paper's best ``alpha``, 30 s its interval and that of its authors' own log. The choice
        between its options is ours, by simulation (docs/policies/convergence.md). As printed, the
        change is divided by nothing, though the threshold is called a percentage.
    """

    rule: Annotated[
        Rule,
        Doc(
            "By what a run gets its category: `evidence` of its whole curve, or `specon`: "
            "Algorithm 1, whose category is reported beside it in any case."
        ),
    ] = Rule.EVIDENCE
    alpha: Annotated[
        float,
        Ge(1e-9),
        Le(1e9),  # above 1 only where the normalisation is absolute and the metric large
        Doc("Growth during one interval from which on a run progresses."),
    ] = 0.01
    interval_seconds: Annotated[float, Ge(1.0), Le(3600.0), Doc("Time between two ticks.")] = 30.0
    normalisation: Annotated[Normalisation, Doc("By what a change of the metric is divided.")] = (
        Normalisation.RELATIVE_TO_PREVIOUS
    )
    signed: Annotated[
        bool,
        Doc(
            "Whether only an improvement is growth. Off: any change, as printed, so that a "
            "diverging run counts as progressing."
        ),
    ] = True
    count_silent_ticks: Annotated[
        bool,
        Doc(
            "Whether an interval without a value is one without growth, as printed. Off: a trainer "
            "that pauses, or reports seldom, does not look converged."
        ),
    ] = False
    epsilon: Annotated[
        float, Ge(1e-300), Le(1.0), Doc("The least by which a change is divided.")
    ] = 1e-12


RECOMMENDED: Final = ConvergenceParameters()
"""The evidence; for Algorithm 1 what the simulation recommends."""
PRINTED: Final = ConvergenceParameters(
    rule=Rule.SPECON,
    normalisation=Normalisation.ABSOLUTE,
    signed=False,
    count_silent_ticks=True,
)
"""As the paper prints it, with its errors corrected."""
PRESETS: Final[Mapping[str, ConvergenceParameters]] = {
    "recommended": RECOMMENDED,
    "printed": PRINTED,
}
