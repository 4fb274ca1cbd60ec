"""All parameters of the core in one frozen value."""

from dataclasses import dataclass, field
from typing import Annotated, Final

from annotated_types import Ge, Le
from typing_extensions import Doc

from extender.core.parameters.agents import AgentReportParameters, CheckpointNoteParameters
from extender.core.parameters.cpu_shares import CpuShareParameters
from extender.core.parameters.drain import DrainParameters, LostNodeParameters
from extender.core.parameters.elastic import RescaleParameters, ScalingParameters, SpeedParameters
from extender.core.parameters.migration import MigrationParameters
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
    SlotTimeParameters,
)
from extender.core.parameters.queue import (
    BackfillParameters,
    FairShareParameters,
    GatingParameters,
    JobSize,
    KeepsRoom,
    Order,
    PriorityParameters,
    ServiceParameters,
    WeightingParameters,
)
from extender.core.parameters.training_faults import DetectionParameters, RestartParameters
from shared import labels


@dataclass(frozen=True, kw_only=True)
class CoreParameters:
    """Parameters of all decisions.

    Attributes:
        scheduler_name: ``spec.schedulerName`` of pods that are ours.

    Raises:
        ValueError: ``most_backoff_seconds`` is below ``backoff_seconds``.
    """

    scheduler_name: str = labels.SCHEDULER_NAME
    order: Annotated[
        Order,
        Doc(
            "How waiting jobs are ordered: `cps`: by the combined priority V; `creation`: first "
            "come, first served; `weighting`: by utility, then by size (DRS); `service`: by the "
            "service that is still needed, urgent jobs first (docs/policies/service.md)."
        ),
    ] = Order.CPS
    job_size: Annotated[
        JobSize,
        Doc(
            "What makes a job large. `dominant`: the GPUs that it requests, a MIG slice by its "
            "part, in every order and in shares; without GPUs in the cluster as `published`. "
            "`published`: as in the papers, the number of workers in CPS, CPU and memory in DRS, "
            "each resource by itself in shares."
        ),
    ] = JobSize.DOMINANT
    topology_key: Annotated[
        str,
        Doc(
            "Node label whose values are the places that buckets go to, such as "
            "`topology.kubernetes.io/zone`; empty: the node itself. A job's own annotation wins."
        ),
    ] = ""
    bind_burst_seconds: Annotated[
        float,
        Ge(1),
        Le(300),
        Doc(
            "How long a gang with some members bound may wait for its next Binding; after that it "
            "is partial."
        ),
    ] = 10.0
    pin_lost_seconds: Annotated[
        float,
        Ge(0),
        Le(3600),
        Doc(
            "How long a released pod may have no usable node among those it is pinned to, before "
            "it is deleted so that its owner makes a new one."
        ),
    ] = 30.0
    backoff_seconds: Annotated[
        float,
        Ge(0),
        Le(3600),
        Doc("Wait of a job that had to give its nodes back; it doubles each time."),
    ] = 5.0
    most_backoff_seconds: Annotated[
        float, Ge(0), Le(86400), Doc("Limit of that doubling; not below `backoff_seconds`.")
    ] = 300.0
    direct_wait_seconds: Annotated[
        float,
        Ge(1),
        Le(3600),
        Doc(
            "How long nodes are reserved for members of a gang without our gate that do not exist "
            "yet, from the arrival of the last member."
        ),
    ] = 30.0
    show_unplaceable_seconds: Annotated[
        float | None,
        Ge(0),
        Le(86400),
        Doc(
            "After this time a job that would not fit even if all nodes were empty loses its gate, "
            "so that cluster autoscalers see its pods as unschedulable and add nodes "
            "(docs/coexistence.md); it still starts whole. No value: never."
        ),
    ] = None
    priority: PriorityParameters = field(default_factory=PriorityParameters)
    weighting: WeightingParameters = field(default_factory=WeightingParameters)
    service: ServiceParameters = field(default_factory=ServiceParameters)
    topology: TopologyParameters = field(default_factory=TopologyParameters)
    waiting: BackfillParameters = field(default_factory=BackfillParameters)
    gang: GangParameters = field(default_factory=GangParameters)
    pricing: NodePriceParameters = field(default_factory=NodePriceParameters)
    weights: ScoringWeights = field(default_factory=ScoringWeights)
    migration: MigrationParameters = field(default_factory=MigrationParameters)
    cpu_weights: CpuShareParameters = field(default_factory=CpuShareParameters)
    scaling: ScalingParameters = field(default_factory=ScalingParameters)
    rescaling: RescaleParameters = field(default_factory=RescaleParameters)
    preemption: PreemptionParameters = field(default_factory=PreemptionParameters)
    speed: SpeedParameters = field(default_factory=SpeedParameters)
    admission: AdmissionParameters = field(default_factory=AdmissionParameters)
    price_bounds: BoundsParameters = field(default_factory=BoundsParameters)
    slot_time: SlotTimeParameters = field(default_factory=SlotTimeParameters)
    fair_share: FairShareParameters = field(default_factory=FairShareParameters)
    agent_reports: AgentReportParameters = field(default_factory=AgentReportParameters)
    fault_detection: DetectionParameters = field(default_factory=DetectionParameters)
    hang_restarts: RestartParameters = field(default_factory=RestartParameters)
    checkpoint_notes: CheckpointNoteParameters = field(default_factory=CheckpointNoteParameters)
    drain: DrainParameters = field(default_factory=DrainParameters)
    lost_nodes: LostNodeParameters = field(default_factory=LostNodeParameters)
    gating: GatingParameters = field(default_factory=GatingParameters)

    def __post_init__(self) -> None:
        if self.most_backoff_seconds < self.backoff_seconds:
            raise ValueError(
                f"most_backoff_seconds {self.most_backoff_seconds:g} must not be below "
                f"backoff_seconds {self.backoff_seconds:g}"
            )


PUBLISHED: Final = CoreParameters(
    job_size=JobSize.PUBLISHED,
    weights=ScoringWeights(preference=0.0, sparing=0.0),
    waiting=BackfillParameters(keeps_room=KeepsRoom.OVERDUE),
)
"""Without what the papers do not have: for reproductions, and for comparisons with them."""
