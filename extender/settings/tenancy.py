"""The section of the settings file that decides how namespaces share the cluster."""

from pydantic import Field

from extender.core.parameters.queue import FAIR_SHARE_BOUNDS, FairShareParameters
from shared.settings import Section, bounded


class TenancySection(Section):
    """How namespaces share the cluster (docs/policies/fair_share.md).

    What each may expect stands in annotations of the Namespace or of its ResourceQuotas.
    """

    fair_share: bool = Field(
        default=FairShareParameters.enabled,
        description="Whether namespaces take turns by what they hold: those below their guaranteed "
        "share first, then by dominant share and weight, none beyond its borrowing limit. Off: "
        "jobs are ordered as if all were of one namespace.",
    )
    tolerance_ratio: float = bounded(
        FairShareParameters,
        FAIR_SHARE_BOUNDS,
        "tolerance",
        "With that: width of the steps in which weighted shares are compared; between namespaces "
        "in one step the order of jobs decides. 0: every difference counts.",
    )

    def parameters(self) -> FairShareParameters:
        """Return the policy's parameters."""
        return FairShareParameters(self.fair_share, self.tolerance_ratio)
