"""Density greedy on jobs: preemptive, elastic, by utility for what is left to do.

The strongest simple rule beside OASiS where jobs state what they are worth. ``density`` is the same
rule on OASiS' slots.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from simulator.baselines import by_order
from simulator.baselines.estimates import Estimates
from simulator.baselines.shares import Pot, worthwhile
from simulator.cluster.actions import Action
from simulator.cluster.decider import next_tick
from simulator.cluster.view import JobView, View

_EVERY_SECONDS: Final = 60.0


@dataclass
class DensityGreedy:
    """By falling f(soonest completion) / (remaining work · dominant share), then shortest first.

    Jobs that state no utility, or whose utility is lost, come last, shortest remaining first.

    Attributes:
        estimates: Lengths and speeds.
    """

    estimates: Estimates
    oracle: Final = True

    def decide(self, view: View) -> Sequence[Action]:
        """Preempt whoever is worth less for what it takes."""
        jobs = (*view.running, *view.waiting)
        pot = Pot.of(view.machines)
        counts = {job.name: worthwhile(job, self.estimates, view.machines) for job in jobs}

        def key(job: JobView) -> tuple[float, float, int]:
            count = counts[job.name]
            seconds = self.estimates.seconds(job, count, view.machines)
            return -self._density(job, seconds, count, pot, view), seconds, job.asked.number

        return by_order.run(view, sorted(jobs, key=key), lambda job: counts[job.name])

    def wakes_at(self, now: float) -> float | None:
        """Utilities fall while jobs wait."""
        return next_tick(now, _EVERY_SECONDS)

    @staticmethod
    def _density(job: JobView, seconds: float, count: int, pot: Pot, view: View) -> float:
        if job.asked.worth is None:
            return 0.0
        soonest = view.now - job.asked.submitted_at + seconds
        return job.asked.worth.of(soonest) / (seconds * count * pot.dominant(job.asked))
