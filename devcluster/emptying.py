"""Empties a cluster between tests, without grace periods."""

import asyncio
from collections.abc import Iterable
from typing import Any, Final

from devcluster import api
from devcluster.shuntyard.agents import NAMESPACE as AGENTS
from shared.kube import paths
from shared.kube.client import KubeClient
from shared.kube.errors import ConflictError, ConnectionLostError, NotFoundError

KEPT_NAMESPACES: Final = frozenset(
    {"default", "kube-system", "kube-public", "kube-node-lease", "shuntyard-system"} | {AGENTS}
)
SECONDS: Final = 300.0
_OWNERS: Final = (
    paths.JOBS,
    paths.STATEFULSETS,
    "/apis/apps/v1/deployments",
    "/apis/apps/v1/replicasets",
    "/apis/apps/v1/daemonsets",
)
_OTHERS: Final = (
    paths.RESOURCE_QUOTAS,
    "/api/v1/persistentvolumeclaims",
    paths.EVENTS,
    paths.MIGRATIONS,
)
_OF_A_NAMESPACE: Final = (
    "/api/v1/configmaps",
    "/api/v1/secrets",
    "/api/v1/services",
    "/api/v1/serviceaccounts",
)
"""Not in ``default``: the control plane has its own there."""

_CLUSTER_WIDE: Final = (paths.NODES, "/api/v1/persistentvolumes")


async def empty(client: KubeClient) -> None:
    """Delete nodes, workloads, quotas, volumes, priority classes and all further namespaces.

    Namespaces are gone when this returns, but the namespace controller may still delete objects by
    their names: a test that creates one must use a new name.

    Raises:
        TimeoutError: Something was still there after `SECONDS`; the pods of it are named.
    """
    try:
        async with asyncio.timeout(SECONDS):
            while not await _tried(client):
                continue
    except TimeoutError as error:
        left = [
            f"{pod['metadata']['namespace']}/{pod['metadata']['name']} "
            f"(finalizers {pod['metadata'].get('finalizers', [])})"
            for pod in await api.items(client, paths.PODS)
        ]
        message = f"not empty after {SECONDS:.0f} s; pods left: {left}"
        raise TimeoutError(message) from error


async def _tried(client: KubeClient) -> bool:
    """Return False if a request timed out, on a busy machine: start again."""
    done = False
    try:
        await _everything(client)
        done = True
    except* ConnectionLostError:
        await asyncio.sleep(api.POLL_SECONDS)
    return done


async def _everything(client: KubeClient) -> None:
    names = [item["metadata"]["name"] for item in await api.items(client, paths.NAMESPACES)]
    further = [name for name in names if name not in KEPT_NAMESPACES]
    # First, because nothing can be created in a terminating namespace.
    await api.for_each(further, lambda name: _delete(client, paths.namespace(name)))
    working = [*further, *({"default", AGENTS} & set(names))]
    await _workloads(client, working)
    await _collections(client, _OTHERS, working)
    await _collections(client, _OF_A_NAMESPACE, further)
    await api.for_each(_CLUSTER_WIDE, lambda path: _delete(client, path))
    await _collections(client, (paths.LEASES,), ["kube-node-lease"])
    await _priority_classes(client)
    await api.for_each(further, lambda name: _finalize(client, name))


async def _workloads(client: KubeClient, namespaces: list[str]) -> None:
    await _collections(client, _OWNERS, namespaces)
    # An owner may have created another pod while its deletion was on the way.
    while pods := [pod for pod in await api.items(client, paths.PODS) if _in(pod, namespaces)]:
        await _collections(client, (paths.PODS,), {pod["metadata"]["namespace"] for pod in pods})
        await api.for_each(filter(_held, pods), lambda pod: _let_go(client, pod))
        await asyncio.sleep(api.POLL_SECONDS)


def _held(pod: dict[str, Any]) -> bool:
    metadata = pod["metadata"]
    return "deletionTimestamp" in metadata and bool(metadata.get("finalizers"))


async def _let_go(client: KubeClient, pod: dict[str, Any]) -> None:
    """Remove the finalizers, because their controller is slow on a busy machine, or gone."""
    path = paths.namespaced(paths.PODS, pod["metadata"]["namespace"], pod["metadata"]["name"])
    change = {"metadata": {"uid": pod["metadata"]["uid"], "finalizers": None}}
    try:
        await client.patch(path, change)
    except (NotFoundError, ConflictError):
        return


async def _collections(
    client: KubeClient, collections: Iterable[str], namespaces: Iterable[str]
) -> None:
    work = [paths.namespaced(kind, name) for kind in collections for name in namespaces]
    await api.for_each(work, lambda path: _delete(client, path))


async def _priority_classes(client: KubeClient) -> None:
    names = [item["metadata"]["name"] for item in await api.items(client, paths.PRIORITY_CLASSES)]
    mine = [f"{paths.PRIORITY_CLASSES}/{name}" for name in names if not name.startswith("system-")]
    await api.for_each(mine, lambda path: _delete(client, path))


async def _finalize(client: KubeClient, name: str) -> None:
    """Finalize an emptied namespace; its controller would check again after 5 s."""
    body = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
    try:
        await client.put(f"{paths.namespace(name)}/finalize", {**body, "spec": {"finalizers": []}})
    except (NotFoundError, ConflictError):  # its controller was faster
        return


async def _delete(client: KubeClient, path: str) -> None:
    try:
        await client.delete(path, grace_seconds=0, propagation="Background")
    except (NotFoundError, ConflictError):  # 409: a namespace that is terminating
        return


def _in(item: dict[str, Any], namespaces: list[str]) -> bool:
    return item["metadata"]["namespace"] in namespaces
