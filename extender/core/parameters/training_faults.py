"""Parameters of training faults."""

from dataclasses import dataclass
from typing import Annotated

from annotated_types import Ge, Le
from typing_extensions import Doc


@dataclass(frozen=True, kw_only=True)
class DetectionParameters:
    """When training counts as hung, diverged, or slowed down by one member.

    Source:
        Ours; what each guards against is in docs/policies/fault_detection.md.
    """

    enabled: Annotated[bool, Doc("Whether training faults are looked for at all.")] = True
    silence_ratio: Annotated[
        float,
        Ge(2),
        Le(1000),
        Doc("A job hangs when its members are silent for so many of their usual pauses."),
    ] = 10.0
    pause_ratio: Annotated[
        float,
        Ge(1),
        Le(100),
        Doc("Nor for less than so many times their longest pause: an evaluation, a checkpoint."),
    ] = 2.0
    least_silence_seconds: Annotated[
        float, Ge(1), Le(86400), Doc("Nor for less than this, however often values come.")
    ] = 300.0
    least_gaps: Annotated[
        int, Ge(1), Le(256), Doc("Pauses that must be known before a silence means anything.")
    ] = 10
    straggler_ratio: Annotated[
        float,
        Ge(1.1),
        Le(100),
        Doc("A member straggles when the others make so many times its steps."),
    ] = 1.5
    straggler_seconds: Annotated[
        float, Ge(1), Le(86400), Doc("Steps are compared over at least so long.")
    ] = 600.0
    bad_values: Annotated[
        int,
        Ge(1),
        Le(10000),
        Doc("Training has diverged when so many values in a row are NaN or infinite."),
    ] = 3


@dataclass(frozen=True, kw_only=True)
class RestartParameters:
    """How often jobs with ``shuntyard.io/on-hang`` are restarted.

    Source:
        Ours: a job that hangs again and again needs its user.
    """

    most_restarts: Annotated[
        int, Ge(0), Le(1000), Doc("Restarts of one job because it hangs, in its whole life.")
    ] = 3
    least_restart_seconds: Annotated[float, Ge(0), Le(604800), Doc("Time between two of them.")] = (
        1800.0
    )
