"""Nodes, pods and node tables for tests, with a default for every field.

Amounts are texts as in manifests: ``cpu="500m"``, ``requests={"nvidia.com/gpu": "1"}``.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from extender.core.nodes.class_masks import MaskCache
from extender.core.nodes.node_table import NodeTable
from shared import labels as names
from shared.model import (
    HostPort,
    Namespace,
    Node,
    NodeName,
    NodeSelectorTerm,
    Owner,
    OwnerReference,
    Pod,
    PodClaim,
    PodShape,
    PriorityClass,
    Requirement,
    ResourceQuota,
    Taint,
    Toleration,
    Uid,
)
from shared.objects.claims import PersistentVolume, PersistentVolumeClaim
from shared.objects.label_selectors import LabelSelector
from shared.quantity import base_units


def make_shape(
    *,
    cpu: str = "1",
    memory: str = "1Gi",
    requests: Mapping[str, str] | None = None,
    node_selector: Mapping[str, str] | None = None,
    affinity: Sequence[NodeSelectorTerm] | None = None,
    tolerations: Sequence[Toleration] = (),
    host_ports: Iterable[int | HostPort] = (),
    unmodelled: Sequence[str] = (),
) -> PodShape:
    """``cpu="0"`` requests none; a host port given as a number is TCP on every address."""
    amounts = _amounts({"cpu": cpu, "memory": memory, "pods": "1", **(requests or {})})
    return PodShape(
        requests=tuple(sorted((name, amount) for name, amount in amounts.items() if amount)),
        node_selector=tuple(sorted((node_selector or {}).items())),
        affinity=None if affinity is None else tuple(affinity),
        tolerations=tuple(tolerations),
        host_ports=tuple(
            HostPort("0.0.0.0", "TCP", p) if isinstance(p, int) else p for p in host_ports
        ),
        unmodelled=tuple(unmodelled),
    )


def make_term(*expressions: Requirement, fields: Sequence[Requirement] = ()) -> NodeSelectorTerm:
    return NodeSelectorTerm(expressions=expressions, fields=tuple(fields))


def pinned_to(*nodes: str) -> tuple[NodeSelectorTerm, ...]:
    """Required affinity with one ``matchFields`` term a node, as our release patch writes it."""
    return tuple(make_term(fields=[Requirement("metadata.name", "In", (n,))]) for n in nodes)


def make_pod(
    name: str = "pod-0",
    *,
    namespace: str = "default",
    uid: str | None = None,
    resource_version: str = "1",
    created_at: float = 0.0,
    shape: PodShape | None = None,
    cpu: str = "1",
    memory: str = "1Gi",
    requests: Mapping[str, str] | None = None,
    job: str = "",
    role: str = "",
    index: int | None = None,
    labels: Mapping[str, str] | None = None,
    annotations: Mapping[str, str] | None = None,
    owner: Owner | None = None,
    scheduler_name: str = names.SCHEDULER_NAME,
    gated: bool = False,
    node: str | None = None,
    reservation: str | None = None,
    plan: str = "",
    plan_size: int = 0,
    phase: str | None = None,
    deleting: bool = False,
    priority: int = 0,
    priority_class: str = "",
    scheduled_at: float | None = None,
    queued_reason: str = "",
    phase_reason: str = "",
    claims: Iterable[str] = (),
    device_claims: Iterable[str | PodClaim] = (),
) -> Pod:
    """A pod of ours, unbound and not gated.

    ``job``, ``role`` become our labels, ``index`` the completion index label; ``owner`` the
    controller; ``reservation``, ``plan``, ``plan_size`` annotations of a release; ``node`` binds.
    """
    tags = {names.JOB: job, names.ROLE: role}
    tags |= {} if index is None else {names.JOB_INDEX_LABEL: str(index)}
    notes = {names.NODE: reservation or "", names.PLAN: plan}
    notes |= {names.PLAN_SIZE: str(plan_size)} if plan_size else {}
    return Pod(
        namespace=namespace,
        name=name,
        uid=Uid(uid or f"{namespace}-{name}"),
        resource_version=resource_version,
        created_at=created_at,
        shape=shape or make_shape(cpu=cpu, memory=memory, requests=requests),
        labels={k: v for k, v in tags.items() if v} | dict(labels or {}),
        annotations={k: v for k, v in notes.items() if v} | dict(annotations or {}),
        controller=None if owner is None else reference_to(owner),
        scheduler_name=scheduler_name,
        node_name=None if node is None else NodeName(node),
        gates=(names.GATE,) if gated else (),
        phase=phase or ("Running" if node else "Pending"),
        deleting=deleting,
        priority=priority,
        priority_class=priority_class,
        scheduled_at=(created_at if node else 0.0) if scheduled_at is None else scheduled_at,
        queued_reason=queued_reason,
        phase_reason=phase_reason,
        claims=tuple(sorted(claims)),
        device_claims=tuple(
            PodClaim(f"from-{claim}", claim) if isinstance(claim, str) else claim
            for claim in device_claims
        ),
    )


def make_gang(
    job: str,
    *,
    workers: int,
    ps: int = 0,
    first: int = 0,
    owner: Owner | None = None,
    **pod: Any,
) -> list[Pod]:
    """Pods ``<job>-ps-<i>`` and ``<job>-worker-<i>``; the rest of the arguments as ``make_pod``.

    ``first``: index of the first one; those of a Job differ, whatever their roles.
    """
    members = [("ps", i) for i in range(ps)] + [("worker", i) for i in range(workers)]
    return [
        make_pod(f"{job}-{role}-{i}", job=job, role=role, index=index, owner=owner, **pod)
        for index, (role, i) in enumerate(members, first)
    ]


def make_owner(
    name: str = "job-a",
    *,
    kind: str = "Job",
    api_version: str | None = None,
    namespace: str = "default",
    uid: str | None = None,
    size: int | None = 1,
    labels: Mapping[str, str] | None = None,
    annotations: Mapping[str, str] | None = None,
    controller: Owner | None = None,
    created_at: float = 0.0,
    resource_version: str = "1",
    template: Mapping[str, str] | None = None,
    selects: Mapping[str, str] | None = None,
) -> Owner:
    """A Job, or an object of another ``kind``.

    ``template``: annotations of its pods, without those that do not count on owners;
    ``selects``: labels of its pods.
    """
    noted = {key: text for key, text in (template or {}).items() if key in names.OF_OWNER}
    groups = {"Job": "batch/v1", "StatefulSet": "apps/v1"}
    return Owner(
        api_version=api_version or groups.get(kind, "kubeflow.org/v1"),
        kind=kind,
        namespace=namespace,
        name=name,
        uid=Uid(uid or f"{kind}-{namespace}-{name}"),
        resource_version=resource_version,
        labels=dict(labels or {}),
        annotations=dict(annotations or {}),
        size=size,
        controller=None if controller is None else reference_to(controller),
        created_at=created_at,
        template=noted,
        selector=None if selects is None else LabelSelector(match_labels=dict(selects)),
    )


def reference_to(owner: Owner) -> OwnerReference:
    return OwnerReference(owner.api_version, owner.kind, owner.name, owner.uid)


def make_node(
    name: str = "node-0",
    *,
    uid: str | None = None,
    resource_version: str = "1",
    cpu: str = "8",
    memory: str = "32Gi",
    pods: int = 110,
    allocatable: Mapping[str, str] | None = None,
    labels: Mapping[str, str] | None = None,
    taints: Iterable[Taint | str] = (),
    unschedulable: bool = False,
    conditions: Iterable[str] = (),
    unreachable_since: float = 0.0,
    leaves_at: float | None = None,
) -> Node:
    """``allocatable`` adds resources; ``taints`` may be texts ``key=value:Effect``."""
    amounts = {"cpu": cpu, "memory": memory, "pods": str(pods), **(allocatable or {})}
    return Node(
        name=NodeName(name),
        uid=Uid(uid or f"node-{name}"),
        resource_version=resource_version,
        allocatable=_amounts(amounts),
        labels={names.HOSTNAME_LABEL: name, **(labels or {})},
        taints=tuple(make_taint(t) if isinstance(t, str) else t for t in taints),
        unschedulable=unschedulable,
        conditions=tuple(conditions),
        unreachable_since=unreachable_since,
        leaves_at=leaves_at,
    )


def make_taint(text: str) -> Taint:
    """``key=value:Effect`` or ``key:Effect``."""
    rest, _, effect = text.rpartition(":")
    key, _, value = rest.partition("=")
    return Taint(key, value, effect)


def make_room(
    *nodes: Node, placed: Mapping[str, Iterable[Pod | PodShape]] | None = None
) -> NodeTable:
    """The node table of ``nodes`` with what ``placed`` puts on them by node name."""
    ordered = tuple(sorted(nodes, key=lambda node: node.name))
    extra = {name for node in ordered for name, amount in node.allocatable.items() if amount}
    resources = ("cpu", "memory", "pods", *sorted(extra - {"cpu", "memory", "pods"}))
    amounts = [[node.allocatable.get(name, 0) for name in resources] for node in ordered]
    allocatable = np.array(amounts, dtype=np.int64).reshape(len(ordered), len(resources))
    room = NodeTable(
        nodes=ordered,
        resources=resources,
        allocatable=allocatable,
        used=np.zeros_like(allocatable),
        ports=tuple(frozenset() for _ in ordered),
        classes=MaskCache(ordered),
        index={node.name: i for i, node in enumerate(ordered)},
    )
    return room.with_pods(
        (pod.shape if isinstance(pod, Pod) else pod, room.index[NodeName(node)])
        for node, pods in (placed or {}).items()
        for pod in pods
    )


def make_namespace(
    name: str = "default", *, annotations: Mapping[str, str] | None = None
) -> Namespace:
    return Namespace(name=name, annotations=dict(annotations or {}))


def make_quota(
    name: str = "quota",
    *,
    namespace: str = "default",
    annotations: Mapping[str, str] | None = None,
) -> ResourceQuota:
    return ResourceQuota(namespace=namespace, name=name, annotations=dict(annotations or {}))


def make_claim(
    name: str = "data",
    *,
    namespace: str = "default",
    uid: str | None = None,
    volume: str = "",
    many_nodes: bool = True,
    deleting: bool = False,
) -> PersistentVolumeClaim:
    """Bound if it has a ``volume``."""
    return PersistentVolumeClaim(
        namespace=namespace,
        name=name,
        uid=Uid(uid or f"claim-{namespace}-{name}"),
        volume=volume,
        many_nodes=many_nodes,
        deleting=deleting,
    )


def make_volume(
    name: str = "disk",
    *,
    uid: str | None = None,
    affinity: Sequence[NodeSelectorTerm] | None = None,
    zonal: bool = False,
) -> PersistentVolume:
    """A volume; by default every node can mount it."""
    return PersistentVolume(
        name=name,
        uid=Uid(uid or f"volume-{name}"),
        affinity=None if affinity is None else tuple(affinity),
        zonal=zonal,
    )


def make_priority_class(name: str = "normal", *, value: int = 0) -> PriorityClass:
    return PriorityClass(name=name, value=value)


def _amounts(texts: Mapping[str, str]) -> dict[str, int]:
    return {name: base_units(name, text) for name, text in texts.items() if text}
