"""Placement by true speed, which depends on the number of nodes: spread-out jobs are gathered.

A job grows only where its speed on the new nodes pays for the pause. A job on more nodes than it
needs moves to fewer as soon as it fits there, if that pays.
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from extender.core.migration import migration_gain
from extender.core.parameters.migration import GainParameters
from simulator.baselines.estimates import Estimates, rate_on, truth_of
from simulator.baselines.free_nodes import FreeNodes
from simulator.baselines.reconcile import Target, placement_of
from simulator.cluster.actions import Action, Placement, Scale, Start
from simulator.cluster.decider import JobView
from simulator.workload import Machine


@dataclass
class Gathering:
    """A ``Placer`` that puts jobs where they are fastest.

    Attributes:
        estimates: Lengths and speeds.
        machines: The cluster.
        gain: Of ``migration_gain``: how many pauses a change must save.
    """

    estimates: Estimates
    machines: tuple[Machine, ...]
    gain: GainParameters = field(default_factory=GainParameters)

    def start(self, free: FreeNodes, target: Target) -> list[Action]:
        """Start a job where it is fastest, which may be with fewer workers on fewer nodes."""
        job = target.job
        least = min(job.spec.least_workers, target.workers)
        best = self._fastest(job, self._found(free, job, range(target.workers, least - 1, -1)))
        if best is None:
            return []
        free.take(job.spec, best)
        return [Start(job.name, best)]

    def grow(self, free: FreeNodes, target: Target) -> list[Action]:
        """Give a running job more workers, beside its own or on other nodes, if that pays."""
        job, placement = target.job, placement_of(target.job)
        wider = list(self._beside(free, target))
        if job.spec.movable:
            free.give(job.spec, placement)
            wider += self._found(free, job, range(target.workers, job.workers, -1))
            free.take(job.spec, placement)
        return self._changed(free, job, self._fastest(job, wider))

    def gather(self, free: FreeNodes, jobs: Sequence[JobView]) -> list[Action]:
        """Move jobs that are on more nodes than needed to fewer, the most important first."""
        done: list[Action] = []
        for job in jobs:
            placement = placement_of(job)
            if job.spec.movable and len(placement.nodes) > self._fewest(job, job.workers):
                least = min(job.spec.least_workers, job.workers)
                free.give(job.spec, placement)
                candidates = list(self._found(free, job, range(job.workers, least - 1, -1)))
                free.take(job.spec, placement)
                done += self._changed(free, job, self._fastest(job, candidates))
        return done

    def _changed(self, free: FreeNodes, job: JobView, target: Placement | None) -> list[Action]:
        """Return the change if it saves enough, and take what it needs."""
        if target is None or not self._pays(job, target):
            return []
        free.give(job.spec, placement_of(job))
        free.take(job.spec, target)
        return [Scale(job.name, target)]

    def _pays(self, job: JobView, target: Placement) -> bool:
        now, then = rate_on(job, placement_of(job)), rate_on(job, target)
        left = self.estimates.left(job, self.machines) / now if now > 0 else math.inf
        pause = truth_of(job).pause_seconds
        return migration_gain.expected_gain(left, now, then, pause, self.gain).worth_it

    def _beside(self, free: FreeNodes, target: Target) -> Iterator[Placement]:
        """Yield the placement with one worker more, two more, and so on while they fit."""
        job, placement, before = target.job, placement_of(target.job), free.node_table
        while len(placement.workers) < target.workers:
            node = free.node_for_one_more(job.spec, placement)
            if node is None:
                break
            free.take(job.spec, Placement((node,)))
            placement = Placement((*placement.workers, node), placement.servers)
            yield placement
        free.node_table = before

    def _found(self, free: FreeNodes, job: JobView, counts: Iterable[int]) -> Iterator[Placement]:
        """Yield a placement for each count, until one is on as few nodes as possible."""
        for workers in counts:
            placement = free.find(job.spec, workers)
            if placement is not None:
                yield placement
                if len(placement.nodes) <= self._fewest(job, workers):
                    return

    def _fastest(self, job: JobView, where: Iterable[Placement]) -> Placement | None:
        """Return the fastest placement; of equals that with the fewest workers, then the first."""
        return max(where, key=lambda p: (rate_on(job, p), -len(p.workers)), default=None)

    def _fewest(self, job: JobView, workers: int) -> int:
        return math.ceil(workers / self.estimates.per_node(job.spec, self.machines))
