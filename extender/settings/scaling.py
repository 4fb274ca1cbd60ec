"""The section of the settings file that decides about the number of a job's workers."""

from typing import Any

from pydantic import Field

from extender.core.parameters import elastic
from extender.core.parameters import elastic as scaling_parameters
from extender.core.parameters.elastic import RescaleParameters, ScalingParameters, SpeedParameters
from shared.settings import Section, bounded


def _scaling(name: str, description: str) -> Any:
    return bounded(ScalingParameters, elastic.SCALING_BOUNDS, name, description)


def _limit(name: str, description: str) -> Any:
    return bounded(RescaleParameters, scaling_parameters.RESCALE_BOUNDS, name, description)


def _speed(name: str, description: str) -> Any:
    return bounded(SpeedParameters, elastic.SPEED_BOUNDS, name, description)


class ScalingSection(Section):
    """How jobs give up workers, and get more (docs/elastic.md, docs/policies/scaling.md).

    Limits and deadlines of a change, and then the rule that decides who shrinks and who grows.
    """

    enabled: bool = Field(
        default=RescaleParameters.enabled,
        description="Whether jobs with the annotation `shuntyard.io/workers` change at all; a slot "
        "plan's changes are made in any case.",
    )
    interval_seconds: float = Field(
        default=5.0, ge=0.05, le=3600, description="New changes are looked for this often."
    )
    cooldown_seconds: float = _limit(
        "cooldown_seconds",
        "Pause of a job from one change to the next, but to make room for a job that starts; it "
        "doubles with each aborted change in a row, up to 32 times.",
    )
    most_rescales_per_hour: int = _limit(
        "most_rescales_per_hour",
        "Changes of one job in any hour, but to make room for a job that starts; a slot plan's do "
        "not count.",
    )
    most_open: int = _limit(
        "most_open", "Changes that are open at a time; those of slot plans come on top."
    )
    checkpoint_seconds: float = _limit(
        "checkpoint_seconds", "How long trainers have to save before workers leave."
    )
    hold_seconds: float = _limit(
        "hold_seconds", "How long they then wait for the workers to leave, before they go on."
    )
    leave_seconds: float = _limit(
        "leave_seconds",
        "How long workers that leave may take to end, before the change counts as done without "
        "them.",
    )
    grow_seconds: float = _limit(
        "grow_seconds", "How long new workers may wait for room before they are given back."
    )

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

    def rescaling(self) -> RescaleParameters:
        """Return the limits and deadlines of changes."""
        return RescaleParameters(
            self.enabled,
            self.cooldown_seconds,
            self.most_rescales_per_hour,
            self.checkpoint_seconds,
            self.hold_seconds,
            self.grow_seconds,
            self.leave_seconds,
            self.most_open,
        )

    def speed(self) -> SpeedParameters:
        """Return those of how speeds are known."""
        return SpeedParameters(self.near_cost, self.least_counts)
