"""Free capacity of the nodes while a scheduler plans; jobs are placed by the extender's gang rule.

All compared schedulers place jobs like this, so they differ in order, worker counts and moves, not
in placement. A job of one pod without a device goes where least is allocated, as it shares CPU with
the pods there. Only the schedulers of ``kubernetes`` have a placement of their own.
"""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from extender.core.elastic.scaling_values import freed
from extender.core.nodes.node_table import IntMatrix, NodeTable
from extender.core.parameters.combined import PUBLISHED, CoreParameters
from extender.core.placement import gang
from extender.core.placement.allocation import GangPod
from extender.core.placement.placement import Placement as Placed
from shared.model import PODS, NodeName, PodShape, Uid
from simulator.cluster.actions import SERVER, WORKER, Placement
from simulator.cluster.decider import JobSpec
from simulator.cluster.objects import pod_name
from simulator.workload import GPU


@dataclass
class FreeNodes:
    """What the actions planned so far leave free. Mutable; made for one decision.

    Attributes:
        room: Free amounts by node.
        parameters: Of the gang rule.
    """

    node_table: NodeTable
    parameters: CoreParameters = PUBLISHED

    def find(self, spec: JobSpec, workers: int) -> Placement | None:
        """Return the fewest nodes that fit all servers and so many workers; None if not all fit."""
        if is_single_cpu_pod(spec):
            node = self.emptiest_node(spec, WORKER)
            return None if node is None else Placement((node,))
        placement_of = self.place_gang(spec, workers)
        if placement_of is None:
            return None
        nodes = [placement_of.nodes[uid] for uid in self.uids(spec, workers)]
        return Placement(tuple(nodes[spec.servers :]), tuple(nodes[: spec.servers]))

    def place_gang(self, spec: JobSpec, workers: int) -> Placed | None:
        """Return the same as a placement of the gang rule."""
        if not self.may_fit(spec, workers):
            return None
        placement_of = gang.place(
            _pods(spec, workers),
            (),
            self.node_table,
            relations=None,
            topology_key=self.parameters.topology_key,
            params=self.parameters.gang,
            weights=self.parameters.weights,
            pricing=self.parameters.pricing,
        )
        return placement_of if isinstance(placement_of, Placed) else None

    @staticmethod
    def uids(spec: JobSpec, workers: int) -> list[Uid]:
        """Return the uids of a job's servers, then of its workers, in the gang rule."""
        return [pod.uid for pod in _pods(spec, workers)]

    def may_fit(self, spec: JobSpec, workers: int) -> bool:
        """Return False if the nodes together have too little for so many workers: a quick check."""
        free = np.maximum(self.node_table.free, 0)
        shape = shape_of(spec, WORKER)
        request = self.node_table.request(shape)
        if request is None:
            return False
        needed = request > 0
        places = np.min(free[:, needed] // request[needed], axis=1)
        return int(places.sum()) >= workers

    def node_for_one_more(self, spec: JobSpec, here: Placement) -> NodeName | None:
        """Return the node for one more worker: most pods of the job, then least free, then name."""
        shape = shape_of(spec, WORKER)
        fitting = np.flatnonzero(self.node_table.feasible(shape)).tolist()
        if not fitting:
            return None
        capacity = np.maximum(self.node_table.allocatable.sum(axis=0), 1)
        left = (self.node_table.free / capacity).sum(axis=1).tolist()
        names = [self.node_table.nodes[i].name for i in fitting]
        own = [here.workers.count(name) + here.servers.count(name) for name in names]
        ranked = [(-n, left[i], name) for n, i, name in zip(own, fitting, names, strict=True)]
        return min(ranked)[2]

    def emptiest_node(self, spec: JobSpec, role: str) -> NodeName | None:
        """Return the node with the largest mean share free of what the pod requests, then by name.

        Source:
            kube-scheduler, ``NodeResourcesFit`` with ``LeastAllocated``, its default.
        """
        shape = shape_of(spec, role)
        fitting = np.flatnonzero(self.node_table.feasible(shape)).tolist()
        if not fitting:
            return None
        request = self.node_table.demand(shape)
        columns = [
            i for i, name in enumerate(self.node_table.resources) if request[i] and name != PODS
        ]
        after = self.node_table.free - request
        shares = after[:, columns] / np.maximum(self.node_table.allocatable[:, columns], 1)
        score = shares.mean(axis=1).tolist()
        return min((-score[i], self.node_table.nodes[i].name) for i in fitting)[1]

    def take(self, spec: JobSpec, placement_of: Placement) -> None:
        """Take what a placement needs."""
        pods = [(shape, self.node_table.index[node]) for shape, node in _all(spec, placement_of)]
        self.node_table = self.node_table.with_pods(pods)

    def give(self, spec: JobSpec, placement_of: Placement) -> None:
        """Give back what a placement needs."""
        for shape, node in _all(spec, placement_of):
            self.node_table = freed(self.node_table, shape, self.node_table.index[node])

    def needed(self, spec: JobSpec, placement_of: Placement) -> IntMatrix:
        """Return the amounts that a placement needs, of shape (nodes, resources)."""
        needed = np.zeros_like(self.node_table.used)
        for shape, node in _all(spec, placement_of):
            needed[self.node_table.index[node]] += self.node_table.demand(shape)
        return needed


def is_single_cpu_pod(spec: JobSpec) -> bool:
    """Return True if a job is one pod without a device, which shares the CPU of its node."""
    single = spec.workers == spec.most_workers == 1 and not spec.servers
    return single and not spec.worker.get(GPU)


def shape_of(spec: JobSpec, role: str) -> PodShape:
    """Return what a pod of that role requests of a node."""
    return _shape(tuple(sorted((spec.server if role == SERVER else spec.worker).items())))


@lru_cache(maxsize=4096)
def _shape(requests: tuple[tuple[str, int], ...]) -> PodShape:
    amounts = {PODS: 1, **{name: amount for name, amount in requests if amount}}
    return PodShape(requests=tuple(sorted(amounts.items())))


def _all(spec: JobSpec, placement_of: Placement) -> list[tuple[PodShape, NodeName]]:
    servers = [(shape_of(spec, SERVER), node) for node in placement_of.servers]
    return servers + [(shape_of(spec, WORKER), node) for node in placement_of.workers]


def _pods(spec: JobSpec, workers: int) -> list[GangPod]:
    servers = [_pod(spec, SERVER, index) for index in range(spec.servers)]
    return servers + [_pod(spec, WORKER, index) for index in range(workers)]


def _pod(spec: JobSpec, role: str, index: int) -> GangPod:
    name = pod_name(spec.name, role, index)
    return GangPod(Uid(name), name, role, index, shape_of(spec, role))
