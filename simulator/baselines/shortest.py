"""Shortest remaining first: preemptive, elastic, by estimated time to the end."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from simulator.baselines import by_order
from simulator.baselines.estimates import Estimates
from simulator.baselines.shares import worthwhile
from simulator.cluster.actions import Action
from simulator.cluster.view import JobView, View


@dataclass
class ShortestRemaining:
    """Whoever is done first goes first.

    Attributes:
        estimates: Lengths and speeds.
        elastic: Whether an elastic job gets the workers that are worth having (``shares``); else
            what it asked for.

    Source:
        SRPT, the textbook's rule for the mean completion time (Schrage 1968); the number of
        workers is ours.
    """

    estimates: Estimates
    elastic: bool = True
    oracle: Final = True

    def decide(self, view: View) -> Sequence[Action]:
        """Preempt whoever has longer to go."""
        jobs = (*view.running, *view.waiting)
        counts = {job.name: self._count(job, view) for job in jobs}

        def key(job: JobView) -> tuple[float, int]:
            return self.estimates.seconds(job, counts[job.name], view.machines), job.asked.number

        return by_order.run(view, sorted(jobs, key=key), lambda job: counts[job.name])

    def wakes_at(self, now: float) -> float | None:
        """Nothing changes but when jobs come and go: all that run get nearer their end."""
        _ = now
        return None

    def _count(self, job: JobView, view: View) -> int:
        if not self.elastic:
            return job.asked.workers
        return worthwhile(job, self.estimates, view.machines)
