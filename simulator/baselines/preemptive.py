"""Preemptive schedulers that are an order of jobs: the first in it run, whatever it takes.

Shortest remaining first, Tiresias and density greedy differ in their order alone.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from simulator.baselines.estimates import Estimates
from simulator.baselines.free_nodes import FreeNodes
from simulator.baselines.reconcile import Target, reconcile
from simulator.baselines.worker_counts import Pool, worthwhile
from simulator.cluster.actions import Action
from simulator.cluster.decider import JobView, View, next_tick

Count = Callable[[JobView], int]


def asked_for(job: JobView) -> int:
    """Return the number of workers that the owner requested."""
    return job.spec.workers


def run_in_order(view: View, order: Sequence[JobView], count_of: Count = asked_for) -> list[Action]:
    """Return the actions that run the first jobs of an order, as many as the cluster holds.

    Args:
        view: The cluster.
        order: All jobs, the most important first.
        count_of: Number of workers of a job; an elastic job may get fewer, down to its minimum.
    """
    pool = Pool.of_machines(view.machines)
    fixed = [job for job in view.running if not job.spec.movable]
    for job in fixed:
        pool.take(job.spec, job.workers)
    targets = [Target(job, job.workers) for job in fixed]
    rest = []
    for job in order:
        if job.placement is not None and not job.spec.movable:
            continue
        workers = _most(job, count_of(job), pool)
        if workers:
            pool.take(job.spec, workers)
            targets.append(Target(job, workers))
        else:
            rest.append(job)
    return reconcile(FreeNodes(view.snapshot.node_table), view.running, targets, rest)


def _most(job: JobView, count: int, pool: Pool) -> int:
    least = min(job.spec.least_workers, count)
    return next((w for w in range(count, least - 1, -1) if pool.has(job.spec, w)), 0)


@dataclass
class ShortestRemaining:
    """The job with the least estimated time to its end goes first.

    Attributes:
        estimates: Lengths and speeds.
        elastic: Whether an elastic job gets the workers that are ``worthwhile``; else what it
            requested.

    Source:
        SRPT, the textbook rule for the mean completion time (Schrage 1968); the number of
        workers is ours.
    """

    estimates: Estimates
    elastic: bool = True
    oracle: Final = True

    def decide(self, view: View) -> Sequence[Action]:
        """Preempt jobs with more time left."""
        jobs = (*view.running, *view.waiting)
        counts = {job.name: self._count(job, view) for job in jobs}

        def key(job: JobView) -> tuple[float, int]:
            return self.estimates.seconds(job, counts[job.name], view.machines), job.spec.number

        return run_in_order(view, sorted(jobs, key=key), lambda job: counts[job.name])

    def wakes_at(self, now: float) -> float | None:
        """Return None: the order changes only when jobs arrive or complete."""
        _ = now
        return None

    def _count(self, job: JobView, view: View) -> int:
        if not self.elastic:
            return job.spec.workers
        return worthwhile(job, self.estimates, view.machines)


@dataclass(frozen=True)
class TiresiasParameters:
    """The two queues.

    Attributes:
        demotion_seconds: Worker-seconds after which a job is in the second queue; 16 GPU-hours in
            AdaptDL's re-implementation.
        every_seconds: Interval between decisions.

    Source:
        Gu et al., NSDI 2019, Sect. 3.1; the number is AdaptDL's.
    """

    demotion_seconds: float = 16.0 * 3600.0
    every_seconds: float = 60.0


@dataclass
class Tiresias:
    """Least attained service: jobs below the threshold first, then the others, by submission.

    Source:
        Gu et al., NSDI 2019: Discretized 2D-LAS with two queues, without promotion.
    """

    parameters: TiresiasParameters = TiresiasParameters()
    oracle: Final = False

    def decide(self, view: View) -> Sequence[Action]:
        """Preempt the jobs that were served most."""

        def key(job: JobView) -> tuple[bool, float, int]:
            demoted = job.worker_seconds >= self.parameters.demotion_seconds
            return demoted, job.spec.submitted_at, job.spec.number

        return run_in_order(view, sorted((*view.running, *view.waiting), key=key))

    def wakes_at(self, now: float) -> float | None:
        """Return the next tick: jobs reach the threshold while they run."""
        return next_tick(now, self.parameters.every_seconds)


_DENSITY_SECONDS: Final = 60.0


@dataclass
class DensityGreedy:
    """By falling f(soonest completion) / (remaining work · dominant share), then shortest first.

    Jobs that state no utility, or whose utility is lost, come last, shortest remaining first. The
    strongest simple rule beside OASiS where jobs state what they are worth; ``slot_order`` has the
    same rule on OASiS' slots.

    Attributes:
        estimates: Lengths and speeds.
    """

    estimates: Estimates
    oracle: Final = True

    def decide(self, view: View) -> Sequence[Action]:
        """Preempt jobs that are worth less for what they take."""
        jobs = (*view.running, *view.waiting)
        pool = Pool.of_machines(view.machines)
        counts = {job.name: worthwhile(job, self.estimates, view.machines) for job in jobs}

        def key(job: JobView) -> tuple[float, float, int]:
            count = counts[job.name]
            seconds = self.estimates.seconds(job, count, view.machines)
            return -self._density(job, seconds, count, pool, view), seconds, job.spec.number

        return run_in_order(view, sorted(jobs, key=key), lambda job: counts[job.name])

    def wakes_at(self, now: float) -> float | None:
        """Return the next tick: utilities fall while jobs wait."""
        return next_tick(now, _DENSITY_SECONDS)

    @staticmethod
    def _density(job: JobView, seconds: float, count: int, pool: Pool, view: View) -> float:
        if job.spec.worth is None:
            return 0.0
        soonest = view.now - job.spec.submitted_at + seconds
        return job.spec.worth.of(soonest) / (seconds * count * pool.dominant(job.spec))
