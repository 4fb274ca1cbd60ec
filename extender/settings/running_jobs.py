"""Sections about jobs that run: what agents report of them, and when they are moved or changed."""

from pydantic import Field, field_validator

from extender.core.parameters.agents import AgentReportParameters, CheckpointNoteParameters
from extender.core.parameters.cpu_shares import CpuShareParameters
from extender.core.parameters.drain import DrainParameters, LostNodeParameters
from extender.core.parameters.elastic import RescaleParameters, ScalingParameters, SpeedParameters
from extender.core.parameters.migration import (
    CountParameters,
    GainParameters,
    MigrationParameters,
    RebalanceParameters,
    TargetParameters,
)
from extender.core.parameters.preemption import PreemptionParameters
from extender.core.parameters.training_faults import DetectionParameters, RestartParameters
from shared.settings import Part, Section, listed, takes


@takes(Part(AgentReportParameters))
class AgentReportsSection(Section):
    """Which reports of agents decisions use (docs/heartbeats.md)."""


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


@takes(Part(RescaleParameters), Part(ScalingParameters), Part(SpeedParameters))
class ScalingSection(Section):
    """How jobs give up workers, and get more (docs/elastic.md, docs/policies/scaling.md).

    First the limits and deadlines of a change, then the rule that decides which jobs shrink and
    grow.
    """

    interval_seconds: float = Field(
        default=5.0, ge=0.05, le=3600, description="Time between two searches for new changes."
    )


@takes(Part(PreemptionParameters))
class PreemptionSection(Section):
    """When running jobs are parked for others (docs/parking.md, docs/policies/preemption.md).

    Only jobs with a checkpoint directory (`shuntyard.io/checkpoint`) are ever parked, unless their
    owner says `shuntyard.io/preemptible: terminate`.
    """

    interval_seconds: float = Field(
        default=5.0, ge=0.05, le=3600, description="Time between two searches for jobs to park."
    )


@takes(Part(DetectionParameters), Part(RestartParameters))
class TrainingFaultsSection(Section):
    """When training hangs, diverges or is slowed down (docs/policies/fault_detection.md).

    Then how often hung jobs with `shuntyard.io/on-hang` are restarted.
    """

    interval_seconds: float = Field(
        default=10.0, ge=0.05, le=30, description="Time between two looks at all jobs."
    )


@takes(Part(CheckpointNoteParameters))
class CheckpointNotesSection(Section):
    """Annotations of pods with their job's last checkpoint (docs/checkpoint-contract.md)."""

    interval_seconds: float = Field(
        default=10.0, ge=0.05, le=30, description="Time between two looks at all reports."
    )


@takes(Part(DrainParameters))
class DrainSection(Section):
    """By what a node announces that it leaves, so that its jobs save and leave (docs/drain.md)."""

    _lists = field_validator("taints", "conditions", "labels", mode="before", check_fields=False)(
        listed
    )


@takes(Part(LostNodeParameters))
class LostNodesSection(Section):
    """When pods of an unreachable node are deleted by force (docs/drain.md#nodes-that-die)."""

    _lists = field_validator("fences", mode="before", check_fields=False)(listed)

    interval_seconds: float = Field(
        default=5.0, ge=0.05, le=60, description="Time between two looks at unreachable nodes."
    )
