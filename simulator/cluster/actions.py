"""Actions of a scheduler on jobs, as values that ``world`` carries out in order."""

from collections.abc import Iterable

from msgspec import Struct

from shared.model import NodeName


class Placement(Struct, frozen=True):
    """Nodes of a job's pods: ``workers[i]`` is the node of worker i; ``servers`` likewise."""

    workers: tuple[NodeName, ...]
    servers: tuple[NodeName, ...] = ()

    @property
    def nodes(self) -> frozenset[NodeName]:
        """All nodes that the job is on."""
        return frozenset(self.workers) | frozenset(self.servers)

    def moved(self, role: str, index: int, node: NodeName) -> "Placement":
        """Return the placement with one pod on another node.

        Raises:
            IndexError: There is no such pod.
        """
        pods = list(self.servers if role == SERVER else self.workers)
        pods[index] = node
        moved = tuple(pods)
        return Placement(self.workers, moved) if role == SERVER else Placement(moved, self.servers)


WORKER = "worker"
SERVER = "ps"
"""Roles, as in the label of the pods."""


def placement(workers: Iterable[str], servers: Iterable[str] = ()) -> Placement:
    """Return a placement from plain names of nodes."""
    return Placement(tuple(map(NodeName, workers)), tuple(map(NodeName, servers)))


class Start(Struct, frozen=True, tag=True):
    """Start a waiting job, or resume a preempted one.

    All its servers are placed, and at least ``least_workers`` of its workers; an elastic job may
    have more workers than requested, up to ``most_workers``.
    """

    job: str
    placement: Placement


class Scale(Struct, frozen=True, tag=True):
    """Change the workers, servers or nodes of a running job, which continues after a pause."""

    job: str
    placement: Placement


class Move(Struct, frozen=True, tag=True):
    """Move one pod of a running job to another node: checkpoint, pause, resume.

    Several moves of one job in one decision cost one pause.
    """

    job: str
    role: str
    index: int
    node: NodeName


class Preempt(Struct, frozen=True, tag=True):
    """Take a running job's nodes; it waits again.

    ``lose``: it wrote no checkpoint, so its work is lost.
    """

    job: str
    lose: bool = False


class Weigh(Struct, frozen=True, tag=True):
    """Set the CPU weight of each pod of a running job (1 at first); counts where CPU is short."""

    job: str
    weight: float


Action = Start | Scale | Move | Preempt | Weigh
