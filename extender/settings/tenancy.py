"""The section of the settings file about how namespaces share the cluster."""

from extender.core.parameters.queue import FairShareParameters
from shared.settings import Part, Section, takes


@takes(
    Part(FairShareParameters, keys={"enabled": "fair_share", "tolerance": "tolerance_ratio"}),
)
class TenancySection(Section):
    """How namespaces share the cluster (docs/policies/fair_share.md).

    What each may expect is in annotations of the Namespace or of its ResourceQuotas.
    """
