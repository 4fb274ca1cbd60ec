"""From targets (which jobs run with how many workers) to actions, with as few changes as possible.

Jobs that give up nodes come first, then the most important of the others get theirs. A preempted
job stays if no other job uses its nodes, not even between two changes. A job without checkpoints is
never preempted.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

import numpy as np

from simulator.baselines.free_nodes import FreeNodes
from simulator.cluster.actions import Action, Placement, Preempt, Scale, Start
from simulator.cluster.decider import JobView


@dataclass(frozen=True)
class Target:
    """The number of workers that a job should have."""

    job: JobView
    workers: int


class Placer(Protocol):
    """Finds nodes for the targets, and takes them from ``free``."""

    def start(self, free: FreeNodes, target: Target) -> list[Action]:
        """Start a job if it fits."""
        ...

    def grow(self, free: FreeNodes, target: Target) -> list[Action]:
        """Give a running job more workers if they fit."""
        ...

    def gather(self, free: FreeNodes, jobs: Sequence[JobView]) -> list[Action]:
        """Move running jobs that nothing else changed, the most important first."""
        ...


class Anywhere:
    """Places workers wherever they fit, and moves no job."""

    def start(self, free: FreeNodes, target: Target) -> list[Action]:
        """Start a job; an elastic one starts with as many workers as fit."""
        spec = target.job.spec
        least = min(spec.least_workers, target.workers)
        for workers in range(target.workers, least - 1, -1):
            if placement := free.find(spec, workers):
                free.take(spec, placement)
                return [Start(spec.name, placement)]
        return []

    def grow(self, free: FreeNodes, target: Target) -> list[Action]:
        """Give a running job one worker more at a time, wherever it fits."""
        placement = placement_of(target.job)
        while len(placement.workers) < target.workers:
            node = free.node_for_one_more(target.job.spec, placement)
            if node is None:
                break
            free.take(target.job.spec, Placement((node,)))
            placement = Placement((*placement.workers, node), placement.servers)
        return (
            [Scale(target.job.name, placement)]
            if len(placement.workers) > target.job.workers
            else []
        )

    def gather(self, free: FreeNodes, jobs: Sequence[JobView]) -> list[Action]:
        """Return no moves."""
        del free, jobs
        return []


_ANYWHERE: Final = Anywhere()


def reconcile(
    free: FreeNodes,
    running: Iterable[JobView],
    targets: Sequence[Target],
    fillers: Sequence[JobView] = (),
    placer: Placer = _ANYWHERE,
) -> list[Action]:
    """Return the actions.

    Args:
        free: What is free now; changed.
        running: All jobs that run.
        targets: The jobs that should run, the most important first; running jobs in neither
            ``targets`` nor ``fillers`` are preempted.
        fillers: Jobs that may run in what is left, in this order, with their requested workers; a
            running one is preempted only where a target needs its nodes.
        placer: Places starting and growing jobs, then moves others together, and starts fillers
            last.
    """
    running = list(running)
    targeted = {target.job.name for target in targets}
    leaving = [job for job in running if job.name not in targeted and job.spec.movable]
    for job in leaving:
        free.give(job.spec, placement_of(job))
    changes = [change for t in targets if (change := _shrunk(free, t))]
    least = free.node_table.free
    for target in targets:
        changes += _more(free, target, placer)
        least = np.minimum(least, free.node_table.free)  # a change may free what one before it took
    may_stay = {job.name for job in fillers}
    preempted: list[Action] = []
    for job in sorted(leaving, key=lambda job: job.name not in may_stay):
        needed = free.needed(job.spec, placement_of(job))
        if ((needed == 0) | (needed <= least)).all():
            free.take(job.spec, placement_of(job))
            least = least - needed
        else:
            preempted.append(Preempt(job.name))
    preempted_names = {action.job for action in preempted}
    changed = preempted_names | {action.job for action in changes}
    ranked = {target.job.name: i for i, target in enumerate(targets)}
    unchanged = [job for job in running if job.name not in changed]
    unchanged.sort(key=lambda job: ranked.get(job.name, len(ranked)))
    changes += placer.gather(free, unchanged)
    for job in fillers:
        if job.placement is None and job.name not in preempted_names:
            changes += placer.start(free, Target(job, job.spec.workers))
    return [*preempted, *changes]


def placement_of(job: JobView) -> Placement:
    """Return where a running job is.

    Raises:
        ValueError: The job waits.
    """
    if job.placement is None:
        raise ValueError(f"{job.name} waits")
    return job.placement


def _shrunk(free: FreeNodes, target: Target) -> Action | None:
    job = target.job
    if job.placement is None or target.workers >= job.workers:
        return None
    kept = without_last(job.placement, job.workers - target.workers)
    free.give(job.spec, job.placement)
    free.take(job.spec, kept)
    return Scale(job.name, kept)


def without_last(placement: Placement, count: int) -> Placement:
    """Return the placement without its last workers: owners remove the highest index first."""
    return Placement(placement.workers[:-count], placement.servers) if count else placement


def _more(free: FreeNodes, target: Target, placer: Placer) -> list[Action]:
    if target.job.placement is None:
        return placer.start(free, target)
    return placer.grow(free, target) if target.workers > target.job.workers else []
