"""Parameters of parking: when running jobs leave for others, and the deadlines of a parking."""

from dataclasses import dataclass
from typing import Annotated

from annotated_types import Ge, Le
from typing_extensions import Doc


@dataclass(frozen=True, kw_only=True)
class PreemptionParameters:
    """See the module.

    Source:
        Ours; docs/policies/preemption.md says what each guards against. ``enabled`` is off, since
        nothing that runs is stopped by an update: the administrator decides that.
    """

    enabled: Annotated[
        bool,
        Doc(
            "Whether running jobs are parked for more important ones at all. What a person asks "
            "for (`shuntyard park`) is done in any case."
        ),
    ] = False
    least_wait_seconds: Annotated[
        float,
        Ge(0),
        Le(86400),
        Doc("How long a job waits before others are parked for it."),
    ] = 30.0
    least_run_seconds: Annotated[
        float,
        Ge(0),
        Le(604800),
        Doc("How long a job runs, from its start or its return, before it is parked."),
    ] = 300.0
    rest_seconds: Annotated[
        float,
        Ge(0),
        Le(604800),
        Doc(
            "Pause from the end of a job's parking to its next one. It doubles with each aborted "
            "parking in a row, up to 32 times."
        ),
    ] = 600.0
    most_per_hour: Annotated[int, Ge(1), Le(1000), Doc("Parkings of one job in any hour.")] = 2
    most_victims: Annotated[int, Ge(1), Le(1000), Doc("Jobs that may be parked for one start.")] = (
        16
    )
    exact_candidates: Annotated[
        int,
        Ge(0),
        Le(16),
        Doc(
            "Up to so many candidates the cheapest set is found by trying all; with more, one by "
            "one, the cheapest first."
        ),
    ] = 8
    restart_seconds: Annotated[
        float,
        Ge(0),
        Le(86400),
        Doc("What a restart costs a job where that was not measured."),
    ] = 60.0
    checkpoint_seconds: Annotated[
        float, Ge(1), Le(86400), Doc("How long trainers may take to save before a job is parked.")
    ] = 120.0
    hold_seconds: Annotated[
        float,
        Ge(1),
        Le(86400),
        Doc("How long trainers then wait for the suspension, before they go on."),
    ] = 120.0
    resume_seconds: Annotated[
        float,
        Ge(1),
        Le(86400),
        Doc(
            "How long places are kept for the pods of a job that comes back; those that come later "
            "wait in the queue."
        ),
    ] = 120.0
