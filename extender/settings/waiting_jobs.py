"""Sections about jobs that wait: their order, admission and gangs, and which nodes they get."""

from collections.abc import Mapping
from enum import StrEnum

from pydantic import Field, field_validator
from typing_extensions import override

from extender.core.parameters.combined import CoreParameters
from extender.core.parameters.placement import (
    GangParameters,
    NodePriceParameters,
    ScoringWeights,
    TopologyParameters,
)
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
from extender.core.queue import order
from shared.settings import Part, Section, takes


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
