"""All parameters of the core in one frozen value."""

from dataclasses import dataclass, field

from extender.core.parameters.cpu_shares import CpuShareParameters
from extender.core.parameters.elastic import RescaleParameters, ScalingParameters, SpeedParameters
from extender.core.parameters.migration import MigrationParameters
from extender.core.parameters.placement import (
    GangParameters,
    NodePriceParameters,
    ScoringWeights,
    TopologyParameters,
)
from extender.core.parameters.pricing import (
    AdmissionParameters,
    BoundsParameters,
    SlotTimeParameters,
)
from extender.core.parameters.queue import (
    BackfillParameters,
    FairShareParameters,
    Order,
    PriorityParameters,
    WeightingParameters,
)
from shared import labels


@dataclass(frozen=True)
class CoreParameters:
    """Parameters of the engine.

    Attributes:
        scheduler_name: ``spec.schedulerName`` of pods that are ours.
        order: How waiting jobs are ordered.
        topology_key: Node label of the places buckets go to; empty: the node itself.
        bind_burst_seconds: From one Binding of a gang to the next one; later it is partial.
        pin_lost_seconds: How long a released pod may have no usable pinned node before it is
            deleted so that its owner makes a new one.
        backoff_seconds: Wait of a job after it gave seats back; doubles each time.
        most_backoff_seconds: Where the doubling ends.
        direct_wait_seconds: How long seats are kept for members of a direct gang that do not
            exist yet, counted from the last one that came.
        show_unplaceable_seconds: After how long a job that the nodes could not hold even if all
            were empty loses its gate, so that autoscalers see it; None: never.
    """

    scheduler_name: str = labels.SCHEDULER_NAME
    order: Order = Order.CPS
    topology_key: str = ""
    bind_burst_seconds: float = 10.0
    pin_lost_seconds: float = 30.0
    backoff_seconds: float = 5.0
    most_backoff_seconds: float = 300.0
    direct_wait_seconds: float = 30.0
    show_unplaceable_seconds: float | None = None
    priority: PriorityParameters = field(default_factory=PriorityParameters)
    weighting: WeightingParameters = field(default_factory=WeightingParameters)
    topology: TopologyParameters = field(default_factory=TopologyParameters)
    waiting: BackfillParameters = field(default_factory=BackfillParameters)
    gang: GangParameters = field(default_factory=GangParameters)
    pricing: NodePriceParameters = field(default_factory=NodePriceParameters)
    weights: ScoringWeights = field(default_factory=ScoringWeights)
    migration: MigrationParameters = field(default_factory=MigrationParameters)
    cpu_weights: CpuShareParameters = field(default_factory=CpuShareParameters)
    scaling: ScalingParameters = field(default_factory=ScalingParameters)
    rescaling: RescaleParameters = field(default_factory=RescaleParameters)
    speed: SpeedParameters = field(default_factory=SpeedParameters)
    admission: AdmissionParameters = field(default_factory=AdmissionParameters)
    price_bounds: BoundsParameters = field(default_factory=BoundsParameters)
    slot_time: SlotTimeParameters = field(default_factory=SlotTimeParameters)
    fair_share: FairShareParameters = field(default_factory=FairShareParameters)
