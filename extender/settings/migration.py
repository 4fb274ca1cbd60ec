"""The sections of the settings file about moving jobs, and about their CPU."""

from pydantic import Field

from extender.core.parameters.cpu_shares import CpuShareParameters
from extender.core.parameters.migration import (
    CountParameters,
    GainParameters,
    MigrationParameters,
    RebalanceParameters,
    TargetParameters,
)
from shared.settings import Part, Section, takes


@takes(
    Part(MigrationParameters),
    Part(TargetParameters),
    Part(RebalanceParameters, keys={"when": "rebalance"}),
    Part(
        CountParameters,
        keys={
            "difference": "count_difference",
            "most_moves": "count_most_moves",
            "pause_seconds": "count_pause_seconds",
        },
    ),
    Part(GainParameters, keys={"minimum_ratio": "minimum_gain_ratio"}),
)
class MigrationSection(Section):
    """Which jobs are moved, and within which limits (docs/policies/migration_target.md).

    Only jobs with a checkpoint directory (`shuntyard.io/checkpoint`) are ever moved.
    """

    interval_seconds: float = Field(
        default=5.0, ge=0.1, le=3600, description="Time between two searches for moves."
    )


@takes(Part(CpuShareParameters))
class CpuWeightsSection(Section):
    """CPU requests that follow the remaining work of a job (docs/policies/cpu_weights.md).

    Only pods of QoS class Burstable are resized, in place. Their owners' own requests are restored
    when the extender ends or this is switched off.
    """

    interval_seconds: float = Field(
        default=30.0, ge=1, le=3600, description="Time between two rounds of setting requests."
    )
    restore_seconds: float = Field(
        default=10.0,
        ge=0,
        le=300,
        description="How long restoring may take when the extender ends. The next extender "
        "restores what is left, or goes on from it.",
    )
