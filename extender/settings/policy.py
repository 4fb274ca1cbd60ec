"""The sections of the settings file that decide, and the core's parameters made of them.

Defaults, bounds and descriptions are declared in ``extender.core.parameters``; a section takes them
from there. A replay reads the same sections of the same file.
"""

from collections.abc import Mapping
from enum import StrEnum

from pydantic import Field, field_validator
from typing_extensions import override

from extender.core.parameters.agents import AgentReportParameters, CheckpointNoteParameters
from extender.core.parameters.combined import CoreParameters
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
from extender.core.parameters.placement import (
    GangParameters,
    NodePriceParameters,
    ScoringWeights,
    TopologyParameters,
)
from extender.core.parameters.preemption import PreemptionParameters
from extender.core.parameters.pricing import (
    AdmissionParameters,
    BoundsParameters,
    SlotParameters,
    SlotTimeParameters,
)
from extender.core.parameters.queue import (
    BackfillParameters,
    FairShareParameters,
    GatingParameters,
    PriorityParameters,
    ServiceParameters,
    WeightingParameters,
)
from extender.core.parameters.training_faults import DetectionParameters, RestartParameters
from extender.core.queue import order
from shared.settings import Part, Section, fill, listed, takes


@takes(Part(CoreParameters, only=["order", "job_size"]))
class QueueSection(Section):
    """How waiting jobs are ordered, and how often the queue is worked through."""

    settle_seconds: float = Field(
        default=0.2,
        ge=0,
        le=10,
        description="Pause between a change and a pass, so that a burst of pods is ordered as a "
        "whole. Longer: better order; shorter: earlier start. After a slow pass the pause is four "
        "times as long as the pass, but at most two seconds.",
    )
    interval_seconds: float = Field(
        default=2.0,
        ge=0.1,
        le=60,
        description="Longest time between two passes. Slow passes run less often, so that an idle "
        "queue takes at most a twentieth of a core, but at least every 10 s.",
    )


@takes(
    Part(GangParameters, only=["spares"]),
    Part(
        CoreParameters,
        only=[
            "bind_burst_seconds",
            "pin_lost_seconds",
            "backoff_seconds",
            "most_backoff_seconds",
            "direct_wait_seconds",
            "show_unplaceable_seconds",
        ],
    ),
)
class GangSection(Section):
    """How gangs are bound, and how a broken gang is handled."""

    bind_wait_seconds: float = Field(
        default=240.0,
        ge=1,
        le=3600,
        description="How long a bind call waits for the rest of its gang. Only whole gangs are "
        "released, so waiting blocks no other job. It must be longer than kube-scheduler needs for "
        "the largest gang, and below the `httpTimeout` of the bind entry in its configuration.",
    )
    bind_parallelism: int = Field(
        default=32, ge=1, le=512, description="Bindings, or releases, sent at the same time."
    )
    burst_hold_seconds: float = Field(
        default=0.8,
        ge=0,
        le=2,
        description="How long kube-scheduler waits for an answer to filter while we bind the rest "
        "of the gang and other pods that wait. 0: kube-scheduler asks about every pod. The "
        "`httpTimeout` of the filter entry in its configuration must be at least 2 s longer. Use 0 "
        "if its profile has plugins beside the default ones.",
    )
    burst_gated: bool = Field(
        default=False,
        description="Bind gated gangs like those without the gate: one pod is released without a "
        "pin, and while kube-scheduler waits for the answer about it, the gates of the others are "
        "removed, each just before its Binding. `false`: every pod is released and pinned, and "
        "kube-scheduler asks about each. Without effect if `burst_hold_seconds` is 0.",
    )
    burst_event_per_pod: bool = Field(
        default=True,
        description="Write an Event `Scheduled` about each pod that is bound while kube-scheduler "
        "waits, as kube-scheduler does; while 10,000 wait to be written, no more. `false`: one on "
        "the owner for all pods of a gang that were bound in one such time, which costs less.",
    )


class Weights(StrEnum):
    """The two sets of job priorities that the CPS paper prints."""

    PAPER_EXPERIMENTS = "paper-experiments"
    PAPER_SECTION_3 = "paper-section-3"


_PRESETS: Mapping[Weights, PriorityParameters] = {
    Weights.PAPER_EXPERIMENTS: order.PAPER_EXPERIMENTS,
    Weights.PAPER_SECTION_3: order.PAPER_SECTION_3,
}


@takes(Part(PriorityParameters, preset="weights", optional=["high", "normal", "low"]))
class PrioritySection(Section):
    """The combined priority V of CPS (docs/policies/priority.md)."""

    weights: Weights = Field(
        default=Weights.PAPER_EXPERIMENTS,
        description="Job priorities hp/np/lp: `paper-experiments` is 100/50/1, `paper-section-3` "
        "is 10/5/1.",
    )

    @override
    def preset_values(self) -> PriorityParameters:
        """Return the set that ``weights`` names."""
        return _PRESETS[self.weights]


@takes(Part(WeightingParameters))
class WeightingSection(Section):
    """The order `weighting` of DRS (docs/policies/weighting.md)."""


@takes(Part(ServiceParameters))
class ServiceSection(Section):
    """The order `service` (docs/policies/service.md)."""


@takes(Part(BackfillParameters))
class WaitingSection(Section):
    """How long a job may wait until room is kept for it (docs/policies/reservation.md)."""


@takes(
    Part(FairShareParameters, keys={"enabled": "fair_share", "tolerance": "tolerance_ratio"}),
)
class TenancySection(Section):
    """How namespaces share the cluster (docs/policies/fair_share.md).

    What each may expect is in annotations of the Namespace or of its ResourceQuotas.
    """


@takes(
    Part(GangParameters, only=["spread_workers"], keys={"spread_workers": "worker_spreading"}),
    Part(CoreParameters, only=["topology_key"]),
)
class BucketsSection(Section):
    """Which members of a job go together (docs/policies/buckets.md)."""


@takes(Part(TopologyParameters))
class TopologySection(Section):
    """The levels of the cluster's topology (docs/policies/topology.md)."""

    @field_validator("levels", mode="before", check_fields=False)
    @classmethod
    def _may_be_a_text(cls, levels: object) -> object:
        """Take the form in the environment: ``zone=topology.kubernetes.io/zone, rack=…``."""
        if not isinstance(levels, str):
            return levels
        pairs = [part.partition("=") for part in levels.split(",")]
        return [{"name": name.strip(), "label": label.strip()} for name, _, label in pairs]


@takes(Part(NodePriceParameters))
class PricingSection(Section):
    """What a node costs (docs/policies/pricing.md)."""


@takes(Part(ScoringWeights))
class ScoringSection(Section):
    """Weights of the terms by which nodes are compared (docs/policies/scoring.md)."""


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


@takes(Part(GatingParameters))
class GatingSection(Section):
    """When the policy of `deploy/components/gate` gates new pods (docs/policies/gang.md)."""

    config_map: str | None = Field(
        default=None,
        min_length=1,
        description="ConfigMap that the policy reads; it must exist. No value: none is written.",
    )
    namespace: str = Field(default="shuntyard-system", min_length=1, description="Its namespace.")
    interval_seconds: float = Field(
        default=0.25, ge=0.05, le=30, description="Time between two looks at the queue."
    )


class PolicySettings(Section):
    """Everything in the settings file that changes a decision."""

    queue: QueueSection = QueueSection()
    gang: GangSection = GangSection()
    priority: PrioritySection = PrioritySection()
    weighting: WeightingSection = WeightingSection()
    service: ServiceSection = ServiceSection()
    waiting: WaitingSection = WaitingSection()
    tenancy: TenancySection = TenancySection()
    buckets: BucketsSection = BucketsSection()
    topology: TopologySection = TopologySection()
    pricing: PricingSection = PricingSection()
    scoring: ScoringSection = ScoringSection()
    agent_reports: AgentReportsSection = AgentReportsSection()
    migration: MigrationSection = MigrationSection()
    cpu_weights: CpuWeightsSection = CpuWeightsSection()
    scaling: ScalingSection = ScalingSection()
    preemption: PreemptionSection = PreemptionSection()
    admission: AdmissionSection = AdmissionSection()
    price_bounds: PriceBoundsSection = PriceBoundsSection()
    training_faults: TrainingFaultsSection = TrainingFaultsSection()
    checkpoint_notes: CheckpointNotesSection = CheckpointNotesSection()
    drain: DrainSection = DrainSection()
    lost_nodes: LostNodesSection = LostNodesSection()
    gating: GatingSection = GatingSection()


def core_parameters(settings: PolicySettings, scheduler_name: str) -> CoreParameters:
    """Return the core's parameters; ``scheduler_name`` is the ``schedulerName`` of our pods."""
    sections = [getattr(settings, name) for name in PolicySettings.model_fields]
    return fill(CoreParameters(scheduler_name=scheduler_name), sections)
