"""Parameters of the queue: order, fair share and backfill."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Final

from annotated_types import Ge, Le
from typing_extensions import Doc

DAY_SECONDS: Final = 86_400.0

LOWEST_CLASS_VALUE: Final = -(2**31)
HIGHEST_CLASS_VALUE: Final = 1_000_000_000
"""Values of PriorityClasses that Kubernetes lets users choose."""


class Order(StrEnum):
    """How waiting jobs are ordered."""

    CPS = "cps"
    """By the CPS value V."""
    CREATION = "creation"
    """First come, first served."""
    WEIGHTING = "weighting"
    """By utility, then by size, as in DRS."""
    SERVICE = "service"
    """By the service that is still needed, and by urgency."""


class JobSize(StrEnum):
    """What makes a job large, where size counts."""

    PUBLISHED = "published"
    """As the papers have it: the number of workers in CPS, CPU and memory in DRS."""
    DOMINANT = "dominant"
    """GPUs, in a cluster that has any; elsewhere as published."""


class Gating(StrEnum):
    """When new pods get our gate, where the policy that adds it is installed."""

    WAITING = "waiting"
    """While jobs lack room."""
    ALWAYS = "always"


class KeepsRoom(StrEnum):
    """For which waiting job room is kept, beside one for which others give up workers."""

    OVERDUE = "overdue"
    """The one that has waited longer than its maximum wait."""
    NEXT_IF_KNOWN = "next-if-known"
    """Else the first that does not fit, if the jobs that it waits for have known ends."""
    NEXT = "next"
    """Else the first that does not fit, also if its start is not known."""


@dataclass(frozen=True, kw_only=True)
class BackfillParameters:
    """For which job room is kept, and how many others may start before it.

    Source:
        One reservation and backfill behind it: EASY (Lifka, JSSPP 1995). The numbers are ours.
    """

    default_max_wait_seconds: Annotated[
        float | None,
        Ge(1.0),
        Le(366 * DAY_SECONDS),
        Doc(
            "Maximum wait of a job that states none; no value: such a job may wait for ever. The "
            "order of jobs does not depend on it."
        ),
    ] = DAY_SECONDS  # such a job is in no hurry, but none starves
    passing_tries: Annotated[
        int,
        Ge(0),
        Le(1000),
        Doc(
            "How many jobs a pass may test for backfill by planning the job for which room is kept "
            "again."
        ),
    ] = 20
    keeps_room: Annotated[
        KeepsRoom,
        Doc(
            "For which job room is kept: `overdue`: one whose maximum wait is over; "
            "`next-if-known`: else the first of the order that does not fit, if the ends of the "
            "jobs that it waits for are known; `next`: else that one in any case, which leaves "
            "nodes idle for an unknown time."
        ),
    ] = KeepsRoom.NEXT_IF_KNOWN


@dataclass(frozen=True, kw_only=True)
class PriorityParameters:
    """What the CPS value V depends on besides the jobs; numbers without a unit.

    Raises:
        ValueError: hp, np, lp or the class values are not in falling order.

    Source:
        Du, Xiao, Chen et al., EURASIP JWCN 2023:45, Sect. 4.2 for b; Sect. 3.2 prints 10/5/1. The
        paper gives no k'; 1000 keeps three digits in an integer, and its upper bound keeps 2k' far
        below the int32 of Kubernetes.
    """

    high: Annotated[int, Ge(1), Le(10_000), Doc("b of a high-priority job (hp).")] = 100
    normal: Annotated[int, Ge(1), Le(10_000), Doc("b of a normal job (np); not above hp.")] = 50
    low: Annotated[int, Ge(1), Le(10_000), Doc("b of a low-priority job (lp); not above np.")] = 1
    expansion: Annotated[
        float, Ge(1), Le(1_000_000), Doc("k' of equation (11): V goes from 0 to twice this.")
    ] = 1000.0
    ageing: Annotated[
        bool,
        Doc(
            "Whether the maximum wait shrinks while the job waits, so that the job moves up. The "
            "paper has no ageing."
        ),
    ] = False
    default_user_priority: Annotated[
        int, Ge(1), Le(10), Doc("u of a namespace that states none; the middle of 1 to 10.")
    ] = 5
    high_class_value: Annotated[
        int,
        Ge(LOWEST_CLASS_VALUE),
        Le(HIGHEST_CLASS_VALUE),
        Doc("A PriorityClass of at least this value makes a job hp."),
    ] = 1000
    normal_class_value: Annotated[
        int,
        Ge(LOWEST_CLASS_VALUE),
        Le(HIGHEST_CLASS_VALUE),
        Doc(
            "A PriorityClass of at least this value makes a job np; below, lp. A pod without a "
            "class counts as 0."
        ),
    ] = 0

    def __post_init__(self) -> None:
        if not self.high >= self.normal >= self.low:
            raise ValueError(
                f"high, normal, low: {self.high}, {self.normal}, {self.low} must not rise"
            )
        if self.high_class_value < self.normal_class_value:
            raise ValueError(
                f"high_class_value {self.high_class_value} must not be below "
                f"normal_class_value {self.normal_class_value}"
            )


@dataclass(frozen=True, kw_only=True)
class WeightingParameters:
    """What the utility of a job is made of; numbers without a unit.

    Source:
        DRS has one user-given U and no constant; that both count once is ours.
    """

    class_weight: Annotated[
        int, Ge(0), Le(1000), Doc("What one point of the PriorityClass counts in U.")
    ] = 1
    user_weight: Annotated[
        int, Ge(0), Le(1_000_000), Doc("What one point of the user priority, 1 to 10, counts in U.")
    ] = 1


@dataclass(frozen=True, kw_only=True)
class ServiceParameters:
    """How the remaining service, the urgency and the wait of a job make its place; no units.

    Source:
        Ours, chosen on training windows only (docs/compare.md).
    """

    cps_weight: Annotated[
        float, Ge(0), Le(1000), Doc("Influence of V: weight = 1 + this · V/2k'.")
    ] = 1.0
    slack: Annotated[
        float,
        Ge(0),
        Le(100),
        Doc(
            "A job is urgent if waiting this many times its remaining time would cost it more than "
            "`loss` of its utility."
        ),
    ] = 0.5
    loss: Annotated[float, Ge(0), Le(1), Doc("See `slack`.")] = 0.05
    held: Annotated[
        float,
        Ge(1),
        Le(100),
        Doc(
            "Factor on `slack` for running jobs, so that one is not stopped as soon as it has "
            "caught up."
        ),
    ] = 3.0
    lead: Annotated[
        float,
        Ge(1),
        Le(100),
        Doc("Factor by which another job must be ahead of a running one to go before it."),
    ] = 1.0
    ageing: Annotated[
        float,
        Ge(0),
        Le(1000),
        Doc("Growth of the weight each time a job has waited its remaining time."),
    ] = 0.1
    critical: Annotated[
        float,
        Ge(1),
        Le(1_000_000),
        Doc(
            "A job whose remaining time is this many times that of all jobs on the whole cluster "
            "decides when the last one ends, and goes before the others."
        ),
    ] = 2.0
    unknown_seconds: Annotated[
        float,
        Ge(1),
        Le(30 * DAY_SECONDS),
        Doc(
            "Remaining time of a job of which nothing is known, until it has run for twice as "
            "long; then as long as it has run, rounded down to a power of two times this."
        ),
    ] = 600.0


@dataclass(frozen=True, kw_only=True)
class FairShareParameters:
    """Whether namespaces are compared, and how finely.

    Source:
        The rule is DRF; the step is ours: a twentieth of the cluster should not decide the order.
        ``reclaim`` is Kueue's ``reclaimWithinCohort``, which is off there, too (``Never``).
    """

    enabled: Annotated[
        bool,
        Doc(
            "Whether namespaces take turns by what they hold: those below their guaranteed share "
            "first, then by dominant share and weight, none beyond its borrowing limit. Off: jobs "
            "are ordered as if all were of one namespace."
        ),
    ] = False
    tolerance: Annotated[
        float,
        Ge(0.0),
        Le(1.0),
        Doc(
            "With `fair_share`: width of the steps in which weighted shares are compared; between "
            "namespaces in one step the order of jobs decides. 0: every difference counts."
        ),
    ] = 0.05
    reclaim: Annotated[
        bool,
        Doc(
            "With `fair_share`: whether jobs of namespaces above their guaranteed share are parked "
            "for one that would have only what its namespace is guaranteed. Off: nothing that runs "
            "is stopped by an update."
        ),
    ] = False


@dataclass(frozen=True, kw_only=True)
class GatingParameters:
    """When new pods get our gate.

    Source:
        Ours: the PATCH that removes a gate costs as much as the rest of a pod's scheduling.
    """

    when: Annotated[
        Gating,
        Doc(
            "When new pods get the gate: `waiting`: while jobs lack room, and pods with "
            "`shuntyard.io/checkpoint`, which may be moved, at any time; `always`: all pods. Pods "
            "whose manifest has the gate keep it."
        ),
    ] = Gating.WAITING
    quiet_seconds: Annotated[
        float,
        Ge(0.0),
        Le(3600.0),
        Doc("With `waiting`: how long no job must have lacked room before the gate is left away."),
    ] = 5.0
