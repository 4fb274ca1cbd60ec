"""Seats by the speed that a job really has on them: who is spread out is brought together again.

How fast a job is depends on how many nodes its workers are on. So what was done and what is left
is counted with the nodes that it has; it grows only where its own speed there pays for the pause;
and one on more nodes than it needs moves to fewer as soon as they have room, if that pays.
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from extender.policy import migration_gain
from extender.policy.migration_gain import GainParameters
from simulator.baselines.estimates import Estimates, known, rate_on
from simulator.baselines.free_nodes import Seats
from simulator.baselines.reconcile import Target, placed
from simulator.cluster.actions import Action, Placement, Scale, Start
from simulator.cluster.decider import JobView
from simulator.workload import Machine


@dataclass
class Gathering:
    """See the module.

    Attributes:
        estimates: Lengths and speeds.
        machines: The cluster.
        gain: Of ``policy.migration_gain``: how many pauses a change must save.
    """

    estimates: Estimates
    machines: tuple[Machine, ...]
    gain: GainParameters = field(default_factory=GainParameters)

    def started(self, seats: Seats, target: Target) -> list[Action]:
        """Start a job where it is fastest: fewer workers on fewer nodes may be."""
        job = target.job
        least = min(job.asked.least_workers, target.workers)
        best = self._fastest(job, self._found(seats, job, range(target.workers, least - 1, -1)))
        if best is None:
            return []
        seats.take(job.asked, best)
        return [Start(job.name, best)]

    def grown(self, seats: Seats, target: Target) -> list[Action]:
        """Give a running job more workers beside its own or on other nodes, if that pays."""
        job, here = target.job, placed(target.job)
        wider = list(self._beside(seats, target))
        if job.asked.movable:
            seats.give(job.asked, here)
            wider += self._found(seats, job, range(target.workers, job.workers, -1))
            seats.take(job.asked, here)
        return self._changed(seats, job, self._fastest(job, wider))

    def gathered(self, seats: Seats, jobs: Sequence[JobView]) -> list[Action]:
        """Bring whoever is on more nodes than needed together, the most important first."""
        done: list[Action] = []
        for job in jobs:
            here = placed(job)
            if job.asked.movable and len(here.nodes) > self._fewest(job, job.workers):
                least = min(job.asked.least_workers, job.workers)
                seats.give(job.asked, here)
                found = list(self._found(seats, job, range(job.workers, least - 1, -1)))
                seats.take(job.asked, here)
                done += self._changed(seats, job, self._fastest(job, found))
        return done

    def _changed(self, seats: Seats, job: JobView, there: Placement | None) -> list[Action]:
        """Return the change if it saves enough; then its room is taken."""
        if there is None or not self._pays(job, there):
            return []
        seats.give(job.asked, placed(job))
        seats.take(job.asked, there)
        return [Scale(job.name, there)]

    def _pays(self, job: JobView, there: Placement) -> bool:
        now, then = rate_on(job, placed(job)), rate_on(job, there)
        left = self.estimates.left(job, self.machines) / now if now > 0 else math.inf
        pause = known(job).pause_seconds
        return migration_gain.judge(left, now, then, pause, self.gain).worth_it

    def _beside(self, seats: Seats, target: Target) -> Iterator[Placement]:
        """Yield its placement with one worker more, two more, and so on while there is room."""
        job, here, before = target.job, placed(target.job), seats.room
        while len(here.workers) < target.workers:
            node = seats.one_more(job.asked, here)
            if node is None:
                break
            seats.take(job.asked, Placement((node,)))
            here = Placement((*here.workers, node), here.servers)
            yield here
        seats.room = before

    def _found(self, seats: Seats, job: JobView, counts: Iterable[int]) -> Iterator[Placement]:
        """Yield where so many workers fit, until they are on as few nodes as can be."""
        for workers in counts:
            found = seats.find(job.asked, workers)
            if found is not None:
                yield found
                if len(found.nodes) <= self._fewest(job, workers):
                    return

    def _fastest(self, job: JobView, where: Iterable[Placement]) -> Placement | None:
        """Return the fastest; of equals that with the fewest workers, then the first."""
        return max(where, key=lambda p: (rate_on(job, p), -len(p.workers)), default=None)

    def _fewest(self, job: JobView, workers: int) -> int:
        return math.ceil(workers / self.estimates.per_node(job.asked, self.machines))
