"""The sections of the settings file that decide which training jobs are admitted, at what price."""

from typing import Any, Self

from pydantic import Field, model_validator

from extender.core.parameters import pricing
from extender.core.parameters.pricing import (
    AdmissionParameters,
    BoundsParameters,
    Granularity,
    PriceBoundRule,
    Replanning,
    SlotParameters,
    SlotTimeParameters,
    Unmeasured,
    WhenGone,
)
from shared.settings import Section, bounded


def _search(name: str, description: str) -> Any:
    return bounded(SlotParameters, pricing.SLOT_BOUNDS, name, description)


def _bound(name: str, description: str) -> Any:
    return bounded(BoundsParameters, pricing.PRICE_BOUND_BOUNDS, name, description)


def _time(name: str, description: str) -> Any:
    return bounded(SlotTimeParameters, pricing.SLOT_TIME_BOUNDS, name, description)


class AdmissionSection(Section):
    """Which training jobs are admitted, and when they run (docs/policies/admission.md).

    Only jobs with `shuntyard.io/utility` are admitted by price.
    """

    enabled: bool = Field(
        default=SlotTimeParameters.enabled,
        description="Whether jobs with a utility are admitted by price and follow a plan over time "
        "slots; else they wait like all others.",
    )
    slot_seconds: float = _time("slot_seconds", "Length of a time slot.")
    horizon: int = _time("horizon", "Slots that plans reach ahead, the present one counted.")
    share: float = _time(
        "share",
        "Part of every node that belongs to jobs with a utility while `enabled`; the others have "
        "the rest, whoever waits.",
    )
    server_label: str = Field(
        default=SlotTimeParameters.server_label,
        description="Label of nodes that plans use for parameter servers and for no workers; "
        "empty: every node can hold both.",
    )
    when_gone: WhenGone = Field(
        default=SlotTimeParameters.when_gone,
        description="What becomes of a job that would be worth nothing even if it began now: "
        "`hold`: it waits on; `queue`: it waits like a job without a utility.",
    )
    unmeasured: Unmeasured = Field(
        default=SlotTimeParameters.unmeasured,
        description="What becomes of a job that does not say how long its steps take, if no "
        "earlier run of its name was measured: `hold`: it waits until somebody says it; "
        "`profile`: it runs like a job without a utility until agents have measured it, and is "
        "then offered a plan.",
    )
    profile_seconds: float = _time(
        "profile_seconds",
        "How long such a job may run until people are told that it could not be measured.",
    )
    profile_steps: int = _time(
        "profile_steps", "Steps that must be seen before their time counts as measured."
    )
    profile_spread: float = _time(
        "profile_spread",
        "Largest standard error of that time, as a part of it; with a larger one more is measured.",
    )
    history_namespace: str = Field(
        default="shuntyard-system",
        min_length=1,
        description="Namespace of the ConfigMap `shuntyard-admission-history`, which keeps what "
        "past jobs taught; without the ConfigMap that is forgotten at the next start.",
    )
    replanning: Replanning = Field(
        default=AdmissionParameters.replanning,
        description="When new jobs arrive: `never`: admitted jobs keep their schedules (the "
        "paper); `admitted-first`: all is planned anew, in the service as a slot begins, admitted "
        "jobs choose first; `without-commitment`: an admitted job may lose its place "
        "(`shuntyard-sim` alone: the service takes no promise back).",
    )
    colocation_gbps: float | None = Field(
        default=AdmissionParameters.colocation_bandwidth,
        ge=pricing.ADMISSION_BOUNDS["colocation_bandwidth"][0],
        le=pricing.ADMISSION_BOUNDS["colocation_bandwidth"][1],
        description="Bandwidth inside one machine, for jobs that may have all workers and "
        "parameter servers on one; no value: they never share a machine. "
        "`shuntyard-sim` alone: the service lets them share, and counts no gain.",
    )
    granularity: Granularity = Field(
        default=SlotParameters.granularity,
        description="What a slot can do: any number of workers (`worker-slots`), or whole chunks "
        "(`chunks`), as the paper's Algorithm 2 has it.",
    )
    most_units: int = _search(
        "most_units",
        "Most steps of the search; longer jobs are searched in blocks of worker-slots.",
    )
    most_idle_share: float = _search(
        "most_idle_share", "Share of a job's workers that such a block may leave unused."
    )

    def parameters(self) -> AdmissionParameters:
        """Return the policy's parameters."""
        search = SlotParameters(self.granularity, self.most_units, self.most_idle_share)
        return AdmissionParameters(self.replanning, self.colocation_gbps, search)

    def slot_time(self) -> SlotTimeParameters:
        """Return how time and machines are given to jobs with a utility."""
        return SlotTimeParameters(
            enabled=self.enabled,
            slot_seconds=self.slot_seconds,
            horizon=self.horizon,
            share=self.share,
            server_label=self.server_label,
            when_gone=self.when_gone,
            unmeasured=self.unmeasured,
            profile_seconds=self.profile_seconds,
            profile_steps=self.profile_steps,
            profile_spread=self.profile_spread,
        )


class PriceBoundsSection(Section):
    """Between which prices a resource costs over time slots (docs/policies/price_bounds.md).

    Read where jobs are admitted by price; a node's price for placement is in `pricing`.
    """

    rule: PriceBoundRule = Field(
        default=BoundsParameters.rule,
        description="`quantile`: from the value past jobs put on a unit; `kappa`: the highest "
        "value and a κ-th of it; `printed`: equations (23)-(26), corrected.",
    )
    floor: float = _bound(
        "floor",
        "Least utility of a job, as a share of its best (`printed`); a job worth less than this "
        "share of its value even if nothing delays it is no example (`quantile`).",
    )
    kappa: float = _bound("kappa", "With `kappa`: how many times dearer full is than idle.")
    low_quantile: float = _bound("low_quantile", "With `quantile`: of the price of an idle one.")
    high_quantile: float = _bound(
        "high_quantile", "With `quantile`: of the price of a full one; above `low_quantile`."
    )

    def parameters(self) -> BoundsParameters:
        """Return the policy's parameters."""
        return BoundsParameters(
            self.rule, self.floor, self.kappa, self.low_quantile, self.high_quantile
        )

    @model_validator(mode="after")
    def _is_in_order(self) -> Self:
        if self.low_quantile >= self.high_quantile:
            raise ValueError(
                f"low_quantile {self.low_quantile:g} must be below "
                f"high_quantile {self.high_quantile:g}"
            )
        return self
