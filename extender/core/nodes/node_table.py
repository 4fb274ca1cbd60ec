"""The node table: nodes as arrays in name order, with the amounts that are taken.

A ``NodeTable`` is immutable: ``with_pods`` returns a new one, so a what-if leaves no trace. Amounts
are integers in base units (``shared.model``).
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Final, Protocol

import numpy as np
from numpy.typing import NDArray
from typing_extensions import override

from shared.model import CPU, PODS, HostPort, Node, NodeName, PodShape

FloatVector = NDArray[np.float64]
FloatMatrix = NDArray[np.float64]
IntMatrix = NDArray[np.int64]
IntVector = NDArray[np.int64]
BoolVector = NDArray[np.bool_]
BoolMatrix = NDArray[np.bool_]


ALWAYS: Final = (CPU, "memory", PODS)
"""Columns every table has; the others follow in order of name, those that some node offers."""
LIMIT: Final = " (one a device)"
"""Suffix of a resource that stands for a limit of the job that is planned: how many units of the
resource before it one job may have on a node (``placement.shared_devices``)."""


def is_limit(resource: str) -> bool:
    """Return True for what is counted but is no good: the pod count, and limits of one job."""
    return resource == PODS or resource.endswith(LIMIT)


class NodeList:
    """A list of nodes as a key, equal to itself alone: comparing thousands would cost more."""

    def __init__(self, nodes: tuple[Node, ...]) -> None:
        self.nodes = nodes

    @override
    def __eq__(self, other: object) -> bool:
        return isinstance(other, NodeList) and other.nodes is self.nodes

    @override
    def __hash__(self) -> int:
        return id(self.nodes)


class ClassMasks(Protocol):
    """Which nodes a class of pods may use by its static features, cached by the store.

    Static: node selector, required node affinity, taints and tolerations, unschedulable.
    """

    def mask(self, shape: PodShape) -> BoolVector:
        """Return the mask over nodes in name order; callers must not write to it."""
        ...


@dataclass(frozen=True)
class NodeTable:
    """Nodes, their capacity and what is taken on them by bound pods and by reservations.

    Attributes:
        nodes: The nodes, sorted by name.
        resources: Columns of the matrices; ``cpu``, ``memory`` and ``pods`` are always there.
        allocatable: Nodes x resources.
        used: Nodes x resources; may exceed ``allocatable`` (pods of other schedulers).
        ports: Host ports taken on each node.
        classes: Static masks by pod shape.
        counted_with: Columns in which a request of a column counts as well: devices that several
            of them accept (``device_columns``).
    """

    nodes: tuple[Node, ...]
    resources: tuple[str, ...]
    allocatable: IntMatrix
    used: IntMatrix
    ports: tuple[frozenset[HostPort], ...]
    classes: ClassMasks
    index: Mapping[NodeName, int] = field(default_factory=dict)
    counted_with: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def free(self) -> IntMatrix:
        """Allocatable minus used; negative where a node is overcommitted."""
        return self.allocatable - self.used

    def demand(self, shape: PodShape) -> IntVector:
        """Return the request of ``shape`` by column; a resource that no node has is left out."""
        vector = np.zeros(len(self.resources), dtype=np.int64)
        column = {name: i for i, name in enumerate(self.resources)}
        for name, amount in shape.requests:
            if name in column:
                vector[column[name]] += amount
            for further in self.counted_with.get(name, ()):
                vector[column[further]] += amount
        return vector

    def request(self, shape: PodShape) -> IntVector | None:
        """Return the request of ``shape`` by column; None if it has a resource that no node has."""
        offered = set(self.resources)
        return self.demand(shape) if all(name in offered for name, _ in shape.requests) else None

    @property
    def goods(self) -> BoolVector:
        """Mask of the columns that are goods and not limits."""
        return np.array([not is_limit(name) for name in self.resources], dtype=np.bool_)

    def feasible(self, shape: PodShape) -> BoolVector:
        """Return the nodes on which one more pod of ``shape`` can run now.

        As kube-scheduler does it: a resource that is not requested is not checked, so a pod that
        requests no memory fits a node whose memory is overcommitted.
        """
        request = self.request(shape)
        if request is None:
            return np.zeros(len(self.nodes), dtype=np.bool_)
        enough = np.all((request == 0) | (request <= self.free), axis=1)
        mask: BoolVector = self.classes.mask(shape) & enough
        if shape.host_ports:
            mask &= ports_open(shape.host_ports, self.ports)
        return mask

    def with_pods(self, placed: Iterable[tuple[PodShape, int]]) -> "NodeTable":
        """Return the table with pods of these shapes added on the nodes of these indices.

        Raises:
            ValueError: A shape requests a resource that no node has.
        """
        used, taken = self.used.copy(), dict[int, frozenset[HostPort]]()
        for shape, node in placed:
            request = self.request(shape)
            if request is None:
                raise ValueError(f"no node has all of {shape.requests}")
            used[node] += request
            if shape.host_ports:
                taken[node] = taken.get(node, self.ports[node]) | frozenset(shape.host_ports)
        return self.replaced(used=used, ports=self._ports_with(taken))

    def _ports_with(
        self, taken: Mapping[int, frozenset[HostPort]]
    ) -> tuple[frozenset[HostPort], ...]:
        """Return the ports with those of some nodes replaced."""
        if not taken:
            return self.ports
        return tuple(taken.get(node, ports) for node, ports in enumerate(self.ports))

    def replaced(self, *, used: IntMatrix, ports: tuple[frozenset[HostPort], ...]) -> "NodeTable":
        """Return the table with other amounts and ports in use."""
        return replace(self, used=used, ports=ports)

    def domains(self, key: str) -> tuple[str | None, ...]:
        """Return each node's value of the node label ``key``; the node's name for an empty key."""
        return tuple(n.labels.get(key) if key else n.name for n in self.nodes)


EVERY_ADDRESS = "0.0.0.0"  # noqa: S104 - compared with, never listened on


def ports_open(wanted: Iterable[HostPort], ports: Iterable[frozenset[HostPort]]) -> BoolVector:
    """Return on which of the nodes with these taken host ports all wanted ones are free."""
    index = _by_port(wanted)
    return np.array([not _clash(index, taken) for taken in ports], dtype=np.bool_)


def conflicts(wanted: Iterable[HostPort], taken: Iterable[HostPort]) -> bool:
    """Return True if any wanted host port is taken; ``0.0.0.0`` meets every address.

    Source:
        kube-scheduler ``HostPortInfo.CheckConflict``.
    """
    return _clash(_by_port(wanted), taken)


def _by_port(wanted: Iterable[HostPort]) -> Mapping[tuple[int, str], set[str]]:
    """Return the addresses of each wanted port; looked up, so that many ports cost no more."""
    addresses: dict[tuple[int, str], set[str]] = {}
    for port in wanted:
        addresses.setdefault((port.port, port.protocol), set()).add(port.ip)
    return addresses


def _clash(wanted: Mapping[tuple[int, str], set[str]], taken: Iterable[HostPort]) -> bool:
    for port in taken:
        addresses = wanted.get((port.port, port.protocol))
        if addresses and (port.ip in addresses or EVERY_ADDRESS in {port.ip, *addresses}):
            return True
    return False
