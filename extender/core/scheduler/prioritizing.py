"""Scores of the nodes that are left: the same weighted terms by which gangs are planned."""

from collections.abc import Mapping, Sequence

import numpy as np

from extender.core.cluster import job_views, pod_shape
from extender.core.cluster.snapshot import Snapshot
from extender.core.kinds import registry
from extender.core.nodes.node_table import IntVector
from extender.core.parameters.combined import CoreParameters
from extender.core.placement import scoring, wishes
from extender.core.placement.scoring import Terms
from extender.core.placement.wishes import Accelerators
from shared.model import NodeName, Pod


def scores(
    snapshot: Snapshot, pod: Pod, names: Sequence[str], params: CoreParameters
) -> tuple[tuple[str, int], ...]:
    """Return a score of 0 to 10 for each name, in the order of the request.

    A pod of another scheduler, and a node we do not know, score 0.
    """
    if pod.scheduler_name != params.scheduler_name:
        return tuple((name, 0) for name in names)
    total = terms(snapshot, pod, names, params).total(params.weights)
    points = scoring.prioritize_scores(total)
    index = snapshot.node_table.index
    return tuple(
        (name, 0 if (i := index.get(NodeName(name))) is None else int(points[i])) for name in names
    )


def terms(snapshot: Snapshot, pod: Pod, names: Sequence[str], params: CoreParameters) -> Terms:
    """Return the named terms of the pod on every node; only ``names`` are candidates."""
    table = snapshot.node_table
    candidates = np.zeros(len(table.nodes), dtype=np.bool_)
    candidates[[table.index[NodeName(n)] for n in names if n in table.index]] = True
    shape = pod_shape.with_devices(snapshot, pod)
    return scoring.terms(
        shape,
        table,
        members_on_node=_members_on_node(snapshot, pod),
        bucket_score=None,
        candidates=candidates,
        pricing=params.pricing,
        preference=wishes.preference(shape, table, _accelerators(snapshot, pod)),
    )


def _accelerators(snapshot: Snapshot, pod: Pod) -> Accelerators:
    key = registry.job_key(pod)
    return job_views.view(snapshot, key).spec.accelerators if key in snapshot.jobs else ()


def explain(
    snapshot: Snapshot, pod: Pod, params: CoreParameters
) -> Mapping[NodeName, Mapping[str, float]]:
    """Return every term and the total by node, for the nodes that can take the pod now."""
    feasible = snapshot.node_table.feasible(pod_shape.with_devices(snapshot, pod))
    nodes = snapshot.node_table.nodes
    names = [nodes[i].name for i in np.flatnonzero(feasible).tolist()]
    named = terms(snapshot, pod, names, params)
    total = named.total(params.weights)
    index = snapshot.node_table.index
    return {
        name: {**named.explain(index[name]), "total": float(total[index[name]])} for name in names
    }


def _members_on_node(snapshot: Snapshot, pod: Pod) -> IntVector:
    counts = np.zeros(len(snapshot.node_table.nodes), dtype=np.int64)
    for member in snapshot.jobs.get(registry.job_key(pod), ()):
        if member.finished or member.deleting or member.uid == pod.uid:
            continue
        reservation = snapshot.reservations.get(member.uid)
        node = snapshot.bound.get(member.uid) or (reservation.node if reservation else None)
        index = None if node is None else snapshot.node_table.index.get(node)
        if index is not None:
            counts[index] += 1
    return counts
