"""Schedulers of Kubernetes that never preempt: the default profile, and Volcano."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final

from shared.model import NodeName
from simulator.baselines.free_nodes import FreeNodes
from simulator.cluster.actions import SERVER, WORKER, Action, Placement, Start
from simulator.cluster.decider import JobSpec, JobView, View


@dataclass
class DefaultSpread:
    """kube-scheduler's default profile: pod by pod where least is allocated, without gangs.

    Pods are taken in order of creation; those that do not fit are skipped. A bound pod keeps its
    node, and its job trains only when all its pods are bound, so two jobs that each hold half of
    what they need wait for each other forever, as they would in a real cluster.

    Source:
        Kubernetes: ``QueueSort`` by time within equal priority, ``NodeResourcesFit`` with
        ``LeastAllocated``.
    """

    oracle: Final = False
    _bound: dict[str, Placement] = field(default_factory=dict)

    def decide(self, view: View) -> Sequence[Action]:
        """Bind what fits; start jobs whose last pod was bound."""
        free = FreeNodes(view.snapshot.node_table)
        for job in view.waiting:
            if job.name in self._bound:
                free.take(job.spec, self._bound[job.name])
        order = sorted(view.waiting, key=lambda job: (-job.spec.class_value, job.spec.number))
        actions: list[Action] = []
        for job in order:
            bound = self._bind(free, job.spec, self._bound.get(job.name, Placement(())))
            self._bound[job.name] = bound
            whole = len(bound.workers) == job.spec.workers
            if whole and len(bound.servers) == job.spec.servers:
                del self._bound[job.name]
                actions.append(Start(job.name, bound))
        return actions

    def wakes_at(self, now: float) -> float | None:
        """Return None: nothing changes between arrivals and completions."""
        _ = now
        return None

    @staticmethod
    def _bind(free: FreeNodes, spec: JobSpec, bound: Placement) -> Placement:
        servers = [*bound.servers, *_next(free, spec, SERVER, spec.servers - len(bound.servers))]
        workers = [*bound.workers, *_next(free, spec, WORKER, spec.workers - len(bound.workers))]
        return Placement(tuple(workers), tuple(servers))


def start_all(free: FreeNodes, jobs: Iterable[JobView]) -> list[Start]:
    """Start gang after gang where least is allocated; skip those that do not fit."""
    actions = []
    for job in jobs:
        if placement := scattered(free, job.spec):
            free.take(job.spec, placement)
            actions.append(Start(job.name, placement))
    return actions


def scattered(free: FreeNodes, spec: JobSpec) -> Placement | None:
    """Return nodes for a whole gang where least is allocated; None if not all pods fit."""
    trial = FreeNodes(free.node_table, free.parameters)
    servers = _next(trial, spec, SERVER, spec.servers)
    workers = _next(trial, spec, WORKER, spec.workers)
    whole = len(servers) == spec.servers and len(workers) == spec.workers
    return Placement(tuple(workers), tuple(servers)) if whole else None


def _next(free: FreeNodes, spec: JobSpec, role: str, count: int) -> list[NodeName]:
    """Place as many of ``count`` pods as fit, one after the other, and take what they need."""
    nodes: list[NodeName] = []
    while len(nodes) < count:
        node = free.emptiest_node(spec, role)
        if node is None:
            break
        pod = Placement((), (node,)) if role == SERVER else Placement((node,))
        free.take(spec, pod)
        nodes.append(node)
    return nodes


@dataclass
class Volcano:
    """Start whole gangs by priority class, then age; skip those that do not fit, reserve nothing.

    Source:
        volcano-sh/volcano, plugins ``priority``, ``gang`` and ``nodeorder`` (least requested) with
        action ``allocate``: what its default configuration does with jobs of one queue.
    """

    oracle: Final = False

    def decide(self, view: View) -> Sequence[Action]:
        """Start what fits."""
        order = sorted(
            view.waiting,
            key=lambda j: (-j.spec.class_value, j.spec.submitted_at, j.spec.number),
        )
        return start_all(FreeNodes(view.snapshot.node_table), order)

    def wakes_at(self, now: float) -> float | None:
        """Return None: nothing changes between arrivals and completions."""
        _ = now
        return None
