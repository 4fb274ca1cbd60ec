"""What a scheduler does to jobs: values, carried out by ``world`` in their order.

Nodes are named by a ``Placement``: the node of each worker and each parameter server, by index.
"""

from collections.abc import Iterable

from msgspec import Struct

from shared.model import NodeName


class Placement(Struct, frozen=True):
    """Where a job's pods are: ``workers[i]`` is the node of its worker i, and so its servers."""

    workers: tuple[NodeName, ...]
    servers: tuple[NodeName, ...] = ()

    @property
    def nodes(self) -> frozenset[NodeName]:
        """The nodes that the job is on."""
        return frozenset(self.workers) | frozenset(self.servers)

    def moved(self, role: str, index: int, node: NodeName) -> "Placement":
        """Return the placement with one pod elsewhere.

        Raises:
            IndexError: There is no such pod.
        """
        pods = list(self.servers if role == SERVER else self.workers)
        pods[index] = node
        there = tuple(pods)
        return Placement(self.workers, there) if role == SERVER else Placement(there, self.servers)


WORKER = "worker"
SERVER = "ps"
"""Roles, as the pods' label says them."""


def placement(workers: Iterable[str], servers: Iterable[str] = ()) -> Placement:
    """Return a placement from plain names of nodes."""
    return Placement(tuple(map(NodeName, workers)), tuple(map(NodeName, servers)))


class Start(Struct, frozen=True, tag=True):
    """A waiting job begins, or goes on from where it was preempted.

    All its servers are placed, and at least ``least_workers`` of its workers; an elastic job may
    have more than it asked for, up to ``most_workers``.
    """

    job: str
    placement: Placement


class Scale(Struct, frozen=True, tag=True):
    """A running job goes on with other workers, other servers or on other nodes, after a pause."""

    job: str
    placement: Placement


class Move(Struct, frozen=True, tag=True):
    """One pod of a running job goes to another node: a checkpoint, a pause, and it resumes.

    Several moves of one job in one decision cost one pause.
    """

    job: str
    role: str
    index: int
    node: NodeName


class Preempt(Struct, frozen=True, tag=True):
    """A running job gives its nodes back and waits again.

    ``lose``: it wrote no checkpoint, so the work it has done is lost.
    """

    job: str
    lose: bool = False


class Weigh(Struct, frozen=True, tag=True):
    """The CPU weight of each pod of a running job, 1 at first; counts where CPU is short."""

    job: str
    weight: float


Action = Start | Scale | Move | Preempt | Weigh
