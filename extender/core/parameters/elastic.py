"""Parameters of elastic jobs: the rule, its speed model, and the limits of changes."""

from dataclasses import dataclass
from typing import Annotated

from annotated_types import Ge, Le
from typing_extensions import Doc


@dataclass(frozen=True, kw_only=True)
class RescaleParameters:
    """Limits and deadlines of changes."""

    enabled: Annotated[
        bool,
        Doc(
            "Whether jobs with the annotation `shuntyard.io/workers` change at all; changes of "
            "slot plans are made in any case."
        ),
    ] = True
    cooldown_seconds: Annotated[
        float,
        Ge(0),
        Le(86400),
        Doc(
            "Pause of a job from one change to the next, except to make room for a job that "
            "starts. It doubles with each aborted change in a row, up to 32 times. New workers are "
            "not taken away before it is over."
        ),
    ] = 60.0
    most_rescales_per_hour: Annotated[
        int,
        Ge(1),
        Le(1000),
        Doc(
            "Changes of one job in any hour, except to make room for a job that starts; those of a "
            "slot plan do not count."
        ),
    ] = 12
    checkpoint_seconds: Annotated[
        float, Ge(1), Le(86400), Doc("How long trainers may take to save before workers leave.")
    ] = 120.0
    hold_seconds: Annotated[
        float,
        Ge(1),
        Le(86400),
        Doc("How long trainers then wait for the workers to leave, before they go on."),
    ] = 120.0
    grow_seconds: Annotated[
        float,
        Ge(1),
        Le(86400),
        Doc("How long new workers may wait for room before they are given back."),
    ] = 120.0
    leave_seconds: Annotated[
        float,
        Ge(1),
        Le(86400),
        Doc(
            "How long workers that leave may take to end; then the change counts as done without "
            "them."
        ),
    ] = 600.0
    most_open: Annotated[
        int,
        Ge(0),
        Le(1000),
        Doc("Changes that may be open at a time, not counting those of slot plans."),
    ] = 16


@dataclass(frozen=True, kw_only=True)
class ScalingParameters:
    """How running jobs make room, and how they use it.

    Source:
        DRS (F. Bestari 2020), algorithms 3 to 5, corrected; marginal gain: Optimus; the defaults
        are those of model runs (docs/policies/scaling.md).
    """

    marginal_gain: Annotated[
        bool,
        Doc(
            "Whether a worker goes to the job that gains most, and workers that slow a job are "
            "taken away. Off: every job grows to its maximum, as in DRS."
        ),
    ] = True
    least_pauses: Annotated[
        float,
        Ge(0.0),
        Le(100.0),
        Doc("With `marginal_gain`: a change must save more time than so many pauses of the job."),
    ] = 2.0
    start_with_fewer: Annotated[
        bool,
        Doc(
            "Whether a job may start with fewer workers than it asks for, down to its minimum, if "
            "all of them do not fit."
        ),
    ] = True
    starvation_seconds: Annotated[
        float | None,
        Ge(0.0),
        Le(86400.0),
        Doc(
            "A job that has waited so long may take workers from any other, down to that job's "
            "minimum. No value: only the most important waiting job may take any, and only from "
            "less important ones."
        ),
    ] = 60.0
    reserve: Annotated[
        bool, Doc("Whether jobs that grow leave free what the first waiting job could use.")
    ] = False


@dataclass(frozen=True, kw_only=True)
class SpeedParameters:
    """The assumptions of the speed model, and what a fit must have.

    Source:
        λ = 0.5 is an assumption of model runs, no measurement. ``least_counts`` is ours: two counts
        cannot separate a job that gains from one that is past its best; three can.
    """

    near_cost: Annotated[
        float,
        Ge(0.0),
        Le(1.0),
        Doc(
            "λ: communication cost of a worker beside its parameter server, as a part of that of a "
            "worker on another node. 1: the place of a worker makes no difference."
        ),
    ] = 0.5
    least_counts: Annotated[
        int,
        Ge(1),
        Le(32),
        Doc(
            "With how many different numbers of workers a job must have been measured before its "
            "speed counts as known."
        ),
    ] = 3
