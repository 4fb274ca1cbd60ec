"""Which training jobs are admitted, and when and where they run (docs/policies/admission.md)."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from extender.core.parameters.pricing import AdmissionParameters, Granularity, Replanning
from extender.core.pricing import colocation, schedule
from extender.core.pricing.price_bounds import Bounds
from extender.core.pricing.slots import Promised, SlotCluster
from extender.core.pricing.timetable import Schedule
from extender.core.pricing.training_job import ROUNDING, TrainingJob


@dataclass(frozen=True, eq=False)
class Decision:
    """What became of an offer.

    Attributes:
        admitted: x, whether the job is taken.
        payoff: μ, the payoff of the best schedule; 0 if none has a positive one.
        schedule: That schedule; None for a job that is turned away.
    """

    admitted: bool
    payoff: float
    schedule: Schedule | None

    @property
    def promise(self) -> int | None:
        """The slot by whose end the job is done; None for a job that is turned away."""
        return self.schedule.completion_slot if self.schedule is not None else None


@dataclass(eq=False)
class SlotState:
    """What is decided so far. Owned by the one who made it: ``accept`` changes it in place.

    Attributes:
        cluster: The machines.
        bounds: Between which prices they cost.
        promised: What of them is promised.
        admitted: Name → job, as it was offered, and its schedule.
    """

    cluster: SlotCluster
    bounds: Bounds
    promised: Promised
    admitted: dict[str, tuple[TrainingJob, Schedule]] = field(default_factory=dict)

    def accept(self, job: TrainingJob, decision: Decision) -> None:
        """Enter an admitted job's schedule: lines 5 to 10 of Algorithm 1; else change nothing."""
        if decision.schedule is not None:
            self.promised.take(job, decision.schedule)
            self.admitted[job.name] = (job, decision.schedule)


def empty(cluster: SlotCluster, bounds: Bounds) -> SlotState:
    """Return the state before the first job."""
    return SlotState(cluster, bounds, Promised(cluster))


def offer(
    job: TrainingJob,
    state: SlotState,
    params: AdmissionParameters,
    *,
    start: int = 1,
    least_payoff: float = 0.0,
) -> Decision:
    """Decide about one job; the state is only read. ``SlotState.accept`` enters the decision.

    Args:
        job: The job, in the units of the cluster.
        state: What is promised.
        params: How jobs are admitted.
        start: First slot that may be used, if it is after the arrival.
        least_payoff: The payoff must be above this.

    Source:
        Bao, Peng, Wu, Li, INFOCOM 2018, Algorithm 1.
    """
    search, bandwidth = params.search, params.colocation_bandwidth
    found = schedule.best_schedule(
        job,
        state.cluster,
        state.promised,
        state.bounds,
        search,
        start=start,
        least_payoff=least_payoff,
    )
    if bandwidth is not None:
        together = colocation.best_schedule(
            job,
            state.cluster,
            state.promised,
            state.bounds,
            search,
            bandwidth=bandwidth,
            start=start,
            least_payoff=least_payoff if found is None else found.payoff,
        )
        found = together or found
    return Decision(found is not None, found.payoff if found else 0.0, found)


@dataclass(frozen=True, eq=False)
class Replanned:
    """The outcome of planning anew.

    Attributes:
        state: The state with the new plans; what is promised there starts with the present slot.
        decisions: Name → decision, for each job that was offered, with what is left of it.
        lost: Names of jobs that were admitted before and have no place any more, in name order.
    """

    state: SlotState
    decisions: Mapping[str, Decision]
    lost: tuple[str, ...]


def replan(
    state: SlotState, now: int, waiting: Sequence[TrainingJob], params: AdmissionParameters
) -> Replanned:
    """Plan all slots from ``now`` on anew: all unfinished admitted jobs and those waiting.

    Jobs are offered by falling density, f(soonest completion)/(remaining work·Σw), equal ones by
    name. With ``ADMITTED_FIRST`` admitted jobs come before all others and are taken at any payoff,
    so that only a lack of room until the horizon can lose one; its finish may slip.

    Args:
        state: What is decided; not changed. Its schedules are taken to have been kept so far.
        now: The present slot; slots before it are past.
        waiting: Jobs that are new, or were turned away and are still worth an offer.
        params: How jobs are admitted.

    Source:
        Ours.
    """
    left = {
        job.name: remaining(job, plan, now, params)
        for job, plan in state.admitted.values()
        if plan.completion_slot >= now
    }
    keep = params.replanning is Replanning.ADMITTED_FIRST
    jobs = [*left.values(), *(job for job in waiting if job.name not in left)]
    jobs.sort(key=_turn(now, left if keep else {}))
    after = empty(state.cluster, state.bounds)
    decisions = {}
    for job in jobs:
        least = float("-inf") if keep and job.name in left else 0.0
        decisions[job.name] = offer(job, after, params, start=now, least_payoff=least)
        after.accept(job, decisions[job.name])
    lost = sorted(name for name in left if not decisions[name].admitted)
    return Replanned(after, decisions, tuple(lost))


def remaining(
    job: TrainingJob, plan: Schedule, now: int, params: AdmissionParameters
) -> TrainingJob:
    """Return the job with what its schedule has done before slot ``now`` taken off."""
    kind = job
    if plan.colocated and params.colocation_bandwidth is not None:
        kind = colocation.inside(job, params.colocation_bandwidth)
    workers = plan.workers.before(now)
    if params.search.granularity is Granularity.CHUNKS:
        each = kind.batches * kind.batch_slots
        chunks = sum(int(count / each + ROUNDING) for count in workers.by_slot().values())
        done = chunks / (kind.epochs * kind.chunks)
    else:
        done = workers.total / kind.whole_work
    return replace(job, done=min(1.0, job.done + done))


def _turn(
    now: int, first: Mapping[str, TrainingJob]
) -> Callable[[TrainingJob], tuple[bool, float, str]]:
    def turn(job: TrainingJob) -> tuple[bool, float, str]:
        return (job.name not in first, -density(job, now), job.name)

    return turn


def density(job: TrainingJob, now: int) -> float:
    """Return what the job is worth if it is done as soon as can be, by unit of what it needs."""
    soonest = max(job.arrival, now) + job.least_slots - 1
    return job.utility.of(soonest - job.arrival) / max(job.work * sum(job.worker), 1e-300)
