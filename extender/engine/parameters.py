"""Everything the engine is told once: the frozen parameters of all decisions."""

from dataclasses import dataclass, field
from enum import StrEnum

from extender.engine.admission.slot_time import SlotTimeParameters
from extender.engine.migration.parameters import MigrationParameters
from extender.engine.scaling.parameters import RescaleParameters
from extender.policy.admission import AdmissionParameters
from extender.policy.cpu_weights import WeightParameters
from extender.policy.fair_share import FairShareParameters
from extender.policy.gang import GangParameters
from extender.policy.price_bounds import BoundsParameters
from extender.policy.pricing import PricingParameters
from extender.policy.priority import PriorityParameters
from extender.policy.reservation import ReservationParameters
from extender.policy.scaling import ScalingParameters
from extender.policy.scoring import ScoringWeights
from extender.policy.speed import SpeedParameters
from extender.policy.topology import TopologyParameters
from extender.policy.weighting import WeightingParameters
from shared import labels


class Order(StrEnum):
    """How waiting jobs are ordered."""

    CPS = "cps"
    """By the CPS value V (``policy.priority``)."""
    CREATION = "creation"
    """First come, first served."""
    WEIGHTING = "weighting"
    """By utility, then by size, as DRS has it (``policy.weighting``)."""


@dataclass(frozen=True)
class EngineParameters:
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
    waiting: ReservationParameters = field(default_factory=ReservationParameters)
    gang: GangParameters = field(default_factory=GangParameters)
    pricing: PricingParameters = field(default_factory=PricingParameters)
    weights: ScoringWeights = field(default_factory=ScoringWeights)
    migration: MigrationParameters = field(default_factory=MigrationParameters)
    cpu_weights: WeightParameters = field(default_factory=WeightParameters)
    scaling: ScalingParameters = field(default_factory=ScalingParameters)
    rescaling: RescaleParameters = field(default_factory=RescaleParameters)
    speed: SpeedParameters = field(default_factory=SpeedParameters)
    admission: AdmissionParameters = field(default_factory=AdmissionParameters)
    price_bounds: BoundsParameters = field(default_factory=BoundsParameters)
    slot_time: SlotTimeParameters = field(default_factory=SlotTimeParameters)
    fair_share: FairShareParameters = field(default_factory=FairShareParameters)
