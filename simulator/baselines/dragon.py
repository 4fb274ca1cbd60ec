"""Schedulers of jobs with parameter servers: DRAGON and the training operator."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from simulator.models.parameter_server import Amounts, ServerJob, Site, Training

STARVES_AFTER_SECONDS: Final = 120.0
QUIET_SECONDS: Final = 60.0
NONE_STARVES: Final = 100
"""``minInstance`` where no job starves: more than all jobs together could give up."""

Nodes = tuple[list[str], list[str]]
"""Nodes of the servers, and of the workers."""


@dataclass(frozen=True)
class DragonParameters:
    """Switches for ablations; the defaults are DRAGON as published.

    Attributes:
        quiet_seconds: Seconds without a start or a scale-down before running jobs grow.
        leaves_server: Whether added workers may be on other nodes than the server.
        by_utility: Whether the queue is ordered by utility and size instead of arrival.
        best_fit: Whether a job goes to the node with least left instead of the first.
        in_turns: Whether jobs grow in turns, or one job to its maximum before the next.
    """

    quiet_seconds: float = QUIET_SECONDS
    leaves_server: bool = False
    by_utility: bool = False
    best_fit: bool = False
    in_turns: bool = True


class Dragon:
    """Gang scheduling, and scaling for jobs that have waited too long, as DRAGON's code does it.

    The code counts GPUs, one per worker. Here the idle GPUs are the workers of the starving job for
    which CPU and memory are free, and every worker that leaves counts as one, whatever its size.
    Unlike in the code, servers take resources too: else DRAGON would win with placements that do
    not fit.

    Source:
        C. Lin et al., "DRAGON: A Dynamic Scheduling and Scaling Controller for Managing Distributed
        Deep Learning Jobs in Kubernetes Cluster" (CLOSER 2019); branch ``auto-scale`` of its code.
    """

    def __init__(self, params: DragonParameters | None = None) -> None:
        self._params = params or DragonParameters()
        self._quiet_since = 0.0
        self._helped: str | None = None

    def act(self, site: Site, now: float) -> None:
        """Run one sync of the controller."""
        starving = [
            job
            for job in site.waiting
            if now - job.arrives_at >= STARVES_AFTER_SECONDS and job.name != self._helped
        ]
        poorest = min(starving, key=lambda job: job.least, default=None)
        needed = NONE_STARVES if poorest is None else poorest.least
        spare = sum(len(t.workers) - t.job.least for t in site.running.values())
        acted = False
        if not spare > needed:
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
            if nodes := self._placement(site, job):
                site.begin(job, *nodes)
                return True
        return False

    def _placement(self, site: Site, job: ServerJob) -> Nodes | None:
        for workers in dict.fromkeys((job.wanted, job.least)):
            nodes = self._on_one_node(site, job, workers) or _node_by_node(site, job, workers)
            if nodes:
                return nodes
        return None

    def _on_one_node(self, site: Site, job: ServerJob, workers: int) -> Nodes | None:
        nodes = [node for node in site.capacity if site.fits(node, job.request(workers))]
        if self._params.best_fit:
            nodes.sort(key=lambda node: (site.free[node], node))
        return ([nodes[0]] * job.servers, [nodes[0]] * workers) if nodes else None

    def _scale_down(self, site: Site, poorest: ServerJob, now: float) -> bool:
        """Take workers, job by job in order of start, until the starving job has enough."""
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
        """Add workers, in turns or job by job, while any fits; return True if any did."""
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


def _node_by_node(site: Site, job: ServerJob, workers: int) -> Nodes | None:
    """Fill node after node with workers; the servers go where most of them are."""
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
    """Return how many pods that request these amounts fit into what is free."""
    return max(0, min(free[0] // amounts[0], free[1] // amounts[1]))


class TfOperator:
    """The training operator alone: each job keeps its requested workers, bound pod by pod.

    kube-scheduler binds each pod where most is free as soon as it fits, whether or not the rest of
    its job fits. A job trains when all its pods are bound; until then the bound ones sit idle.

    Source:
        kubeflow/training-operator (formerly tf-operator) without gang scheduling; kube-scheduler's
        default ``NodeResourcesFit`` with ``LeastAllocated``.
    """

    def __init__(self) -> None:
        self._bound: dict[str, list[str]] = {}

    def act(self, site: Site, now: float) -> None:  # noqa: ARG002 - it needs no clock
        """Bind what fits, first come, first served; start complete jobs."""
        for job in list(site.waiting):
            bound = self._bound.setdefault(job.name, [])
            for amounts in _pods(job)[len(bound) :]:
                node = _least_allocated(site, amounts)
                if node is None:
                    break
                site.take(node, amounts)
                site.changes += 1
                bound.append(node)
            if len(bound) == job.servers + job.wanted:
                site.begin_on_taken(job, bound[: job.servers], bound[job.servers :])


def _pods(job: ServerJob) -> list[Amounts]:
    return [job.server] * job.servers + [job.worker] * job.wanted


def _least_allocated(site: Site, amounts: Amounts) -> str | None:
    """Return the node with the largest mean share free after the pod; None if it fits nowhere."""
    ranked = [
        (
            -sum(
                (free - amount) / has
                for free, amount, has in zip(
                    site.free[node], amounts, site.capacity[node], strict=True
                )
            ),
            node,
        )
        for node in site.capacity
        if site.fits(node, amounts)
    ]
    return min(ranked)[1] if ranked else None
