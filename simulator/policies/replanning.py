"""Replanning of admitted jobs when new ones arrive (docs/policies/admission.md).

Beyond the paper, where a schedule is never revised.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from extender.core.parameters.pricing import AdmissionParameters, Granularity, Replanning
from extender.core.pricing import admission
from extender.core.pricing.admission import OfferDecision, SlotState
from extender.core.pricing.slots import Schedule
from extender.core.pricing.training_job import ROUNDING, TrainingJob
from simulator.policies import colocation


@dataclass(frozen=True, eq=False)
class Replanned:
    """The outcome of replanning.

    Attributes:
        state: The state with the new plans; its promises start with the present slot.
        decisions: Name → decision about what is left of each offered job.
        lost: Names of jobs that were admitted before and are rejected now, in name order.
    """

    state: SlotState
    decisions: Mapping[str, OfferDecision]
    lost: tuple[str, ...]


def replan(
    state: SlotState, now: int, waiting: Sequence[TrainingJob], params: AdmissionParameters
) -> Replanned:
    """Replan all slots from ``now`` on, for all unfinished admitted jobs and the waiting ones.

    Jobs are offered by falling density, f(soonest completion)/(remaining work·Σw), equal ones by
    name. With ``ADMITTED_FIRST`` admitted jobs come before all others and are taken at any payoff,
    so that one is lost only if it does not fit before the horizon; its completion may slip.

    Args:
        state: The decisions so far; not changed. Its schedules count as kept up to ``now``.
        now: The present slot; slots before it are past.
        waiting: New jobs, and rejected ones that are still worth an offer.
        params: Of admission.

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
    after = admission.empty_state(state.cluster, state.bounds)
    decisions = {}
    for job in jobs:
        least = float("-inf") if keep and job.name in left else 0.0
        decisions[job.name] = colocation.offer(job, after, params, start=now, least_payoff=least)
        after.accept(job, decisions[job.name])
    lost = sorted(name for name in left if not decisions[name].admitted)
    return Replanned(after, decisions, tuple(lost))


def remaining(
    job: TrainingJob, plan: Schedule, now: int, params: AdmissionParameters
) -> TrainingJob:
    """Return the job without the work that its schedule has done before slot ``now``."""
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
        return (job.name not in first, -admission.density(job, now), job.name)

    return turn
