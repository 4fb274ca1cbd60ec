"""Optimus: a worker for everybody, then one more to whoever's remaining time falls most."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from simulator.baselines.estimates import Estimates
from simulator.baselines.reconcile import Target, reconcile
from simulator.baselines.seats import Seats
from simulator.baselines.shares import Grower, Pot
from simulator.cluster.actions import Action
from simulator.cluster.decider import next_tick
from simulator.cluster.view import JobView, View

_EVERY_SECONDS: Final = 600.0
"""Its interval between two allocations (Sect. 6.1)."""


@dataclass
class Optimus:
    """Marginal gain over the dominant resource, small jobs first; changes whenever it gains.

    Attributes:
        estimates: In place of its own fits of speed and convergence.

    Source:
        Peng et al., EuroSys 2018, Sect. 4.1; jobs that are not elastic get what they ask for.
    """

    estimates: Estimates
    oracle: Final = True

    def decide(self, view: View) -> Sequence[Action]:
        """Share the cluster out anew."""
        jobs = sorted((*view.running, *view.waiting), key=lambda job: job.asked.number)
        pot = Pot.of(view.machines)
        counts = least_for_all(jobs, pot)
        chosen = [job for job in jobs if job.name in counts]
        grower = Grower(self.estimates, view.machines, lambda _: 1.0, least_pauses=0.0)
        grower.grow(counts, chosen, pot)
        order = sorted(chosen, key=lambda job: (counts[job.name], job.asked.number))
        targets = [Target(job, counts[job.name]) for job in order]
        return reconcile(Seats(view.snapshot.room), view.running, targets)

    def wakes_at(self, now: float) -> float | None:
        """Remaining times change."""
        return next_tick(now, _EVERY_SECONDS)


def least_for_all(jobs: Sequence[JobView], pot: Pot) -> dict[str, int]:
    """Return the fewest workers of as many jobs as fit, the first first; ``pot`` changes.

    Jobs that can neither be sent away nor shrink keep what they have.
    """
    counts: dict[str, int] = {}
    for job in jobs:
        if job.placement is not None and not job.asked.movable:
            counts[job.name] = job.workers
            pot.take(job.asked, job.workers)
    for job in jobs:
        if job.name not in counts and pot.has(job.asked, job.asked.least_workers):
            counts[job.name] = job.asked.least_workers
            pot.take(job.asked, job.asked.least_workers)
    return counts
