"""DRAGON: gang scheduling and scaling by waiting time, as its code does it.

Its code counts GPUs, one a worker. Here idle GPUs are the workers of the starving job that have
room by CPU and memory, and every worker that leaves counts as one, whatever its size, as there.
Host names are any, and servers take room too: the code does not count them, and would win with
placements that cannot be.

Source:
    C. Lin et al., "DRAGON: A Dynamic Scheduling and Scaling Controller for Managing Distributed
    Deep Learning Jobs in Kubernetes Cluster" (CLOSER 2019); branch ``auto-scale`` of its code.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from simulator.models.parameter_server import Amounts, ServerJob, Site, Training

STARVES_AFTER_SECONDS: Final = 120.0
QUIET_SECONDS: Final = 60.0
NOBODY: Final = 100
"""``minInstance`` where nobody starves: more than anybody could give."""

Seats = tuple[list[str], list[str]]
"""Nodes of the servers, and of the workers."""


@dataclass(frozen=True)
class DragonParameters:
    """What an ablation changes, step by step.

    Attributes:
        quiet_seconds: Without a start or a scale-down before running jobs grow.
        leaves_server: Whether workers that are added may be on other nodes than the server.
        by_utility: Whether the queue is in order of utility and size instead of arrival.
        best_fit: Whether a job goes to the node where least is left instead of the first.
        in_turns: Whether jobs grow in turns, or one to its most before the next.
    """

    quiet_seconds: float = QUIET_SECONDS
    leaves_server: bool = False
    by_utility: bool = False
    best_fit: bool = False
    in_turns: bool = True


class Dragon:
    """See the module."""

    def __init__(self, params: DragonParameters | None = None) -> None:
        self._params = params or DragonParameters()
        self._quiet_since = 0.0
        self._helped: str | None = None

    def act(self, site: Site, now: float) -> None:
        """One sync of the controller."""
        starving = [
            job
            for job in site.waiting
            if now - job.arrives_at >= STARVES_AFTER_SECONDS and job.name != self._helped
        ]
        poorest = min(starving, key=lambda job: job.least, default=None)
        wanted = NOBODY if poorest is None else poorest.least
        spare = sum(len(t.workers) - t.job.least for t in site.running.values())
        acted = False
        if not spare > wanted:
            acted = self._start(site)
        if not acted and poorest is not None and self._scale_down(site, poorest, now):
            self._helped, acted = poorest.name, True
        if not acted and now - self._quiet_since > self._params.quiet_seconds:
            acted = self._scale_up(site, now)
        if acted:
            self._quiet_since = now

    def _start(self, site: Site) -> bool:
        queue = list(site.waiting)
        if self._params.by_utility:
            queue.sort(key=lambda job: (-job.utility, *(-a for a in job.request(job.wanted))))
        for job in queue:
            if seats := self._placement(site, job):
                site.begin(job, *seats)
                return True
        return False

    def _placement(self, site: Site, job: ServerJob) -> Seats | None:
        for workers in dict.fromkeys((job.wanted, job.least)):
            seats = self._on_one_node(site, job, workers) or _node_by_node(site, job, workers)
            if seats:
                return seats
        return None

    def _on_one_node(self, site: Site, job: ServerJob, workers: int) -> Seats | None:
        nodes = [node for node in site.capacity if site.fits(node, job.request(workers))]
        if self._params.best_fit:
            nodes.sort(key=lambda node: (site.free[node], node))
        return ([nodes[0]] * job.servers, [nodes[0]] * workers) if nodes else None

    def _scale_down(self, site: Site, poorest: ServerJob, now: float) -> bool:
        """Take workers, job by job in order of start, until there are as many as it needs."""
        lacking = poorest.least - sum(_slots(free, poorest.worker) for free in site.free.values())
        kept: dict[str, Sequence[str]] = {}
        for name, training in site.running.items():
            workers = list(training.workers)
            while len(workers) > training.job.least:
                workers.pop()
                kept[name] = tuple(workers)
                lacking -= 1
                if lacking <= 0:
                    site.rescale(kept, now)
                    return True
        return False

    def _scale_up(self, site: Site, now: float) -> bool:
        """Add workers, in turns or job by job, as long as any fits; say whether any did."""
        grown: dict[str, list[str]] = {}
        queue = list(site.running.items())
        while queue:
            name, training = queue.pop(0)
            workers = grown.get(name, training.workers)
            node = None if len(workers) >= training.job.most else self._spot(site, training)
            if node is not None:
                site.take(node, training.job.worker)
                grown[name] = [*workers, node]
                queue.insert(len(queue) if self._params.in_turns else 0, (name, training))
        for name, workers in grown.items():
            for node in workers[len(site.running[name].workers) :]:
                site.give(node, site.running[name].job.worker)
        site.rescale(grown, now)
        return bool(grown)

    def _spot(self, site: Site, training: Training) -> str | None:
        fitting = [node for node in site.capacity if site.fits(node, training.job.worker)]
        near = [node for node in fitting if node in training.servers]
        if near or not self._params.leaves_server:
            return near[0] if near else None
        return min(fitting, key=lambda n: (-training.workers.count(n), n), default=None)


def _node_by_node(site: Site, job: ServerJob, workers: int) -> Seats | None:
    """Fill one node after the other with workers; the server goes where most of them are."""
    chosen: list[str] = []
    for node in site.capacity:
        chosen += [node] * min(_slots(site.free[node], job.worker), workers - len(chosen))
    if len(chosen) < workers:
        return None
    room = dict(site.free)
    for node in chosen:
        room[node] = (room[node][0] - job.worker[0], room[node][1] - job.worker[1])
    servers: list[str] = []
    for node in sorted(site.capacity, key=lambda n: (-chosen.count(n), n)):
        if len(servers) < job.servers:
            servers += [node] * min(_slots(room[node], job.server), job.servers - len(servers))
    return (servers, chosen) if len(servers) == job.servers else None


def _slots(free: Amounts, amounts: Amounts) -> int:
    """Return how many pods that ask for these amounts go into what is free."""
    return max(0, min(free[0] // amounts[0], free[1] // amounts[1]))
