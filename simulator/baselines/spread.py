"""The default scheduler: pod after pod in the order of creation, where least is allocated, no gang.

A pod keeps its node from when it is bound, and its job trains only when all its pods are: two jobs
that each have half of what they need wait for each other for ever. That is what it does.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final

from shared.model import NodeName
from simulator.baselines.seats import Seats
from simulator.cluster.actions import SERVER, WORKER, Action, Placement, Start
from simulator.cluster.view import Asked, JobView, View


@dataclass
class DefaultSpread:
    """kube-scheduler, its default profile; pods that do not fit are passed over.

    Source:
        Kubernetes: ``QueueSort`` by time within equal priority, ``NodeResourcesFit`` with
        ``LeastAllocated``.
    """

    oracle: Final = False
    _bound: dict[str, Placement] = field(default_factory=dict)

    def decide(self, view: View) -> Sequence[Action]:
        """Bind what fits; a job whose last pod was bound starts."""
        seats = Seats(view.snapshot.room)
        for job in view.waiting:
            if job.name in self._bound:
                seats.take(job.asked, self._bound[job.name])
        order = sorted(view.waiting, key=lambda job: (-job.asked.class_value, job.asked.number))
        actions: list[Action] = []
        for job in order:
            bound = self._bind(seats, job.asked, self._bound.get(job.name, Placement(())))
            self._bound[job.name] = bound
            whole = len(bound.workers) == job.asked.workers
            if whole and len(bound.servers) == job.asked.servers:
                del self._bound[job.name]
                actions.append(Start(job.name, bound))
        return actions

    def wakes_at(self, now: float) -> float | None:
        """Nothing changes but when jobs come and go."""
        _ = now
        return None

    @staticmethod
    def _bind(seats: Seats, asked: Asked, bound: Placement) -> Placement:
        servers = [*bound.servers, *_next(seats, asked, SERVER, asked.servers - len(bound.servers))]
        workers = [*bound.workers, *_next(seats, asked, WORKER, asked.workers - len(bound.workers))]
        return Placement(tuple(workers), tuple(servers))


def start_all(seats: Seats, jobs: Iterable[JobView]) -> list[Start]:
    """Start gang after gang where least is allocated; one that does not fit is passed over."""
    actions = []
    for job in jobs:
        if found := scattered(seats, job.asked):
            seats.take(job.asked, found)
            actions.append(Start(job.name, found))
    return actions


def scattered(seats: Seats, asked: Asked) -> Placement | None:
    """Return seats for a whole gang where least is allocated; None if not all fit."""
    trial = Seats(seats.room, seats.parameters)
    servers = _next(trial, asked, SERVER, asked.servers)
    workers = _next(trial, asked, WORKER, asked.workers)
    whole = len(servers) == asked.servers and len(workers) == asked.workers
    return Placement(tuple(workers), tuple(servers)) if whole else None


def _next(seats: Seats, asked: Asked, role: str, count: int) -> list[NodeName]:
    """Seat as many of ``count`` pods as fit, one after the other; the room changes."""
    found: list[NodeName] = []
    while len(found) < count:
        node = seats.emptiest(asked, role)
        if node is None:
            break
        one = Placement((), (node,)) if role == SERVER else Placement((node,))
        seats.take(asked, one)
        found.append(node)
    return found
