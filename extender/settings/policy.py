"""The part of the settings file that decides, and the core's parameters made of it.

Defaults, bounds and descriptions are declared in ``extender.core.parameters``; the sections
(``waiting_jobs``, ``running_jobs``) take them from there. A replay reads the same sections of the
same file.
"""

from extender.core.parameters.combined import CoreParameters
from extender.settings.running_jobs import (
    AgentReportsSection,
    CheckpointNotesSection,
    CpuWeightsSection,
    DrainSection,
    LostNodesSection,
    MigrationSection,
    PreemptionSection,
    ScalingSection,
    TrainingFaultsSection,
)
from extender.settings.waiting_jobs import (
    AdmissionSection,
    BucketsSection,
    GangSection,
    GatingSection,
    PriceBoundsSection,
    PricingSection,
    PrioritySection,
    QueueSection,
    ScoringSection,
    ServiceSection,
    TenancySection,
    TopologySection,
    WaitingSection,
    WeightingSection,
)
from shared.settings import Section, fill


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
