"""Parameters of admission by price: slots, search, price bounds."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

SLOT_TIME_BOUNDS: Final[Mapping[str, tuple[float, float]]] = {
    "slot_seconds": (1, 86400),
    "horizon": (1, 1000),
    "share": (0.0, 1.0),
    "profile_seconds": (1, 86400),
    "profile_steps": (1, 1_000_000),
    "profile_spread": (0.001, 1.0),
}
"""Lowest and highest value of each number in ``SlotTimeParameters``."""


class WhenGone(StrEnum):
    """What becomes of a job that would be worth nothing even if it began now."""

    HOLD = "hold"
    """It waits on, and says why."""
    QUEUE = "queue"
    """It waits like a job without a utility, in the others' share."""


class Unmeasured(StrEnum):
    """What becomes of a job that does not say how long its steps take, if nobody knows."""

    HOLD = "hold"
    """It waits until somebody says it."""
    PROFILE = "profile"
    """It runs like a job without a utility, in the others' share, until agents have measured it."""


@dataclass(frozen=True)
class SlotTimeParameters:
    """How time and machines are given to jobs with a utility.

    Attributes:
        enabled: Whether jobs with a utility are admitted by price; else they wait like all others.
        slot_seconds: Length of a slot.
        horizon: Slots that plans reach ahead, the present one counted.
        share: Part of every node that is theirs; the rest is the other jobs'.
        server_label: Label of nodes on which parameter servers run and no workers; empty: every
            node can hold both.
        when_gone: What becomes of a job whose utility is gone.
        unmeasured: What becomes of a job of which nobody knows how long its steps take.
        profile_seconds: After how long of running without a result its owner is told so.
        profile_steps: Steps that must have been seen before their time counts as measured.
        profile_spread: Largest standard error of that time, as a part of it.
    """

    enabled: bool = False
    slot_seconds: float = 600.0
    horizon: int = 144
    share: float = 0.5
    server_label: str = ""
    when_gone: WhenGone = WhenGone.HOLD
    unmeasured: Unmeasured = Unmeasured.PROFILE
    profile_seconds: float = 600.0
    profile_steps: int = 20
    profile_spread: float = 0.1


ADMISSION_BOUNDS: Final[Mapping[str, tuple[float, float]]] = {
    "colocation_bandwidth": (0.1, 10_000.0)
}
"""Lowest and highest value of each number in ``AdmissionParameters``."""


class Replanning(StrEnum):
    """What happens to plans when new jobs arrive."""

    NEVER = "never"
    """An admitted job keeps its schedule, as in the paper."""
    ADMITTED_FIRST = "admitted-first"
    """The future is planned anew; who is admitted stays so, and chooses before the others."""
    WITHOUT_COMMITMENT = "without-commitment"
    """The future is planned anew; an admitted job may lose its place to a denser one."""


class Granularity(StrEnum):
    """What a slot can do."""

    WORKER_SLOTS = "worker-slots"
    """Any number of workers; only their sum counts, as in (2)."""
    CHUNKS = "chunks"
    """Whole chunks, as Algorithm 2 has it; never coarsened."""


@dataclass(frozen=True)
class SlotParameters:
    """How a schedule is searched.

    Attributes:
        granularity: What a slot can do.
        most_units: Most steps of the dynamic programme; longer jobs are searched in blocks of
            worker-slots.
        most_idle_share: Share of a job's workers that the block may leave unused.

    Source:
        Ours; in model runs 300 steps lose less than 0.1 % of the payoff of 3000.
    """

    granularity: Granularity = Granularity.WORKER_SLOTS
    most_units: int = 300
    most_idle_share: float = 0.03


@dataclass(frozen=True)
class AdmissionParameters:
    """How jobs are admitted.

    Attributes:
        replanning: What happens to plans when new jobs arrive.
        colocation_bandwidth: b inside one machine, in the unit of the jobs' b; None: workers and
            servers never share a machine.
        search: How a schedule is searched.

    Source:
        Bao, Peng, Wu, Li, INFOCOM 2018, Algorithm 1; replanning is ours, co-location is PD-ORS'.
    """

    replanning: Replanning = Replanning.NEVER
    colocation_bandwidth: float | None = None
    search: SlotParameters = field(default_factory=SlotParameters)


SLOT_BOUNDS: Final[Mapping[str, tuple[float, float]]] = {
    "most_units": (1, 100_000),
    "most_idle_share": (0.0, 1.0),
}
"""Lowest and highest value of each number in ``SlotParameters``."""


PRICE_BOUND_BOUNDS: Final[Mapping[str, tuple[float, float]]] = {
    "floor": (1e-12, 1.0),
    "kappa": (10.0, 1e12),
    "low_quantile": (0.0, 1.0),
    "high_quantile": (0.0, 1.0),
}
"""Lowest and highest value of each number in ``BoundsParameters``."""


class PriceBoundRule(StrEnum):
    """How the bounds are found."""

    QUANTILE = "quantile"
    """L and U are quantiles of the value that past jobs put on a unit."""
    KAPPA = "kappa"
    """U as in the paper, L = U/κ."""
    PRINTED = "printed"
    """(23)-(26), corrected."""


@dataclass(frozen=True)
class BoundsParameters:
    """How the bounds are found.

    Attributes:
        rule: Which of the three.
        floor: ε: the least utility of a job counts as at least this share of its best (printed); a
            job worth less than this share of f(0) even if nothing delays it is left out (quantile).
        kappa: κ = U/L (kappa).
        low_quantile: Which quantile of past jobs' value density L is (quantile).
        high_quantile: Which quantile U is (quantile).

    Source:
        Bao, Peng, Wu, Li, INFOCOM 2018, (23)-(26); floor, κ and quantiles are ours, calibrated in
        model runs.
    """

    rule: PriceBoundRule = PriceBoundRule.QUANTILE
    floor: float = 1e-2
    kappa: float = 5e4
    low_quantile: float = 0.25
    high_quantile: float = 0.99
