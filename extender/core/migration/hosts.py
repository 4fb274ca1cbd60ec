"""Hosts and containers, the inputs of the rules that move jobs.

A container is a bound pod of ours that has not ended. A container without reported progress counts
as progressing, like a new container in SpeCon's Algorithm 1. A pod that is moving to another node
counts there already. A host is a node with a recent report on which some container could run.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Final

import numpy as np

from extender.core.cluster.pod_shape import unpinned
from extender.core.cluster.session import Session
from extender.core.cluster.snapshot import Snapshot
from extender.core.migration import migration_gain
from extender.core.migration.migration_history import MigrationHistory
from extender.core.migration.migration_target import Host, counted
from extender.core.migration.move_unit import MoveUnit
from extender.core.nodes.node_table import BoolVector, NodeTable, conflicts
from extender.core.parameters.migration import TargetParameters
from extender.core.parameters.placement import TopologyParameters
from extender.core.placement import shared_devices
from extender.core.placement import topology as job_topology
from extender.core.records.migrations import old_pod, with_reservations
from shared.model import CPU, JobKey, Migration, NodeName, Pod, PodShape, Uid
from shared.progress import Category, NodeReport

BUSY_RATIO: Final = 0.75
"""On a node that uses less of its CPU than this no container waits for CPU."""


@dataclass(frozen=True)
class Container:
    """A pod of ours on a host; ``moved``: a migration brought it."""

    pod: Pod
    job: JobKey
    node: NodeName
    category: Category
    moved: bool

    def counts_as(self, params: TargetParameters) -> Category:
        """Return its category in the comparison of Algorithm 2."""
        fast = self.moved and params.moved_as_progressing
        return Category.PROGRESSING if fast else self.category


@dataclass(frozen=True)
class Hosts:
    """See the module; built by ``read_hosts``, and by ``after`` for one more move.

    Attributes:
        node_table: Free amounts, without the reservations of open migrations.
        containers: By uid.
        reports: Of the hosts.
        topology: The levels that jobs may require or prefer.
    """

    node_table: NodeTable
    containers: Mapping[Uid, Container]
    reports: Mapping[NodeName, NodeReport]
    topology: TopologyParameters = field(default_factory=TopologyParameters)

    def on(self, node: NodeName) -> tuple[Container, ...]:
        """Return the containers of a host."""
        return self._by_node.get(node, ())

    def counts(self) -> Mapping[NodeName, int]:
        """Return |w|, the number of containers, of every host."""
        counts = dict.fromkeys(sorted(self.reports), 0)
        for container in self.containers.values():
            if container.node in counts:
                counts[container.node] += 1
        return counts

    def use_ratio(self, node: NodeName) -> float | None:
        """Return R(w), the part of the host's CPU in use, 0 to 1; None if not reported."""
        used, cores = self._used_cores(node), self.cores(node)
        return None if used is None or cores <= 0 else min(1.0, used / cores)

    def cores(self, node: NodeName) -> float:
        """Return the cores that the containers of a host share."""
        report = self.reports.get(node)
        if report is not None and report.cpu_cores is not None:
            return report.cpu_cores
        allocatable = self.node_table.nodes[self.node_table.index[node]].allocatable
        return allocatable.get(CPU, 0) / 1000.0

    @cached_property
    def most_cores(self) -> float:
        """The cores of the largest host."""
        return max(map(self.cores, self.reports), default=0.0)

    def fitting(self, unit: MoveUnit) -> frozenset[NodeName]:
        """Return the hosts with room for the whole unit.

        If its job requires a domain of the topology, only hosts in that of the members that stay.
        """
        own = list(unit.shapes.values())
        shapes, table = shared_devices.limited_shapes(unit.job, own, self.node_table)
        mask = fits_all(table, shapes)
        for member in job_topology.confined_apart(unit.job, unit.members):
            beside = job_topology.nodes_beside(
                unit.job, member, unit.shapes.keys(), self.node_table, self.topology
            )
            mask = mask if beside is None else mask & beside
        names = (self.node_table.nodes[i].name for i in np.flatnonzero(mask).tolist())
        return frozenset(name for name in names if name in self.reports)

    def compared(
        self, source: NodeName, fitting: frozenset[NodeName], params: TargetParameters
    ) -> tuple[Host, ...]:
        """Return the hosts that Algorithm 2 compares: the source, and those that fit."""
        names = sorted(fitting | ({source} & self.reports.keys()))
        return tuple(self._compared(name, params) for name in names)

    def _compared(self, name: NodeName, params: TargetParameters) -> Host:
        if name not in self._counted:
            host = Host(name, use_ratio=self.use_ratio(name))
            containers = ((container.counts_as(params), False) for container in self.on(name))
            self._counted[name] = counted(host, containers, params)
        return self._counted[name]

    @cached_property
    def _counted(self) -> dict[NodeName, Host]:
        return {}

    @cached_property
    def _by_node(self) -> Mapping[NodeName, tuple[Container, ...]]:
        by_node: dict[NodeName, list[Container]] = {}
        for container in self.containers.values():
            by_node.setdefault(container.node, []).append(container)
        return {node: tuple(containers) for node, containers in by_node.items()}

    @cached_property
    def by_job(self) -> Mapping[JobKey, tuple[Container, ...]]:
        """The containers of each job."""
        by_job: dict[JobKey, list[Container]] = {}
        for container in self.containers.values():
            by_job.setdefault(container.job, []).append(container)
        return {job: tuple(containers) for job, containers in by_job.items()}

    def without(self, unit: MoveUnit) -> "Hosts":
        """Return the hosts without the unit."""
        rest = {uid: c for uid, c in self.containers.items() if uid not in unit.shapes}
        return replace(self, containers=rest)

    def after(self, unit: MoveUnit, target: NodeName) -> "Hosts":
        """Return the hosts with the unit on its target."""
        places = [(target, shape) for shape in unit.shapes.values()]
        moved = dict(self.containers)
        for member in unit.members:
            uid = member.pod.uid
            if uid in moved:
                moved[uid] = replace(moved[uid], node=target, moved=True)
        return replace(
            self, node_table=with_reservations(self.node_table, places), containers=moved
        )

    def share(self, uid: Uid, node: NodeName | None, more: int = 0) -> tuple[float, float | None]:
        """Return the cores of a container with so many ``more`` beside it, and the most it uses.

        On a node with spare CPU it uses what it needs, and gains nothing from more; else None.
        """
        if node is None or node not in self.reports:
            return 0.0, None
        most = None if self._is_busy(node) else self._own_cores(uid, node)
        count = len(self.on(node)) + more
        return migration_gain.share_cores(self.cores(node), count, most), most

    def _is_busy(self, node: NodeName) -> bool:
        ratio = self.use_ratio(node)
        return ratio is None or ratio >= BUSY_RATIO

    def _own_cores(self, uid: Uid, node: NodeName) -> float | None:
        pod = self.reports[node].pods.get(uid)
        return pod.use.cpu_cores if pod and pod.use else None

    def _used_cores(self, node: NodeName) -> float | None:
        report = self.reports.get(node)
        if report is None:
            return None
        if report.use is not None and report.use.cpu_cores is not None:
            return report.use.cpu_cores
        own = [p.use.cpu_cores for p in report.pods.values() if p.use]
        reported = [cores for cores in own if cores is not None]
        return sum(reported) if reported else None


def read_hosts(session: Session, history: MigrationHistory, stayed: Iterable[Uid] = ()) -> Hosts:
    """Read hosts and containers; those in ``stayed`` count as moved."""
    snapshot = session.snapshot
    recent = (session.report(node) for node in sorted(snapshot.reports))
    reports = {report.node: report for report in recent if report is not None}
    moved = history.by_replacement.keys() | set(stayed)
    targets = _targets(snapshot, history.open)
    containers: dict[Uid, Container] = {}
    for job, pod, node in _bound(snapshot):
        uid = pod.uid
        report = reports[node].pods.get(uid) if node in reports else None
        progress = report.progress if report else None
        category = progress.category if progress else Category.PROGRESSING
        containers[uid] = Container(
            pod, job, node=targets.get(uid, node), category=category, moved=uid in moved
        )
    shapes = {unpinned(container.pod.shape) for container in containers.values()}
    table = snapshot.node_table
    usable = _usable(table, shapes)
    hosts = {n: r for n, r in reports.items() if n in table.index and usable[table.index[n]]}
    params = session.parameters
    return Hosts(table, containers, hosts, params.topology)


def fits_all(table: NodeTable, shapes: Sequence[PodShape]) -> BoolVector:
    """Return the nodes with room for all these pods together."""
    mask: BoolVector = np.ones(len(table.nodes), dtype=np.bool_)
    total = np.zeros(len(table.resources), dtype=np.int64)
    for shape in shapes:
        mask &= table.feasible(shape)
        total += table.demand(shape)
    for i, shape in enumerate(shapes):
        if any(conflicts(shape.host_ports, other.host_ports) for other in shapes[:i]):
            return np.zeros(len(table.nodes), dtype=np.bool_)
    enough: BoolVector = np.all((total == 0) | (total <= table.free), axis=1)
    return mask & enough


def _bound(snapshot: Snapshot) -> Iterator[tuple[JobKey, Pod, NodeName]]:
    for job, pods in snapshot.jobs.items():
        for pod in pods:
            node = snapshot.bound.get(pod.uid)
            if node is not None and not pod.finished and not pod.deleting:
                yield job, pod, node


def _targets(snapshot: Snapshot, migrations: Iterable[Migration]) -> Mapping[Uid, NodeName]:
    """Return the targets of the pods of open migrations."""
    return {
        member.uid: member.target
        for migration in migrations
        for member in migration.members
        if old_pod(snapshot, migration, member) is not None
    }


def _usable(table: NodeTable, shapes: Iterable[PodShape]) -> BoolVector:
    usable: BoolVector = np.zeros(len(table.nodes), dtype=np.bool_)
    for shape in shapes:
        usable |= table.classes.mask(shape)
    return usable
