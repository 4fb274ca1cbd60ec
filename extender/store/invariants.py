"""What must be true of a snapshot, recomputed from scratch out of the observed objects.

Nothing here uses the indices: rows, jobs and reservations are summed up anew from each pod's state.

::

    ShuntyardError
    └── InvariantError      the store keeps something else than a recomputation gives
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import chain, groupby
from operator import attrgetter
from typing import Final

import numpy as np

from extender.core.cluster import job_views
from extender.core.cluster.snapshot import Cache, Snapshot, WaitingJob
from extender.core.kinds import registry
from extender.core.nodes.class_masks import MaskCache
from extender.core.nodes.feasibility import accepts
from extender.core.nodes.node_table import NodeTable
from extender.core.records import parked_jobs
from extender.store.assumed import PodState, pod_state
from extender.store.devices import DeviceIndex
from extender.store.returning_jobs import keeping
from extender.store.source import Content
from shared.errors import ShuntyardError
from shared.model import (
    HostPort,
    JobKey,
    Migration,
    Namespace,
    Node,
    NodeName,
    Owner,
    Pod,
    PodGroup,
    PodShape,
    PriorityClass,
    ResourceQuota,
    Topology,
    Uid,
)
from shared.objects.claims import PersistentVolume, PersistentVolumeClaim
from shared.objects.disruptions import Eviction, HorizontalPodAutoscaler, PodDisruptionBudget
from shared.progress import NodeReport


class InvariantError(ShuntyardError, AssertionError):
    """Something that the store keeps is not what a recomputation gives."""


_ALWAYS: Final = ("cpu", "memory", "pods")
_MOST_SHOWN: Final = 5


def check(snapshot: Snapshot, content: Content) -> None:
    """Compare a snapshot with a recomputation from its content.

    Raises:
        InvariantError: They differ; names what is kept and what is right.
    """
    states = list(_states(content))
    kept = _kept(snapshot)
    right = _objects(content) | _pods(states) | _room(content, states)
    right |= _company(content, states)
    differences = [
        f"{name}: kept {_brief(kept[name], right[name])}, right {_brief(right[name], kept[name])}"
        for name in right
        if kept[name] != right[name]
    ]
    differences += _pointless(content)
    differences += _wrong_masks(snapshot)
    differences += _wrong_views(snapshot)
    if differences:
        raise InvariantError("; ".join(differences[:_MOST_SHOWN]))


def _kept(snapshot: Snapshot) -> dict[str, object]:
    room = snapshot.node_table
    return {
        "pods": dict(snapshot.pods),
        "jobs": dict(snapshot.jobs),
        "waiting": snapshot.waiting,
        "waiting by age": {
            group: [job for block in blocks for job in block]
            for group, blocks in snapshot.waiting_by_age.items()
        },
        "reservations": dict(snapshot.reservations),
        "bound": dict(snapshot.bound),
        "marked": dict(snapshot.marked),
        "provisional": dict(snapshot.provisional),
        "most placed": dict(snapshot.most_placed),
        "repelled": snapshot.repelled,
        "owners": {owner.uid: owner for owner in snapshot.owners},
        "groups": dict(snapshot.groups),
        "namespaces": dict(snapshot.namespaces),
        "quotas": dict(snapshot.quotas),
        "priority classes": dict(snapshot.priority_classes),
        "topologies": dict(snapshot.topologies),
        "devices": snapshot.devices,
        "claims": dict(snapshot.claims),
        "volumes": dict(snapshot.volumes),
        "budgets": dict(snapshot.budgets),
        "autoscalers": dict(snapshot.autoscalers),
        "evictions": dict(snapshot.evictions),
        "reports": dict(snapshot.reports),
        "migrations": dict(snapshot.migrations),
        "placeholders": dict(snapshot.placeholders),
        "nodes": room.nodes,
        "node index": dict(room.index),
        "resources": room.resources,
        "allocatable": room.allocatable.tolist(),
        "used": room.used.tolist(),
        "ports": room.ports,
    }


def _states(content: Content) -> Iterator[PodState]:
    held = {uid: tuple(group) for uid, group in groupby(content.assumptions, attrgetter("uid"))}
    for entity in content.entities:
        if isinstance(entity, Pod):
            yield pod_state(entity, held.get(entity.uid, ()), content.scheduler_name)


def _objects(content: Content) -> dict[str, object]:
    entities = content.entities
    quotas = sorted(
        (e for e in entities if isinstance(e, ResourceQuota)),
        key=attrgetter("namespace", "name"),
    )
    return {
        "owners": {e.uid: e for e in entities if isinstance(e, Owner)},
        "groups": {e.key: e for e in entities if isinstance(e, PodGroup)},
        "namespaces": {e.name: e for e in entities if isinstance(e, Namespace)},
        "priority classes": {e.name: e for e in entities if isinstance(e, PriorityClass)},
        "topologies": {e.name: e for e in entities if isinstance(e, Topology)},
        "quotas": {n: tuple(g) for n, g in groupby(quotas, attrgetter("namespace"))},
        "claims": {e.key: e for e in entities if isinstance(e, PersistentVolumeClaim)},
        "volumes": {e.name: e for e in entities if isinstance(e, PersistentVolume)},
        "budgets": {e.key: e for e in entities if isinstance(e, PodDisruptionBudget)},
        "autoscalers": {e.key: e for e in entities if isinstance(e, HorizontalPodAutoscaler)},
        "evictions": {e.key: e for e in entities if isinstance(e, Eviction)},
        "reports": _reports(content),
        "migrations": {e.key: e for e in entities if isinstance(e, Migration)},
        "placeholders": {kept.job: kept for kept in content.placeholders},
    }


def _reports(content: Content) -> dict[NodeName, NodeReport]:
    """Return the reports of nodes that are there."""
    nodes = {e.name for e in content.entities if isinstance(e, Node)}
    return {report.node: report for report in content.reports if report.node in nodes}


def _pods(states: list[PodState]) -> dict[str, object]:
    jobs: dict[JobKey, list[Pod]] = {}
    for state in states:
        if state.job is not None:
            jobs.setdefault(state.job, []).append(state.pod)
    by_age = attrgetter("created_at", "name")
    return {
        "pods": {state.pod.key: state.pod for state in states},
        "jobs": {job: tuple(sorted(pods, key=by_age)) for job, pods in jobs.items()},
        "waiting": frozenset(state.job for state in states if state.waits),
        "waiting by age": _by_age(states, jobs),
        "reservations": {state.pod.uid: state.reservation for state in states if state.reservation},
        "bound": {state.pod.uid: state.bound for state in states if state.bound},
        "marked": {state.pod.uid: state.pod for state in states if state.marked},
        "provisional": {state.pod.uid: state.pod for state in states if state.provisional},
        "repelled": frozenset(
            name for state in states if not state.pod.finished for name in state.pod.repels
        ),
    }


def _by_age(
    states: list[PodState], jobs: dict[JobKey, list[Pod]]
) -> dict[tuple[str, int], list[WaitingJob]]:
    """Return the waiting jobs by namespace and priority of their oldest pod, the oldest first."""
    groups: dict[tuple[str, int], list[WaitingJob]] = {}
    for job in {state.job for state in states if state.waits and state.job is not None}:
        first = min(jobs[job], key=attrgetter("created_at", "name"))
        groups.setdefault((first.namespace, first.priority), []).append((first.created_at, job))
    return {group: sorted(waiting) for group, waiting in groups.items()}


def _company(content: Content, states: list[PodState]) -> dict[str, object]:
    """Return the largest number placed with any placed member, where it is more than now."""
    known = {state.uid: state.most for state in content.companions}
    placed = [state for state in states if state.placed and known.get(state.pod.uid) != 0]
    now = Counter(state.job for state in placed)
    most: Counter[JobKey | None] = Counter()
    for state in placed:
        most[state.job] = max(most[state.job], known.get(state.pod.uid, 0))
    return {"most placed": {job: count for job, count in most.items() if count > now[job]}}


def _devices(content: Content, states: list[PodState]) -> DeviceIndex:
    """Return an index made at once; each of its rows is computed for the first time."""
    index = DeviceIndex()
    kinds = index.by_kind()
    for entity in content.entities:
        if isinstance(entity, Node):
            index.put_node(entity)
        elif (held := kinds.get(type(entity).__name__)) is not None:
            held.put(entity)
    for state in states:
        index.count(None, state.pod, state.job)
        if (node := state.takes) is not None:
            pod = state.pod
            index.hold(node, pod.uid, pod.shape, pod.device_claims, pod.namespace)
    for kept in content.placeholders:
        for placeholder in kept.placeholders:
            uid = Uid(f"{kept.job}#{placeholder.number}")
            index.hold(placeholder.node, uid, placeholder.shape, (), "")
    return index


def _room(content: Content, states: list[PodState]) -> dict[str, object]:
    nodes = sorted((e for e in content.entities if isinstance(e, Node)), key=attrgetter("name"))
    ports: dict[NodeName, set[HostPort]] = {node.name: set() for node in nodes}
    placeholders = [(p.node, p.shape) for kept in content.placeholders for p in kept.placeholders]
    placed = [(s.takes, s.pod.shape) for s in states if s.takes is not None]
    kept = chain(_kept_by_migrations(content, states), _kept_by_parkings(content, states))
    kept_on_nodes = [(node, shape) for node, shape in kept if node in ports]
    for target, shape in (*placed, *placeholders, *kept_on_nodes):
        if target in ports:
            ports[target].update(shape.host_ports)
    devices = _devices(content, states)
    table = devices.on_nodes(_own_amounts(tuple(nodes), states, (*placed, *placeholders)))
    in_all = table.used.copy()
    for target, shape in kept_on_nodes:
        in_all[table.index[target]] += table.demand(shape)
    return {
        "devices": devices.view(),
        "nodes": table.nodes,
        "node index": dict(table.index),
        "resources": table.resources,
        "allocatable": table.allocatable.tolist(),
        "used": in_all.tolist(),
        "ports": tuple(frozenset(ports[node.name]) for node in nodes),
    }


def _own_amounts(
    nodes: tuple[Node, ...], states: list[PodState], taking: Iterable[tuple[NodeName, PodShape]]
) -> NodeTable:
    """Return the table of what the nodes themselves offer."""
    offered = {name for node in nodes for name, amount in node.allocatable.items() if amount}
    resources = (*_ALWAYS, *sorted(offered.difference(_ALWAYS)))
    used: dict[NodeName, Counter[str]] = {node.name: Counter() for node in nodes}
    for target, shape in taking:
        if target in used:
            used[target].update(dict(shape.requests))
    borrowed: Counter[NodeName] = Counter()
    for state in states:
        if state.takes in used:
            borrowed[state.takes] += state.pod.borrowed_milli
    for name, milli in borrowed.items():
        used[name]["cpu"] += max(0, milli)
    amounts = [[node.allocatable.get(name, 0) for name in resources] for node in nodes]
    taken = [[used[node.name][name] for name in resources] for node in nodes]
    size = (len(nodes), len(resources))
    return NodeTable(
        nodes=nodes,
        resources=resources,
        allocatable=np.array(amounts, dtype=np.int64).reshape(size),
        used=np.array(taken, dtype=np.int64).reshape(size),
        ports=(),
        classes=MaskCache(nodes),
        index={node.name: i for i, node in enumerate(nodes)},
    )


def _kept_by_migrations(
    content: Content, states: list[PodState]
) -> Iterator[tuple[NodeName, PodShape]]:
    """Yield what open migrations keep for members whose new pod has no place of its own."""
    placed = {state.pod.uid for state in states if state.bound or state.reservation}
    keep = {"TargetReserved", "CheckpointRequested", "Checkpointed", "Evicting", "Recreating"}
    for entity in content.entities:
        if isinstance(entity, Migration) and entity.phase.value in keep:
            waiting = (m for m in entity.members if m.replacement_uid not in placed)
            yield from ((m.target, m.shape) for m in waiting)


def _kept_by_parkings(
    content: Content, states: list[PodState]
) -> Iterator[tuple[NodeName, PodShape]]:
    """Yield what is kept for pods of parked jobs that come back and have no place of their own."""
    for entity in content.entities:
        found = keeping(entity) if isinstance(entity, Owner) else None
        if found is None:
            continue
        ours = (s for s in states if s.pod.scheduler_name == content.scheduler_name)
        mine = [s for s in ours if registry.job_key(s.pod) == found.job]
        placed = {s.pod.uid: s.takes for s in mine if s.takes is not None}
        yield from parked_jobs.reservations(found, [s.pod for s in mine], placed)


def _pointless(content: Content) -> list[str]:
    """Return a line for each assumption that should have ended."""
    pods: dict[Uid, Pod] = {e.uid: e for e in content.entities if isinstance(e, Pod)}
    return [
        f"assumption {assumption} is held without its pod or after it was seen"
        for assumption in content.assumptions
        if assumption.uid not in pods or assumption.settled_by(pods[assumption.uid])
    ]


def _wrong_views(snapshot: Snapshot) -> Iterator[str]:
    """Yield a line for each cached view that differs from one computed without the cache."""
    afresh = replace(snapshot, cache=Cache())
    for key in sorted(snapshot.jobs):
        if job_views.view(snapshot, key) != job_views.view(afresh, key):
            yield f"view of {key}: not what its pods show"


def _wrong_masks(snapshot: Snapshot) -> list[str]:
    classes, nodes = snapshot.node_table.classes, snapshot.node_table.nodes
    if not isinstance(classes, MaskCache):
        return []
    return [
        f"mask of {shape}: kept {mask.tolist()}, right {right}"
        for shape, mask in classes.kept()
        if mask.tolist() != (right := [accepts(shape, node) for node in nodes])
    ]


def _brief(one: object, other: object) -> str:
    """Return the part of one that the other lacks."""
    if isinstance(one, dict) and isinstance(other, dict):
        return str({k: v for k, v in one.items() if other.get(k) != v})
    return str(one)
