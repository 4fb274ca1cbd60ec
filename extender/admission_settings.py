"""The sections of the settings file that decide which training jobs are admitted, at what price.

So far only ``shuntyard-sim`` reads them: the service admits no jobs, it orders those that wait.
"""

from typing import Any, Self

from pydantic import Field, model_validator

from extender.policy import admission, price_bounds, schedule
from extender.policy.admission import AdmissionParameters, Replanning
from extender.policy.price_bounds import BoundsParameters, Rule
from extender.policy.schedule import Granularity, SlotParameters
from shared.settings import Section, bounded


def _search(name: str, description: str) -> Any:
    return bounded(SlotParameters, schedule.BOUNDS, name, description)


def _bound(name: str, description: str) -> Any:
    return bounded(BoundsParameters, price_bounds.BOUNDS, name, description)


class AdmissionSection(Section):
    """Which training jobs are admitted, and when they run (docs/policies/admission.md).

    So far read by `shuntyard-sim` alone; the service admits every job.
    """

    replanning: Replanning = Field(
        default=AdmissionParameters.replanning,
        description="When new jobs arrive: `never`: admitted jobs keep their schedules (the "
        "paper); `admitted-first`: all is planned anew, admitted jobs choose first; "
        "`without-commitment`: an admitted job may lose its place.",
    )
    colocation_gbps: float | None = Field(
        default=AdmissionParameters.colocation_bandwidth,
        ge=admission.BOUNDS["colocation_bandwidth"][0],
        le=admission.BOUNDS["colocation_bandwidth"][1],
        description="Bandwidth inside one machine, for jobs that may have all workers and "
        "parameter servers on one; no value: they never share a machine.",
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


class PriceBoundsSection(Section):
    """Between which prices a resource costs over time slots (docs/policies/price_bounds.md).

    So far read by `shuntyard-sim` alone; a node's price for placement is in `pricing`.
    """

    rule: Rule = Field(
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
