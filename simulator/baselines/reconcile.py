"""From who should run with how many workers to what is to be done, with as few changes as can be.

Whoever gives up nodes goes first, then the most important of the others get theirs. A job that is
sent away although nobody could use its nodes stays. A job that writes no checkpoint is never sent
away.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from simulator.baselines.free_nodes import Seats
from simulator.cluster.actions import Action, Placement, Preempt, Scale, Start
from simulator.cluster.decider import JobView


@dataclass(frozen=True)
class Target:
    """So many workers a job should have."""

    job: JobView
    workers: int


class Seating(Protocol):
    """How seats are found for those who should have them; what is found is taken from ``seats``."""

    def started(self, seats: Seats, target: Target) -> list[Action]:
        """Start a job if there is room."""
        ...

    def grown(self, seats: Seats, target: Target) -> list[Action]:
        """Give a running job more workers if there is room."""
        ...

    def gathered(self, seats: Seats, jobs: Sequence[JobView]) -> list[Action]:
        """Move running jobs, the most important first; they are where they were."""
        ...


class Anywhere:
    """As many workers as are wanted, wherever there is room; nobody moves."""

    def started(self, seats: Seats, target: Target) -> list[Action]:
        """Start a job; one that may have fewer workers starts with as many as fit."""
        asked = target.job.asked
        least = min(asked.least_workers, target.workers)
        for workers in range(target.workers, least - 1, -1):
            if found := seats.find(asked, workers):
                seats.take(asked, found)
                return [Start(asked.name, found)]
        return []

    def grown(self, seats: Seats, target: Target) -> list[Action]:
        """Give a running job one worker more after the other, wherever there is room."""
        here = placed(target.job)
        while len(here.workers) < target.workers:
            node = seats.one_more(target.job.asked, here)
            if node is None:
                break
            seats.take(target.job.asked, Placement((node,)))
            here = Placement((*here.workers, node), here.servers)
        return [Scale(target.job.name, here)] if len(here.workers) > target.job.workers else []

    def gathered(self, seats: Seats, jobs: Sequence[JobView]) -> list[Action]:
        """Move nobody."""
        del seats, jobs
        return []


_ANYWHERE: Final = Anywhere()


def reconcile(
    seats: Seats,
    running: Iterable[JobView],
    targets: Sequence[Target],
    fillers: Sequence[JobView] = (),
    seating: Seating = _ANYWHERE,
) -> list[Action]:
    """Return the actions.

    Args:
        seats: What is free now; changed.
        running: All jobs that run.
        targets: Who should run, the most important first; running jobs that are not in it, nor in
            ``fillers``, are sent away.
        fillers: Who may run in what is left, in this order, with the workers they asked for; one
            that runs is sent away only where a target needs its nodes.
        seating: Finds seats for those who start and those who grow, after these brings others
            together, and last starts fillers.
    """
    running = list(running)
    wanted = {target.job.name for target in targets}
    leaving = [job for job in running if job.name not in wanted and job.asked.movable]
    for job in leaving:
        seats.give(job.asked, placed(job))
    changes = [change for t in targets if (change := _shrunk(seats, t))]
    for target in targets:
        changes += _more(seats, target, seating)
    may_stay = {job.name for job in fillers}
    gone: list[Action] = []
    for job in sorted(leaving, key=lambda job: job.name not in may_stay):
        if seats.holds(job.asked, placed(job)):
            seats.take(job.asked, placed(job))
        else:
            gone.append(Preempt(job.name))
    away = {action.job for action in gone}
    changed = away | {action.job for action in changes}
    ranked = {target.job.name: i for i, target in enumerate(targets)}
    still = [job for job in running if job.name not in changed]
    still.sort(key=lambda job: ranked.get(job.name, len(ranked)))
    changes += seating.gathered(seats, still)
    for job in fillers:
        if job.placement is None and job.name not in away:
            changes += seating.started(seats, Target(job, job.asked.workers))
    return [*gone, *changes]


def placed(job: JobView) -> Placement:
    """Return where a running job is.

    Raises:
        ValueError: It waits.
    """
    if job.placement is None:
        raise ValueError(f"{job.name} waits")
    return job.placement


def _shrunk(seats: Seats, target: Target) -> Action | None:
    job = target.job
    if job.placement is None or target.workers >= job.workers:
        return None
    kept = without(job.placement, job.workers - target.workers)
    seats.give(job.asked, job.placement)
    seats.take(job.asked, kept)
    return Scale(job.name, kept)


def without(placement: Placement, count: int) -> Placement:
    """Return the placement without its last workers: owners give up the highest index first."""
    return Placement(placement.workers[:-count], placement.servers) if count else placement


def _more(seats: Seats, target: Target, seating: Seating) -> list[Action]:
    if target.job.placement is None:
        return seating.started(seats, target)
    return seating.grown(seats, target) if target.workers > target.job.workers else []
