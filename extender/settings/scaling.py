"""The section of the settings file about the number of a job's workers."""

from pydantic import Field

from extender.core.parameters.elastic import RescaleParameters, ScalingParameters, SpeedParameters
from shared.settings import Part, Section, takes


@takes(Part(RescaleParameters), Part(ScalingParameters), Part(SpeedParameters))
class ScalingSection(Section):
    """How jobs give up workers, and get more (docs/elastic.md, docs/policies/scaling.md).

    First the limits and deadlines of a change, then the rule that decides which jobs shrink and
    grow.
    """

    interval_seconds: float = Field(
        default=5.0, ge=0.05, le=3600, description="Time between two searches for new changes."
    )
