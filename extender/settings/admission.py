"""The sections of the settings file about the admission of training jobs by price."""

from pydantic import Field

from extender.core.parameters.pricing import (
    AdmissionParameters,
    BoundsParameters,
    SlotParameters,
    SlotTimeParameters,
)
from shared.settings import Part, Section, takes


@takes(
    Part(SlotTimeParameters),
    Part(AdmissionParameters, keys={"colocation_bandwidth": "colocation_gbps"}),
    Part(SlotParameters),
)
class AdmissionSection(Section):
    """Which training jobs are admitted, and when they run (docs/policies/admission.md).

    Only jobs with `shuntyard.io/utility` are admitted by price.
    """

    history_namespace: str = Field(
        default="shuntyard-system",
        min_length=1,
        description="Namespace of the ConfigMap `shuntyard-admission-history`, which keeps what "
        "past jobs taught; without the ConfigMap that is lost at the next start.",
    )


@takes(Part(BoundsParameters))
class PriceBoundsSection(Section):
    """Between which prices a resource costs over time slots (docs/policies/price_bounds.md).

    Used for admission by price; a node's price for placement is in `pricing`.
    """
