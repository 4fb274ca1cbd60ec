"""Where jobs go, for all schedulers that are compared: the gang rule of the extender itself.

So a difference between two of them is one of order, numbers and moves, not of placement. A job of
one pod without a device goes where least is allocated: it shares CPU with whoever is there. Only
those that are measured for their placement (``spread``) bring their own.
"""

from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np

from extender.engine.parameters import EngineParameters
from extender.policy import gang
from extender.policy.elastic import freed
from extender.policy.gang import GangPod
from extender.policy.placement import Placement as Seated
from extender.policy.room import Room
from shared.model import PODS, NodeName, PodShape, Uid
from simulator.cluster.actions import SERVER, WORKER, Placement
from simulator.cluster.decider import Asked
from simulator.cluster.objects import pod_name
from simulator.workload import GPU


@dataclass
class Seats:
    """What is free, as a plan under way leaves it. Mutable; belongs to one look.

    Attributes:
        room: The room.
        parameters: Of the gang rule.
    """

    room: Room
    parameters: EngineParameters = field(default_factory=EngineParameters)

    def find(self, asked: Asked, workers: int) -> Placement | None:
        """Return seats for all servers and so many workers, all or none: one node, else fewest."""
        if alone(asked):
            node = self.emptiest(asked, WORKER)
            return None if node is None else Placement((node,))
        found = self.seated(asked, workers)
        if found is None:
            return None
        nodes = [found.nodes[uid] for uid in self.uids(asked, workers)]
        return Placement(tuple(nodes[asked.servers :]), tuple(nodes[: asked.servers]))

    def seated(self, asked: Asked, workers: int) -> Seated | None:
        """Return the same as the gang rule has it."""
        if not self.may_hold(asked, workers):
            return None
        found = gang.place(
            _pods(asked, workers),
            (),
            self.room,
            relations=None,
            topology_key=self.parameters.topology_key,
            params=self.parameters.gang,
            weights=self.parameters.weights,
            pricing=self.parameters.pricing,
        )
        return found if isinstance(found, Seated) else None

    @staticmethod
    def uids(asked: Asked, workers: int) -> list[Uid]:
        """Return under which uids the gang rule knows a job's servers, then its workers."""
        return [pod.uid for pod in _pods(asked, workers)]

    def may_hold(self, asked: Asked, workers: int) -> bool:
        """Say quickly whether the nodes together have so many places; False: it cannot fit."""
        free = np.maximum(self.room.free, 0)
        shape = shape_of(asked, WORKER)
        request = self.room.request(shape)
        if request is None:
            return False
        wanted = request > 0
        places = np.min(free[:, wanted] // request[wanted], axis=1)
        return int(places.sum()) >= workers

    def one_more(self, asked: Asked, here: Placement) -> NodeName | None:
        """Return the node for one worker more: most of the job's own, least free, then name."""
        shape = shape_of(asked, WORKER)
        fitting = np.flatnonzero(self.room.feasible(shape)).tolist()
        if not fitting:
            return None
        capacity = np.maximum(self.room.allocatable.sum(axis=0), 1)
        left = (self.room.free / capacity).sum(axis=1).tolist()
        names = [self.room.nodes[i].name for i in fitting]
        own = [here.workers.count(name) + here.servers.count(name) for name in names]
        ranked = [(-n, left[i], name) for n, i, name in zip(own, fitting, names, strict=True)]
        return min(ranked)[2]

    def emptiest(self, asked: Asked, role: str) -> NodeName | None:
        """Return the node on which most is free in the mean of what is asked, then by name.

        Source:
            kube-scheduler, ``NodeResourcesFit`` with ``LeastAllocated``, its default.
        """
        shape = shape_of(asked, role)
        fitting = np.flatnonzero(self.room.feasible(shape)).tolist()
        if not fitting:
            return None
        request = self.room.demand(shape)
        columns = [i for i, name in enumerate(self.room.resources) if request[i] and name != PODS]
        after = self.room.free - request
        shares = after[:, columns] / np.maximum(self.room.allocatable[:, columns], 1)
        score = shares.mean(axis=1).tolist()
        return min((-score[i], self.room.nodes[i].name) for i in fitting)[1]

    def take(self, asked: Asked, placed: Placement) -> None:
        """Take the room of a placement."""
        found = [(shape, self.room.index[node]) for shape, node in _all(asked, placed)]
        self.room = self.room.with_pods(found)

    def give(self, asked: Asked, placed: Placement) -> None:
        """Give the room of a placement back."""
        for shape, node in _all(asked, placed):
            self.room = freed(self.room, shape, self.room.index[node])

    def holds(self, asked: Asked, placed: Placement) -> bool:
        """Say whether the whole placement has room."""
        needed = np.zeros_like(self.room.used)
        for shape, node in _all(asked, placed):
            needed[self.room.index[node]] += self.room.demand(shape)
        return bool(((needed == 0) | (needed <= self.room.free)).all())


def alone(asked: Asked) -> bool:
    """Say whether a job is one pod that asks for no device: it shares the CPU of its node."""
    single = asked.workers == asked.most_workers == 1 and not asked.servers
    return single and not asked.worker.get(GPU)


def shape_of(asked: Asked, role: str) -> PodShape:
    """Return what a pod of that role asks of a node."""
    return _shape(tuple(sorted((asked.server if role == SERVER else asked.worker).items())))


@lru_cache(maxsize=4096)
def _shape(asked: tuple[tuple[str, int], ...]) -> PodShape:
    amounts = {PODS: 1, **{name: amount for name, amount in asked if amount}}
    return PodShape(requests=tuple(sorted(amounts.items())))


def _all(asked: Asked, placed: Placement) -> list[tuple[PodShape, NodeName]]:
    servers = [(shape_of(asked, SERVER), node) for node in placed.servers]
    return servers + [(shape_of(asked, WORKER), node) for node in placed.workers]


def _pods(asked: Asked, workers: int) -> list[GangPod]:
    servers = [_pod(asked, SERVER, index) for index in range(asked.servers)]
    return servers + [_pod(asked, WORKER, index) for index in range(workers)]


def _pod(asked: Asked, role: str, index: int) -> GangPod:
    name = pod_name(asked.name, role, index)
    return GangPod(Uid(name), name, role, index, shape_of(asked, role))
