"""Our writes, each with a precondition: it changes the object that we read, or nothing.

Every function raises the ``ApiError`` of the response. After ``ConnectionLostError`` the write may
have happened; repeating it is safe because of the precondition.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from shared.kube import paths, stamps
from shared.kube.client import KubeClient, PatchKind
from shared.model import NodeName, NodeSelectorTerm, OwnerReference, PodKey, Requirement, Uid
from shared.objects.disruptions import RESPONDER, Eviction


async def bind(
    client: KubeClient,
    key: PodKey,
    uid: Uid,
    node: NodeName,
    annotations: Mapping[str, str] | None = None,
) -> None:
    """Bind a pod; the annotations are set together with the node.

    Raises:
        ConflictError: It is bound already, being deleted, gated, or another pod of that name.
        NotFoundError: It is gone.
    """
    namespace, name = split(key)
    body = {
        "apiVersion": "v1",
        "kind": "Binding",
        "metadata": {
            "namespace": namespace,
            "name": name,
            "uid": uid,
            "annotations": dict(annotations or {}),
        },
        "target": {"apiVersion": "v1", "kind": "Node", "name": node},
    }
    await client.post(paths.binding(namespace, name), body)


async def patch_pod(
    client: KubeClient,
    key: PodKey,
    uid: Uid,
    body: Mapping[str, Any],
    *,
    resource_version: str = "",
    kind: PatchKind = PatchKind.MERGE,
) -> bytes:
    """Patch a pod (merge or strategic) if it is still the one with ``uid``.

    Args:
        client: Client of the API server.
        key: The pod.
        uid: Precondition.
        body: The patch, without preconditions.
        resource_version: A second precondition; empty: none.
        kind: How the server merges.
    """
    metadata = {**body.get("metadata", {}), "uid": uid}
    if resource_version:
        metadata["resourceVersion"] = resource_version
    return await client.patch(paths.pod(*split(key)), {**body, "metadata": metadata}, kind=kind)


async def release(
    client: KubeClient,
    key: PodKey,
    uid: Uid,
    *,
    gates: Sequence[str],
    annotations: Mapping[str, str | None],
    terms: Sequence[NodeSelectorTerm] | None = None,
    resource_version: str = "",
) -> None:
    """Keep only ``gates``, pin by ``terms`` and annotate, all in one patch.

    Args:
        client: Client of the API server.
        key: The pod.
        uid: Precondition.
        gates: Scheduling gates that are kept.
        annotations: Merged into the pod's; None removes one.
        terms: Required node affinity afterwards; None: unchanged.
        resource_version: A second precondition; empty: none.
    """
    spec: dict[str, Any] = {"schedulingGates": [{"name": name} for name in gates]}
    if terms is not None:
        required = {"nodeSelectorTerms": [_term(term) for term in terms]}
        node_affinity = {"requiredDuringSchedulingIgnoredDuringExecution": required}
        spec["affinity"] = {"nodeAffinity": node_affinity}
    metadata = {"annotations": dict(annotations)} if annotations else {}
    body = {"metadata": metadata, "spec": spec}
    await patch_pod(client, key, uid, body, resource_version=resource_version)


async def patch_pod_condition(
    client: KubeClient,
    key: PodKey,
    uid: Uid,
    *,
    type: str,  # noqa: A002 - the API's word
    status: str,
    reason: str,
    message: str,
    at: float,
) -> None:
    """Set one condition of a pod; ``at`` is the transition time in seconds since the epoch."""
    condition = {
        "type": type,
        "status": status,
        "reason": reason,
        "message": message,
        "lastTransitionTime": stamps.seconds(at),
    }
    body = {"metadata": {"uid": uid}, "status": {"conditions": [condition]}}
    await client.patch(paths.pod(*split(key), "status"), body, kind=PatchKind.STRATEGIC)


async def resize_cpu(
    client: KubeClient,
    key: PodKey,
    uid: Uid,
    *,
    container: str,
    request_milli: int,
    resource_version: str,
) -> bytes:
    """Set the CPU request of a running container; its node changes it in place.

    Raises:
        ConflictError: The pod has changed since ``resource_version``, or is another of that name.
        InvalidError: It would exceed the container's limit, change the QoS class, or its node
            cannot resize.
        ForbiddenError: A quota, or our rights, forbid it.
        NotFoundError: It is gone, or the server is too old for this.

    Source:
        KEP-1287; kubernetes ``ValidatePodResize`` (v1.36).
    """
    requests = {"cpu": f"{request_milli}m"}
    body = {
        "metadata": {"uid": uid, "resourceVersion": resource_version},
        "spec": {"containers": [{"name": container, "resources": {"requests": requests}}]},
    }
    path = paths.pod(*split(key), "resize")
    return await client.patch(path, body, kind=PatchKind.STRATEGIC)


async def delete_pod(
    client: KubeClient, key: PodKey, uid: Uid, *, grace_seconds: int | None = None
) -> None:
    """Delete the pod with ``uid``.

    Raises:
        ConflictError: There is another pod of that name now.
        NotFoundError: It is gone.
    """
    await client.delete(paths.pod(*split(key)), uid=uid, grace_seconds=grace_seconds)


async def delete_pod_as_seen(
    client: KubeClient, key: PodKey, uid: Uid, resource_version: str
) -> None:
    """Delete the pod with ``uid`` if it is unchanged; the request is sent once.

    So ``ConflictError`` and ``NotFoundError`` never result from our own deletion.

    Raises:
        ConflictError: It has changed: it is being deleted, or its status is another one.
        NotFoundError: It is gone.
        ConnectionLostError: It is unknown whether it is deleted.
    """
    path = paths.pod(*split(key))
    await client.delete(path, uid=uid, resource_version=resource_version, once=True)


async def create_pod(client: KubeClient, namespace: str, manifest: Mapping[str, Any]) -> bytes:
    """Create a pod; its name is the precondition.

    Raises:
        AlreadyExistsError: A pod of that name is there.
    """
    return await client.post(paths.pods(namespace), manifest)


async def answer_eviction(
    client: KubeClient, eviction: Eviction, *, at: float, message: str, completed: bool
) -> bytes:
    """Report to an Eviction as its active responder; return it as it is now.

    Args:
        client: Of the API server.
        eviction: As it was read; uid and resource version are preconditions.
        at: Time of the report, seconds since the epoch.
        message: How far we are, for people.
        completed: We are done: it is the turn of the next responder.

    Raises:
        ConflictError: It has changed.
        InvalidError: It is not our turn.
    """
    stamp = stamps.seconds(max(at, eviction.started_at, eviction.heartbeat_at))
    place = f"/status/responders/{eviction.row}"
    report = {"heartbeatTime": stamp, "message": message}
    if completed:
        report["completionTime"] = stamp
    body = [
        {"op": "test", "path": "/metadata/uid", "value": eviction.uid},
        {"op": "test", "path": f"{place}/name", "value": RESPONDER},
        {"op": "replace", "path": "/metadata/resourceVersion", "value": eviction.resource_version},
        *({"op": "add", "path": f"{place}/{key}", "value": text} for key, text in report.items()),
    ]
    path = paths.namespaced(paths.EVICTIONS, eviction.namespace, eviction.name, "status")
    return await client.patch(path, body, kind=PatchKind.JSON)


async def create_budget(client: KubeClient, namespace: str, manifest: Mapping[str, Any]) -> bytes:
    """Create a PodDisruptionBudget; its name is the precondition.

    Raises:
        AlreadyExistsError: One of that name is there.
    """
    return await client.post(paths.namespaced(paths.DISRUPTION_BUDGETS, namespace), manifest)


async def change_budget(
    client: KubeClient, namespace: str, name: str, uid: str, min_available: int
) -> bytes:
    """Let so many pods of the PodDisruptionBudget with ``uid`` stay; return it as it is now.

    Raises:
        InvalidError: There is another one of that name now.
        NotFoundError: It is gone.
    """
    body = [
        {"op": "test", "path": "/metadata/uid", "value": uid},
        {"op": "add", "path": "/spec/minAvailable", "value": min_available},
    ]
    path = paths.namespaced(paths.DISRUPTION_BUDGETS, namespace, name)
    return await client.patch(path, body, kind=PatchKind.JSON)


async def delete_budget(client: KubeClient, namespace: str, name: str, uid: str) -> None:
    """Delete the PodDisruptionBudget with ``uid``.

    Raises:
        ConflictError: There is another one of that name now.
        NotFoundError: It is gone.
    """
    await client.delete(paths.namespaced(paths.DISRUPTION_BUDGETS, namespace, name), uid=uid)


async def create_event(
    client: KubeClient,
    *,
    namespace: str,
    about: OwnerReference,
    reason: str,
    note: str,
    warning: bool,
    action: str,
    controller: str,
    instance: str,
    at: float,
) -> None:
    """Write an Event about an object of ``namespace``.

    Args:
        client: Client of the API server.
        namespace: Namespace of the object and of the Event.
        about: The object.
        reason: A CamelCase token.
        note: For people; cut at 1024 bytes, the API's limit.
        warning: Type Warning instead of Normal.
        action: What we did or did not do, a CamelCase token.
        controller: Our name, e.g. ``shuntyard.io/extender``.
        instance: The replica, e.g. the host name.
        at: Seconds since the epoch.
    """
    regarding = {
        "apiVersion": about.api_version,
        "kind": about.kind,
        "namespace": namespace,
        "name": about.name,
        "uid": about.uid,
    }
    body = {
        "apiVersion": "events.k8s.io/v1",
        "kind": "Event",
        "metadata": {"namespace": namespace, "generateName": f"{about.name}-"},
        "eventTime": stamps.micros(at),
        "type": "Warning" if warning else "Normal",
        "reason": reason,
        "action": action,
        "note": note.encode()[:1024].decode(errors="ignore"),
        "regarding": regarding,
        "reportingController": controller,
        "reportingInstance": instance,
    }
    await client.post(paths.events(namespace), body)


def split(key: PodKey) -> tuple[str, str]:
    """Return namespace and name of a pod's key."""
    namespace, _, name = key.partition("/")
    return namespace, name


def _term(term: NodeSelectorTerm) -> dict[str, Any]:
    lists = {"matchExpressions": term.expressions, "matchFields": term.fields}
    return {key: [_requirement(r) for r in listed] for key, listed in lists.items() if listed}


def _requirement(requirement: Requirement) -> dict[str, Any]:
    line: dict[str, Any] = {"key": requirement.key, "operator": requirement.operator}
    return {**line, "values": list(requirement.values)} if requirement.values else line
