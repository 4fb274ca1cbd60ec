"""Parameters of the queue: order, fair share and backfill."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final


class Order(StrEnum):
    """How waiting jobs are ordered."""

    CPS = "cps"
    """By the CPS value V (``policy.priority``)."""
    CREATION = "creation"
    """First come, first served."""
    WEIGHTING = "weighting"
    """By utility, then by size, as DRS has it (``policy.weighting``)."""


DAY_SECONDS: Final = 86_400.0


BACKFILL_BOUNDS: Final[Mapping[str, tuple[float, float]]] = {
    "default_max_wait_seconds": (1.0, 366 * DAY_SECONDS),
    "passing_tries": (0, 1000),
}
"""Lowest and highest value of each number in ``ReservationParameters``."""


@dataclass(frozen=True)
class BackfillParameters:
    """When a job has waited too long, and how hard is tried to let others pass.

    Attributes:
        default_max_wait_seconds: Of a job that states none; None: such a job may wait for ever.
            A day: a job without a wish is in no hurry, but no job starves.
        passing_tries: How many jobs a cycle that need the holder planned anew are tried.

    Source:
        One reservation and backfill behind it: EASY (Lifka, JSSPP 1995). The numbers are ours.
    """

    default_max_wait_seconds: float | None = DAY_SECONDS
    passing_tries: int = 20


PRIORITY_BOUNDS: Final[Mapping[str, tuple[float, float]]] = {
    "high": (1, 10_000),
    "normal": (1, 10_000),
    "low": (1, 10_000),
    "expansion": (1, 1_000_000),
    "default_user_priority": (1, 10),
    "high_class_value": (-(2**31), 1_000_000_000),
    "normal_class_value": (-(2**31), 1_000_000_000),
}
"""Lowest and highest value of each number in ``PriorityParameters``.

Class values are those Kubernetes lets users choose; ``expansion`` keeps 2k' far below its int32.
"""


@dataclass(frozen=True)
class PriorityParameters:
    """What the order of jobs depends on besides the jobs; numbers without a unit.

    Attributes:
        high: b of a high-priority job (hp).
        normal: b of a normal job (np); not above ``high``.
        low: b of a low-priority job (lp); not above ``normal``.
        expansion: k' of (11). The paper gives none; 1000 keeps three digits in an integer.
        ageing: Whether the maximum wait shrinks while the job waits. Off as in the paper.
        default_user_priority: u of a namespace that names none, the middle of 1…10.
        high_class_value: A PriorityClass of at least this value makes a job hp.
        normal_class_value: At least this value, np; below, lp. 0 is a pod without a class.

    Raises:
        ValueError: hp, np, lp or the class values are not in falling order.

    Source:
        Du, Xiao, Chen et al., EURASIP JWCN 2023:45, Sect. 4.2 for b; Sect. 3.2 prints 10/5/1.
    """

    high: int = 100
    normal: int = 50
    low: int = 1
    expansion: float = 1000.0
    ageing: bool = False
    default_user_priority: int = 5
    high_class_value: int = 1000
    normal_class_value: int = 0

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


WEIGHTING_BOUNDS: Final[Mapping[str, tuple[float, float]]] = {
    "class_weight": (0, 1000),
    "user_weight": (0, 1_000_000),
}
"""Lowest and highest value of each number in ``WeightingParameters``."""


@dataclass(frozen=True)
class WeightingParameters:
    """What the utility of a job is made of; numbers without a unit.

    Attributes:
        class_weight: What one point of the job's PriorityClass value counts.
        user_weight: What one point of the namespace's user priority, 1…10, counts.

    Source:
        DRS has one user-given U and no constant; that both count once is ours.
    """

    class_weight: int = 1
    user_weight: int = 1


FAIR_SHARE_BOUNDS: Final[Mapping[str, tuple[float, float]]] = {
    "tolerance": (0.0, 1.0),
    "weight": (0.001, 1000.0),
    "guaranteed": (0.0, 1.0),
    "borrowing": (0.0, 1.0),
}
"""Lowest and highest value of the number in ``FairShareParameters``, and of those that a namespace
states (``Entitlement``)."""


@dataclass(frozen=True)
class FairShareParameters:
    """Whether namespaces are compared, and how finely.

    Attributes:
        enabled: Off: jobs are ordered as if all were of one namespace, and nobody has a limit.
        tolerance: Width of the steps in which weighted shares are compared, 0…1; namespaces in one
            step are equals, and the order of jobs decides between them. 0: every difference counts.

    Source:
        The rule is DRF; the step is ours. 0.05: a twentieth of the cluster is worth no quarrel.
    """

    enabled: bool = False
    tolerance: float = 0.05
