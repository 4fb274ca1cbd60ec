"""Parameters of admission by price: slots, search, price bounds."""

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Annotated

from annotated_types import Ge, Le
from typing_extensions import Doc


class WhenGone(StrEnum):
    """What happens to a job that would be worth nothing even if it began now."""

    HOLD = "hold"
    """It waits on, with a reason."""
    QUEUE = "queue"
    """It waits like a job without a utility, in the share of those jobs."""


class Unmeasured(StrEnum):
    """What happens to a job whose step time is neither stated nor measured."""

    HOLD = "hold"
    """It waits until the step time is stated."""
    PROFILE = "profile"
    """It runs like a job without a utility until agents have measured it."""


@dataclass(frozen=True, kw_only=True)
class SlotTimeParameters:
    """How time and machines are given to jobs with a utility."""

    enabled: Annotated[
        bool,
        Doc(
            "Whether jobs with a utility are admitted by price and follow a plan over time slots. "
            "Off: they wait like all others."
        ),
    ] = False
    slot_seconds: Annotated[float, Ge(1), Le(86400), Doc("Length of a time slot.")] = 600.0
    horizon: Annotated[
        int, Ge(1), Le(1000), Doc("Slots that plans reach ahead, the present one included.")
    ] = 144
    share: Annotated[
        float,
        Ge(0.0),
        Le(1.0),
        Doc(
            "Part of every node that is for jobs with a utility while `enabled`; all other jobs "
            "have the rest, even while this part is idle."
        ),
    ] = 0.5
    server_label: Annotated[
        str,
        Doc(
            "Label of nodes that plans use for parameter servers and for no workers; empty: every "
            "node can hold both."
        ),
    ] = ""
    when_gone: Annotated[
        WhenGone,
        Doc(
            "What happens to a job that would be worth nothing even if it began now: `hold`: it "
            "waits on; `queue`: it waits like a job without a utility."
        ),
    ] = WhenGone.HOLD
    unmeasured: Annotated[
        Unmeasured,
        Doc(
            "What happens to a job that does not state how long its steps take, if no earlier run "
            "of its name was measured: `hold`: it waits until the time is stated; `profile`: it "
            "runs like a job without a utility until agents have measured it, and is then offered "
            "a plan."
        ),
    ] = Unmeasured.PROFILE
    profile_seconds: Annotated[
        float,
        Ge(1),
        Le(86400),
        Doc("How long such a run may last before an Event says that it could not be measured."),
    ] = 600.0
    profile_steps: Annotated[
        int, Ge(1), Le(1_000_000), Doc("Steps that must be observed before their time is measured.")
    ] = 20
    profile_spread: Annotated[
        float,
        Ge(0.001),
        Le(1.0),
        Doc(
            "Largest standard error of that time, as a part of it; while it is larger, measuring "
            "goes on."
        ),
    ] = 0.1


class Replanning(StrEnum):
    """What happens to plans when new jobs arrive."""

    NEVER = "never"
    """An admitted job keeps its schedule, as in the paper."""
    ADMITTED_FIRST = "admitted-first"
    """The future is planned again; admitted jobs stay admitted and choose before the others."""
    WITHOUT_COMMITMENT = "without-commitment"
    """The future is planned again; an admitted job may lose its place to a denser one."""


class Granularity(StrEnum):
    """What a slot can do."""

    WORKER_SLOTS = "worker-slots"
    """Any number of workers; only their sum counts, as in (2)."""
    CHUNKS = "chunks"
    """Whole chunks, as in Algorithm 2; never coarsened."""


@dataclass(frozen=True, kw_only=True)
class SlotParameters:
    """How a schedule is searched.

    Source:
        Ours; in model runs 300 steps lose less than 0.1 % of the payoff of 3000.
    """

    granularity: Annotated[
        Granularity,
        Doc(
            "What a slot can do: any number of workers (`worker-slots`), or whole chunks "
            "(`chunks`), as in the paper's Algorithm 2."
        ),
    ] = Granularity.WORKER_SLOTS
    most_units: Annotated[
        int,
        Ge(1),
        Le(100_000),
        Doc("Most steps of the search; longer jobs are searched in blocks of worker-slots."),
    ] = 300
    most_idle_share: Annotated[
        float,
        Ge(0.0),
        Le(1.0),
        Doc("Share of a job's workers that such a block may leave unused."),
    ] = 0.03


@dataclass(frozen=True, kw_only=True)
class AdmissionParameters:
    """How jobs are admitted.

    Attributes:
        search: How a schedule is searched.

    Source:
        Bao, Peng, Wu, Li, INFOCOM 2018, Algorithm 1; replanning is ours, co-location is PD-ORS'.
    """

    replanning: Annotated[
        Replanning,
        Doc(
            "What happens when new jobs arrive: `never`: admitted jobs keep their schedules, as in "
            "the paper; `admitted-first`: the service plans all jobs again as a slot begins, and "
            "admitted jobs choose first; `without-commitment`: an admitted job may lose its place "
            "(`shuntyard-sim` only: the service keeps its promises)."
        ),
    ] = Replanning.NEVER
    colocation_bandwidth: Annotated[
        float | None,
        Ge(0.1),
        Le(10_000.0),
        Doc(
            "Bandwidth inside one machine, for jobs that may have all workers and parameter "
            "servers on one; no value: they never share a machine. `shuntyard-sim` only: the "
            "service lets them share, and counts no gain."
        ),
    ] = None
    search: SlotParameters = field(default_factory=SlotParameters)


class PriceBoundRule(StrEnum):
    """How the price bounds L and U are found."""

    QUANTILE = "quantile"
    """L and U are quantiles of the value that past jobs put on a unit."""
    KAPPA = "kappa"
    """U as in the paper, L = U/κ."""
    PRINTED = "printed"
    """(23)-(26), corrected."""


@dataclass(frozen=True, kw_only=True)
class BoundsParameters:
    """How the price bounds L and U are found.

    Raises:
        ValueError: The low quantile is not below the high one.

    Source:
        Bao, Peng, Wu, Li, INFOCOM 2018, (23)-(26); floor, κ and quantiles are ours, calibrated in
        model runs.
    """

    rule: Annotated[
        PriceBoundRule,
        Doc(
            "`quantile`: from the value that past jobs put on a unit; `kappa`: the highest value, "
            "and a κ-th of it; `printed`: equations (23)-(26), corrected."
        ),
    ] = PriceBoundRule.QUANTILE
    floor: Annotated[
        float,
        Ge(1e-12),
        Le(1.0),
        Doc(
            "ε. `printed`: the least utility of a job counts as at least this share of its best. "
            "`quantile`: a job worth less than this share of its value even without a delay is "
            "left out."
        ),
    ] = 1e-2
    kappa: Annotated[
        float,
        Ge(10.0),
        Le(1e12),
        Doc("With `kappa`: κ = U/L, how many times dearer full is than idle."),
    ] = 5e4
    low_quantile: Annotated[
        float,
        Ge(0.0),
        Le(1.0),
        Doc("With `quantile`: quantile of past values that is the price of an idle resource."),
    ] = 0.25
    high_quantile: Annotated[
        float,
        Ge(0.0),
        Le(1.0),
        Doc("With `quantile`: the same for a full resource; above `low_quantile`."),
    ] = 0.99

    def __post_init__(self) -> None:
        if self.low_quantile >= self.high_quantile:
            raise ValueError(
                f"low_quantile {self.low_quantile:g} must be below "
                f"high_quantile {self.high_quantile:g}"
            )
