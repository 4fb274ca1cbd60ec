"""Preemptive scheduling by an order alone: who is first in it runs, whoever it takes.

What several schedulers have in common: shortest remaining first, density greedy, Tiresias.
"""

from collections.abc import Callable, Sequence

from simulator.baselines.reconcile import Target, reconcile
from simulator.baselines.seats import Seats
from simulator.baselines.shares import Pot
from simulator.cluster.actions import Action
from simulator.cluster.view import JobView, View

Count = Callable[[JobView], int]


def asked_for(job: JobView) -> int:
    """Return the workers that the owner asked for."""
    return job.asked.workers


def run(view: View, order: Sequence[JobView], wanted: Count = asked_for) -> list[Action]:
    """Return the actions that let the first of an order run, as many as the cluster holds.

    Args:
        view: The cluster.
        order: All jobs, the most important first.
        wanted: With how many workers; an elastic job may get fewer, down to its least.
    """
    pot = Pot.of(view.machines)
    fixed = [job for job in view.running if not job.asked.movable]
    for job in fixed:
        pot.take(job.asked, job.workers)
    targets = [Target(job, job.workers) for job in fixed]
    rest = []
    for job in order:
        if job.placement is not None and not job.asked.movable:
            continue
        workers = _most(job, wanted(job), pot)
        if workers:
            pot.take(job.asked, workers)
            targets.append(Target(job, workers))
        else:
            rest.append(job)
    return reconcile(Seats(view.snapshot.room), view.running, targets, rest)


def _most(job: JobView, wanted: int, pot: Pot) -> int:
    least = min(job.asked.least_workers, wanted)
    return next((w for w in range(wanted, least - 1, -1) if pot.has(job.asked, w)), 0)
