"""The section of the settings file that decides about the number of a job's workers."""

from typing import Any

from pydantic import Field

from extender.policy import scaling, speed
from extender.policy.scaling import ScalingParameters
from extender.policy.speed import SpeedParameters
from shared.settings import Section, bounded


def _scaling(name: str, description: str) -> Any:
    return bounded(ScalingParameters, scaling.BOUNDS, name, description)


def _speed(name: str, description: str) -> Any:
    return bounded(SpeedParameters, speed.BOUNDS, name, description)


class ScalingSection(Section):
    """How jobs give up workers, and get more (docs/policies/scaling.md).

    Only `shuntyard-sim` reads this so far: the extender changes no job's workers.
    """

    marginal_gain: bool = Field(
        default=ScalingParameters.marginal_gain,
        description="Whether a worker goes to the job that gains most, and leaves one that it "
        "slows; else every job grows to its most, as in DRS.",
    )
    least_pauses: float = _scaling(
        "least_pauses", "With that: a change must save more time than so many pauses of the job."
    )
    start_with_fewer: bool = Field(
        default=ScalingParameters.start_with_fewer,
        description="Whether a job starts with fewer workers than it wants, down to its least.",
    )
    starvation_seconds: float | None = _scaling(
        "starvation_seconds",
        "A job that has waited so long may take workers from any other, down to its least; no "
        "value: only from less important ones, and only the most important job may.",
    )
    reserve: bool = Field(
        default=ScalingParameters.reserve,
        description="Whether jobs that grow leave free what the first waiting job could use.",
    )
    near_cost: float = _speed(
        "near_cost",
        "What communication costs a worker beside its parameter server, as a part of what it costs "
        "one on another node.",
    )
    least_counts: int = _speed(
        "least_counts",
        "With how many different numbers of workers a job must have been measured before its speed "
        "counts as known.",
    )

    def parameters(self) -> ScalingParameters:
        """Return the parameters of the rule."""
        return ScalingParameters(
            self.marginal_gain,
            self.least_pauses,
            self.start_with_fewer,
            self.starvation_seconds,
            self.reserve,
        )

    def speed(self) -> SpeedParameters:
        """Return those of how speeds are known."""
        return SpeedParameters(self.near_cost, self.least_counts)
