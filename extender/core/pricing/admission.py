"""Which training jobs are admitted, and when and where they run (docs/policies/admission.md)."""

from dataclasses import dataclass, field

from extender.core.parameters.pricing import AdmissionParameters
from extender.core.pricing import schedule
from extender.core.pricing.price_bounds import Bounds
from extender.core.pricing.slots import Commitments, Schedule, SlotCluster
from extender.core.pricing.training_job import TrainingJob


@dataclass(frozen=True, eq=False)
class OfferDecision:
    """The answer to an offer.

    Attributes:
        admitted: x, whether the job is admitted.
        payoff: μ, the payoff of the best schedule; 0 if none has a positive one.
        schedule: That schedule; None for a job that is rejected.
    """

    admitted: bool
    payoff: float
    schedule: Schedule | None

    @property
    def promise(self) -> int | None:
        """The slot by whose end the job is done; None for a job that is rejected."""
        return self.schedule.completion_slot if self.schedule is not None else None


@dataclass(eq=False)
class SlotState:
    """The decisions so far. ``accept`` changes it in place, so it has one owner.

    Attributes:
        cluster: The machines.
        bounds: Lowest and highest prices.
        promised: Promised amounts of them.
        admitted: By name, the job as it was offered, and its schedule.
    """

    cluster: SlotCluster
    bounds: Bounds
    promised: Commitments
    admitted: dict[str, tuple[TrainingJob, Schedule]] = field(default_factory=dict)

    def accept(self, job: TrainingJob, decision: OfferDecision) -> None:
        """Enter an admitted job's schedule: lines 5 to 10 of Algorithm 1; else change nothing."""
        if decision.schedule is not None:
            self.promised.take(job, decision.schedule)
            self.admitted[job.name] = (job, decision.schedule)


def empty_state(cluster: SlotCluster, bounds: Bounds) -> SlotState:
    """Return the state before the first job."""
    return SlotState(cluster, bounds, Commitments(cluster))


def offer(
    job: TrainingJob,
    state: SlotState,
    params: AdmissionParameters,
    *,
    start: int = 1,
    least_payoff: float = 0.0,
) -> OfferDecision:
    """Decide about one job without changing the state; ``SlotState.accept`` enters the decision.

    Args:
        job: The job, in the units of the cluster.
        state: Promised amounts and prices.
        params: How jobs are admitted.
        start: First slot that may be used, if it is after the arrival.
        least_payoff: The payoff must be above this.

    Source:
        Bao, Peng, Wu, Li, INFOCOM 2018, Algorithm 1.
    """
    best = schedule.best_schedule(
        job,
        state.cluster,
        state.promised,
        state.bounds,
        params.search,
        start=start,
        least_payoff=least_payoff,
    )
    return OfferDecision(best is not None, best.payoff if best else 0.0, best)


def density(job: TrainingJob, now: int) -> float:
    """Return the utility of the earliest possible completion, by unit of the job's demand."""
    soonest = max(job.arrival, now) + job.least_slots - 1
    return job.utility.of(soonest - job.arrival) / max(job.work * sum(job.worker), 1e-300)
