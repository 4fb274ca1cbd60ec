"""Pods of one job on different devices, where devices are shared (docs/gpus.md).

Time slices and MPS offer one device as several replicas. Two workers of a job on one device only
slow each other down. So a node whose devices are shared holds at most as many replicas for one job
as it has devices; replicas of other jobs count as taken. Best effort: the device plugin chooses the
replica, and it takes those of the least used device first. ``shuntyard.io/share: allowed`` lifts
the limit.

The limit is a further resource of the node table while the job is planned.

Source:
    NVIDIA k8s-device-plugin v0.17, ``internal/rm/allocate.go`` (``distributedAlloc``).
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Final

import numpy as np
from msgspec import structs

from extender.core.cluster.jobs import Job, State
from extender.core.cluster.reasons import Reason
from extender.core.nodes.gpus import gpus
from extender.core.nodes.node_table import LIMIT, IntMatrix, IntVector, NodeTable
from extender.core.placement.allocation import GangPod
from extender.core.placement.placement import Placement, Unschedulable
from shared.model import PodShape

_PLACED: Final = (State.BOUND, State.RESERVED)


def limited(job: Job, pods: Sequence[GangPod], table: NodeTable) -> tuple[list[GangPod], NodeTable]:
    """Return the pods and the nodes with the limit; the very same where it changes nothing."""
    shapes, with_limit = limited_shapes(job, [pod.shape for pod in pods], table)
    if with_limit is table:
        return list(pods), table
    pairs = zip(pods, shapes, strict=True)
    return [structs.replace(pod, shape=shape) for pod, shape in pairs], with_limit


def limited_shapes(
    job: Job, shapes: Sequence[PodShape], table: NodeTable
) -> tuple[Sequence[PodShape], NodeTable]:
    """Return the same of shapes of pods."""
    requested = []
    for name in () if job.spec.shares_devices else _shared(table):
        members, wanted = _of_members(job, table, name), _requested(shapes, name)
        if wanted and wanted + members.sum() > 1:
            requested.append(name)
            table = _with_limit(table, name, members)
    if not requested:
        return shapes, table
    with_limit = {shape: _limited(shape, requested) for shape in set(shapes)}
    return [with_limit[shape] for shape in shapes], table


def concerns(shape: PodShape, table: NodeTable) -> bool:
    """Return True if a pod requests a resource of which some units are replicas."""
    return any(_requested([shape], name) for name in _shared(table))


def applies(job: Job, pods: Sequence[GangPod], table: NodeTable) -> bool:
    """Return True if the limit may change where the pods go."""
    return limited(job, pods, table)[1] is not table


def without_limit(placement: Placement, table: NodeTable) -> Placement:
    """Return a placement on nodes with the limit as one on the nodes of ``table``."""
    after = placement.node_table
    used = after.used[:, : len(table.resources)]
    return replace(placement, node_table=table.replaced(used=used, ports=after.ports))


def shared_only(pods: Iterable[GangPod], table: NodeTable) -> Unschedulable:
    """Return the reason of a job that needs several replicas of one device to fit."""
    shapes = [pod.shape for pod in pods]
    found, names = gpus(table), _shared(table)
    devices = {name: int(found.devices[:, at].sum()) for name, at in names.items()}
    wanted = {name: n for name in names if (n := _requested(shapes, name))}
    parts = [
        f"{count} {name} requested, and nodes share {devices[name]} among replicas"
        for name, count in wanted.items()
    ]
    return Unschedulable(Reason.SHARED_DEVICES_ONLY, "; ".join(parts))


def emptied(table: NodeTable) -> NodeTable:
    """Return the nodes as if no pod were on them."""
    return table.replaced(used=np.zeros_like(table.used), ports=(frozenset(),) * len(table.nodes))


def _shared(table: NodeTable) -> dict[str, int]:
    """Return the resources of which some units are replicas, with their place among the GPUs."""
    found = gpus(table)
    some = np.flatnonzero(found.shared.any(axis=0)).tolist()
    return {table.resources[found.columns[at]]: at for at in some}


def _requested(shapes: Iterable[PodShape], resource: str) -> int:
    return sum(dict(shape.requests).get(resource, 0) for shape in shapes)


def _of_members(job: Job, table: NodeTable, resource: str) -> IntVector:
    """Return by node how many units placed members of the job have."""
    units = np.zeros(len(table.nodes), dtype=np.int64)
    for member in job.having(*_PLACED):
        row = None if member.node is None else table.index.get(member.node)
        if row is not None:
            units[row] += dict(member.shape.requests).get(resource, 0)
    return units


def _with_limit(table: NodeTable, resource: str, members: IntVector) -> NodeTable:
    """Return the nodes with one resource more: the devices that the job may have on each."""
    column, found = table.resources.index(resource), gpus(table)
    devices = found.devices[:, found.columns.tolist().index(column)]
    shared = devices > 0
    most = np.where(shared, devices, table.allocatable[:, column])
    used = np.where(shared, members, table.used[:, column])
    return replace(
        table,
        resources=(*table.resources, f"{LIMIT}{resource}"),
        allocatable=_joined(table.allocatable, most),
        used=_joined(table.used, used),
    )


def _joined(amounts: IntMatrix, column: IntVector) -> IntMatrix:
    return np.hstack([amounts, column[:, None]])


def _limited(shape: PodShape, resources: Iterable[str]) -> PodShape:
    requests = dict(shape.requests)
    more = {f"{LIMIT}{name}": requests[name] for name in resources if requests.get(name)}
    return structs.replace(shape, requests=tuple(sorted({**requests, **more}.items())))
