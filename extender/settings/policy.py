"""The sections of the settings file that decide: from YAML to the frozen parameters of the engine.

Defaults and bounds stand beside each policy (``extender.policy``); here they get their place in the
file. A replay or a what-if reads the same sections of the same file.
"""

from collections.abc import Mapping
from dataclasses import replace
from enum import StrEnum
from typing import Annotated, Any, Self

from pydantic import BeforeValidator, Field, model_validator

from extender.core.parameters import placement, queue
from extender.core.parameters.combined import CoreParameters
from extender.core.parameters.placement import (
    GangParameters,
    Level,
    NodePriceParameters,
    ScoringWeights,
    TopologyParameters,
)
from extender.core.parameters.queue import (
    BackfillParameters,
    Order,
    PriorityParameters,
    WeightingParameters,
)
from extender.core.queue import priority
from extender.settings.admission import AdmissionSection, PriceBoundsSection
from extender.settings.migration import CpuWeightsSection, MigrationSection
from extender.settings.scaling import ScalingSection
from extender.settings.tenancy import TenancySection
from shared.settings import Section, bounded


class QueueSection(Section):
    """How waiting jobs are ordered, and how often they are looked at."""

    order: Order = Field(
        default=CoreParameters.order,
        description="`cps`: by the combined priority V; `creation`: first come, first served; "
        "`weighting`: by utility, then by size (DRS).",
    )
    settle_seconds: float = Field(
        default=0.2,
        ge=0,
        le=10,
        description="Pause after a change before a cycle, so that a burst of pods is judged at "
        "once. Longer: better order; shorter: earlier start. After a cycle that took long the "
        "pause is four times as long as that, up to two seconds.",
    )
    interval_seconds: float = Field(
        default=2.0,
        ge=0.1,
        le=60,
        description="A cycle runs at least this often; where cycles take long, less often, so that "
        "a queue in which nothing happens costs at most a twentieth of a core (yet every 10 s).",
    )


class GangSection(Section):
    """How gangs are bound, and what happens to one that comes to harm."""

    spares: int = bounded(
        GangParameters,
        placement.GANG_BOUNDS,
        "spares",
        "Further nodes each pod is pinned to beside the planned one, for the case that it is lost.",
    )
    bind_wait_seconds: float = Field(
        default=240.0,
        ge=1,
        le=3600,
        description="How long a bind call waits for the rest of its gang. Seats are only given to "
        "whole gangs, so waiting blocks nobody; it must be longer than kube-scheduler needs for "
        "the largest gang, and below the `httpTimeout` of the bind entry in its configuration.",
    )
    bind_burst_seconds: float = Field(
        default=CoreParameters.bind_burst_seconds,
        ge=1,
        le=300,
        description="How long a gang with some members bound may wait for its next Binding; after "
        "that it is partial.",
    )
    bind_parallelism: int = Field(
        default=32, ge=1, le=512, description="Bindings, or releases, sent at the same time."
    )
    pin_lost_seconds: float = Field(
        default=CoreParameters.pin_lost_seconds,
        ge=0,
        le=3600,
        description="How long none of the nodes a released pod is pinned to may be usable before "
        "the pod is deleted, so that its owner makes a new one.",
    )
    backoff_seconds: float = Field(
        default=CoreParameters.backoff_seconds,
        ge=0,
        le=3600,
        description="How long a job waits after it had to give its seats back; doubles each time.",
    )
    most_backoff_seconds: float = Field(
        default=CoreParameters.most_backoff_seconds,
        ge=0,
        le=86400,
        description="Where that doubling ends; not below `backoff_seconds`.",
    )
    direct_wait_seconds: float = Field(
        default=CoreParameters.direct_wait_seconds,
        ge=1,
        le=3600,
        description="How long seats are kept for members of a gang without our gate that do not "
        "exist yet, counted from the last one that came.",
    )
    show_unplaceable_seconds: float | None = Field(
        default=CoreParameters.show_unplaceable_seconds,
        ge=0,
        le=86400,
        description="After how long a job that the nodes could not hold even if all were empty "
        "loses its gate, so that cluster autoscalers see its pods as unschedulable and add nodes "
        "(docs/coexistence.md); it still starts whole. No value: never.",
    )

    @model_validator(mode="after")
    def _is_in_order(self) -> Self:
        if self.most_backoff_seconds < self.backoff_seconds:
            raise ValueError(
                f"most_backoff_seconds {self.most_backoff_seconds:g} must not be below "
                f"backoff_seconds {self.backoff_seconds:g}"
            )
        return self


class Weights(StrEnum):
    """The two sets of job priorities that the CPS paper prints."""

    PAPER_EXPERIMENTS = "paper-experiments"
    PAPER_SECTION_3 = "paper-section-3"


_PRESETS: Mapping[Weights, PriorityParameters] = {
    Weights.PAPER_EXPERIMENTS: priority.PAPER_EXPERIMENTS,
    Weights.PAPER_SECTION_3: priority.PAPER_SECTION_3,
}


def _priority(name: str, description: str) -> Any:
    return bounded(PriorityParameters, queue.PRIORITY_BOUNDS, name, description)


def _weight(name: str, what: str) -> Any:
    least, most = queue.PRIORITY_BOUNDS[name]
    text = f"b of {what}; no value: as `weights` says."
    return Field(default=None, ge=least, le=most, description=text)


class PrioritySection(Section):
    """The combined priority V of CPS (docs/policies/priority.md)."""

    weights: Weights = Field(
        default=Weights.PAPER_EXPERIMENTS,
        description="Job priorities hp/np/lp: `paper-experiments` is 100/50/1, `paper-section-3` "
        "is 10/5/1.",
    )
    high: int | None = _weight("high", "a high-priority job (hp)")
    normal: int | None = _weight("normal", "a normal job (np), not above hp")
    low: int | None = _weight("low", "a low-priority job (lp), not above np")
    expansion: float = _priority("expansion", "k' of equation (11): V goes from 0 to twice this.")
    ageing: bool = Field(
        default=PriorityParameters.ageing,
        description="Whether the maximum wait shrinks while the job waits, so that it moves up.",
    )
    default_user_priority: int = _priority(
        "default_user_priority", "u of a namespace that names none."
    )
    high_class_value: int = _priority(
        "high_class_value", "A PriorityClass of at least this value makes a job hp."
    )
    normal_class_value: int = _priority(
        "normal_class_value", "A PriorityClass of at least this value makes a job np; below, lp."
    )

    def parameters(self) -> PriorityParameters:
        """Return the policy's parameters.

        Raises:
            ValueError: hp, np, lp or the class values are not in falling order.
        """
        preset = _PRESETS[self.weights]
        return PriorityParameters(
            high=preset.high if self.high is None else self.high,
            normal=preset.normal if self.normal is None else self.normal,
            low=preset.low if self.low is None else self.low,
            expansion=self.expansion,
            ageing=self.ageing,
            default_user_priority=self.default_user_priority,
            high_class_value=self.high_class_value,
            normal_class_value=self.normal_class_value,
        )

    @model_validator(mode="after")
    def _can_be_used(self) -> Self:
        self.parameters()
        return self


def _utility(name: str, description: str) -> Any:
    return bounded(WeightingParameters, queue.WEIGHTING_BOUNDS, name, description)


class WeightingSection(Section):
    """The order `weighting` of DRS (docs/policies/weighting.md)."""

    class_weight: int = _utility("class_weight", "What one point of the PriorityClass counts in U.")
    user_weight: int = _utility("user_weight", "What one point of the user priority counts in U.")


class WaitingSection(Section):
    """How long a job may wait until room is kept for it (docs/policies/reservation.md)."""

    default_max_wait_seconds: float | None = bounded(
        BackfillParameters,
        queue.BACKFILL_BOUNDS,
        "default_max_wait_seconds",
        "Maximum wait of a job that states none; no value: such a job may wait for ever. The order "
        "of jobs does not look at it.",
    )
    passing_tries: int = bounded(
        BackfillParameters,
        queue.BACKFILL_BOUNDS,
        "passing_tries",
        "For how many jobs a cycle the one for which room is kept is planned anew, to see whether "
        "they can start before it.",
    )


class BucketsSection(Section):
    """Which members of a job go together (docs/policies/buckets.md)."""

    worker_spreading: bool = Field(
        default=GangParameters.spread_workers,
        description="Whether workers of a job that declares relations avoid each other too.",
    )
    topology_key: str = Field(
        default=CoreParameters.topology_key,
        description="Node label whose values are the places buckets go to, e.g. "
        "`topology.kubernetes.io/zone`; empty: the node itself. A job's own annotation wins.",
    )


class LevelSection(Section):
    """A level of the topology."""

    name: str = Field(min_length=1, description="As annotations name it.")
    label: str = Field(min_length=1, description="Node label whose values are its domains.")


def _levels(found: object) -> object:
    """Take a text, as the environment has it: ``zone=topology.kubernetes.io/zone, rack=…``."""
    if not isinstance(found, str):
        return found
    pairs = [part.partition("=") for part in found.split(",")]
    return [{"name": name.strip(), "label": label.strip()} for name, _, label in pairs]


class TopologySection(Section):
    """The levels of the cluster's topology (docs/policies/topology.md)."""

    levels: Annotated[tuple[LevelSection, ...], BeforeValidator(_levels)] = Field(
        default=tuple(LevelSection(name=one.name, label=one.label) for one in placement.LEVELS),
        description="From the coarsest to the finest: the `name` that annotations may use, and the "
        "node `label` whose values are the domains; in the environment `name=label`, separated by "
        "commas. Nodes without the label are in no domain of that level.",
    )
    most_tries: int = bounded(
        TopologyParameters,
        placement.TOPOLOGY_BOUNDS,
        "most_tries",
        "In how many domains a gang of several shapes is tried, if it might fit in more.",
    )

    def parameters(self) -> TopologyParameters:
        """Return the policy's parameters.

        Raises:
            ValueError: Two levels have one name or label.
        """
        levels = tuple(Level(level.name, level.label) for level in self.levels)
        return TopologyParameters(levels, self.most_tries)

    @model_validator(mode="after")
    def _can_be_used(self) -> Self:
        self.parameters()
        return self


class PricingSection(Section):
    """What a node costs (docs/policies/pricing.md)."""

    kappa: float = bounded(
        NodePriceParameters,
        placement.NODE_PRICE_BOUNDS,
        "kappa",
        "How many times dearer a full resource is than an idle one.",
    )


def _term(name: str, description: str) -> Any:
    return bounded(ScoringWeights, placement.SCORING_BOUNDS, name, description)


class ScoringSection(Section):
    """Weights of the terms by which nodes are compared (docs/policies/scoring.md)."""

    affinity: float = _term("affinity", "Weight of bucket affinity.")
    locality: float = _term("locality", "Weight of being with the job's other members.")
    packing: float = _term("packing", "Weight of filling nodes that are in use.")
    price: float = _term("price", "Weight of being cheap.")

    def parameters(self) -> ScoringWeights:
        """Return the policy's parameters.

        Raises:
            ValueError: No weight is above 0.
        """
        return ScoringWeights(
            affinity=self.affinity, locality=self.locality, packing=self.packing, price=self.price
        )

    @model_validator(mode="after")
    def _can_be_used(self) -> Self:
        self.parameters()
        return self


class PolicySettings(Section):
    """Everything in the settings file that changes a decision."""

    queue: QueueSection = QueueSection()
    gang: GangSection = GangSection()
    priority: PrioritySection = PrioritySection()
    weighting: WeightingSection = WeightingSection()
    waiting: WaitingSection = WaitingSection()
    tenancy: TenancySection = TenancySection()
    buckets: BucketsSection = BucketsSection()
    topology: TopologySection = TopologySection()
    pricing: PricingSection = PricingSection()
    scoring: ScoringSection = ScoringSection()
    migration: MigrationSection = MigrationSection()
    cpu_weights: CpuWeightsSection = CpuWeightsSection()
    scaling: ScalingSection = ScalingSection()
    admission: AdmissionSection = AdmissionSection()
    price_bounds: PriceBoundsSection = PriceBoundsSection()


def engine_parameters(settings: PolicySettings, scheduler_name: str) -> CoreParameters:
    """Return what the engine is told once; ``scheduler_name`` says which pods are ours."""
    return CoreParameters(
        scheduler_name=scheduler_name,
        order=settings.queue.order,
        topology_key=settings.buckets.topology_key,
        bind_burst_seconds=settings.gang.bind_burst_seconds,
        pin_lost_seconds=settings.gang.pin_lost_seconds,
        backoff_seconds=settings.gang.backoff_seconds,
        most_backoff_seconds=settings.gang.most_backoff_seconds,
        direct_wait_seconds=settings.gang.direct_wait_seconds,
        show_unplaceable_seconds=settings.gang.show_unplaceable_seconds,
        priority=settings.priority.parameters(),
        weighting=WeightingParameters(
            settings.weighting.class_weight, settings.weighting.user_weight
        ),
        waiting=BackfillParameters(
            settings.waiting.default_max_wait_seconds, settings.waiting.passing_tries
        ),
        fair_share=settings.tenancy.parameters(),
        gang=GangParameters(settings.gang.spares, settings.buckets.worker_spreading),
        pricing=NodePriceParameters(settings.pricing.kappa),
        weights=settings.scoring.parameters(),
        topology=settings.topology.parameters(),
        migration=replace(settings.migration.parameters(), topology=settings.topology.parameters()),
        cpu_weights=settings.cpu_weights.parameters(),
        scaling=settings.scaling.parameters(),
        rescaling=settings.scaling.rescaling(),
        speed=settings.scaling.speed(),
        admission=settings.admission.parameters(),
        slot_time=settings.admission.slot_time(),
        price_bounds=settings.price_bounds.parameters(),
    )
