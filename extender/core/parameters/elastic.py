"""Parameters of elastic jobs: the rule, its speed model, and the limits of changes."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

RESCALE_BOUNDS: Final[Mapping[str, tuple[float, float]]] = {
    "cooldown_seconds": (0, 86400),
    "most_rescales_per_hour": (1, 1000),
    "checkpoint_seconds": (1, 86400),
    "hold_seconds": (1, 86400),
    "grow_seconds": (1, 86400),
    "leave_seconds": (1, 86400),
    "most_open": (0, 1000),
}
"""Lowest and highest value of each number in ``RescaleParameters``."""


@dataclass(frozen=True)
class RescaleParameters:
    """Limits and deadlines of changes.

    Attributes:
        enabled: Whether elastic jobs change at all.
        cooldown_seconds: Pause of a job from one change to the next, except to make room for a
            job that starts; a job that has just been given workers keeps them so long.
        most_rescales_per_hour: Changes of one job in any hour; a slot plan's do not count.
        checkpoint_seconds: How long trainers have to save before workers leave.
        hold_seconds: How long they then hold; by then the workers must have left.
        grow_seconds: How long new workers may wait for room before they are given back.
        leave_seconds: How long workers that leave may take to end, before the change counts as
            done without them.
        most_open: Changes that are open at a time; those of slot plans come on top.
    """

    enabled: bool = True
    cooldown_seconds: float = 60.0
    most_rescales_per_hour: int = 12
    checkpoint_seconds: float = 120.0
    hold_seconds: float = 120.0
    grow_seconds: float = 120.0
    leave_seconds: float = 600.0
    most_open: int = 16


SCALING_BOUNDS: Final[Mapping[str, tuple[float, float]]] = {
    "least_pauses": (0.0, 100.0),
    "starvation_seconds": (0.0, 86400.0),
}
"""Lowest and highest value of each number in ``ScalingParameters``."""


@dataclass(frozen=True)
class ScalingParameters:
    """How running jobs make room, and how they use it.

    Attributes:
        marginal_gain: Give a worker to the job that gains most, only while that saves more than
            ``least_pauses`` pauses, and take those away that slow a job. Otherwise every job grows
            to its most, as DRS has it.
        least_pauses: See there; numbers of pauses.
        start_with_fewer: A job that does not fit with the workers it wants starts with fewer.
        starvation_seconds: A job that has waited so long may take workers from any running job,
            also from a more important one; None: only the most important job may take any.
        reserve: While jobs wait, growing leaves free what the first of them could already use.

    Source:
        DRS (F. Bestari 2020), algorithms 3 to 5, corrected; marginal gain: Optimus; the defaults
        are those of model runs (docs/policies/scaling.md).
    """

    marginal_gain: bool = True
    least_pauses: float = 2.0
    start_with_fewer: bool = True
    starvation_seconds: float | None = 60.0
    reserve: bool = False


SPEED_BOUNDS: Final[Mapping[str, tuple[float, float]]] = {
    "near_cost": (0.0, 1.0),
    "least_counts": (1, 32),
}
"""Lowest and highest value of each number in ``SpeedParameters``."""


@dataclass(frozen=True)
class SpeedParameters:
    """What is assumed where nothing is measured, and what a fit must have.

    Attributes:
        near_cost: λ: what communication costs a worker on a node of its servers, as a part of what
            it costs another one. 1: where a worker is makes no difference.
        least_counts: With how many different numbers of workers steps must have been measured. Two
            cannot tell a job that gains from one that is past its best; three can.

    Source:
        λ = 0.5 is an assumption of model runs, no measurement; ``least_counts`` is ours.
    """

    near_cost: float = 0.5
    least_counts: int = 3
