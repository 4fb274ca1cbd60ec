"""Parameters of SpeCon's categories: as printed in the paper, and as recommended."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final


class Normalisation(StrEnum):
    """By what the change of the metric during an interval is divided."""

    ABSOLUTE = "absolute"
    """Nothing: the threshold has the metric's own unit."""
    RELATIVE_TO_PREVIOUS = "relative-to-previous"
    """The value at the tick before: the threshold is a percentage."""
    RELATIVE_TO_TOTAL_DROP = "relative-to-total-drop"
    """All that was gained since the first tick."""


BOUNDS: Final[Mapping[str, tuple[float, float]]] = {
    "alpha": (1e-9, 1e9),
    "interval_seconds": (1.0, 3600.0),
    "epsilon": (1e-300, 1.0),
}
"""Lowest and highest value of each number in ``ConvergenceParameters``.

``alpha`` is above 1 only where the normalisation is absolute and the metric large.
"""


@dataclass(frozen=True)
class ConvergenceParameters:
    """When a training run counts as converged.

    Attributes:
        alpha: Growth during one interval from which on a run progresses. 0.01, the paper's best.
        interval_seconds: Time between two ticks. 30, as in the paper and its authors' own log.
        normalisation: By what the change is divided. The paper's algorithm divides by nothing, and
            calls its threshold a percentage all the same.
        signed: Whether only an improvement is growth; false: any change, as printed, so that a
            diverging run counts as progressing.
        count_silent_ticks: Whether a tick without a new value counts as one without growth, as
            printed ("between iterations the last value"). False: a trainer that pauses, or
            says little, must not look converged.
        epsilon: The least by which a change is divided.

    Source:
        Mao et al., "Speculative Container Scheduling for Deep Learning Applications in a
        Kubernetes Cluster", IEEE Systems Journal 2021, arXiv 2010.11307, Sect. V-A and VI; the
        choice between its options is ours, by simulation (docs/policies/convergence.md).
    """

    alpha: float = 0.01
    interval_seconds: float = 30.0
    normalisation: Normalisation = Normalisation.RELATIVE_TO_PREVIOUS
    signed: bool = True
    count_silent_ticks: bool = False
    epsilon: float = 1e-12


RECOMMENDED: Final = ConvergenceParameters()
"""What the simulation recommends."""
PRINTED: Final = ConvergenceParameters(
    normalisation=Normalisation.ABSOLUTE, signed=False, count_silent_ticks=True
)
"""As the paper prints it, with its errors corrected."""
PRESETS: Final[Mapping[str, ConvergenceParameters]] = {
    "recommended": RECOMMENDED,
    "printed": PRINTED,
}
