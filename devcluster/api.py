"""The API server for synchronous code: each call runs an event loop of its own."""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, Final, TypeVar

import msgspec

from shared.kube import auth, paths
from shared.kube.client import KubeClient, PatchKind
from shared.kube.errors import NotFoundError

_T = TypeVar("_T")

FIELD_MANAGER: Final = "shuntyard-devcluster"
POLL_SECONDS: Final = 0.05
AT_ONCE: Final = 32
NODES_READY_SECONDS: Final = 300.0
_RBAC: Final = "/apis/rbac.authorization.k8s.io/v1"
_ADMISSION: Final = "/apis/admissionregistration.k8s.io/v1"
_COLLECTIONS: Final[Mapping[str, str]] = {
    "Namespace": paths.NAMESPACES,
    "ServiceAccount": "/api/v1/serviceaccounts",
    "ConfigMap": "/api/v1/configmaps",
    "Secret": "/api/v1/secrets",
    "Pod": paths.PODS,
    "Service": "/api/v1/services",
    "Endpoints": "/api/v1/endpoints",
    "EndpointSlice": "/apis/discovery.k8s.io/v1/endpointslices",
    "DaemonSet": "/apis/apps/v1/daemonsets",
    "PersistentVolume": "/api/v1/persistentvolumes",
    "PersistentVolumeClaim": "/api/v1/persistentvolumeclaims",
    "CustomResourceDefinition": "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
    "ClusterRole": f"{_RBAC}/clusterroles",
    "ClusterRoleBinding": f"{_RBAC}/clusterrolebindings",
    "Role": f"{_RBAC}/roles",
    "RoleBinding": f"{_RBAC}/rolebindings",
    "FlowSchema": "/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas",
    "ValidatingAdmissionPolicy": f"{_ADMISSION}/validatingadmissionpolicies",
    "MutatingAdmissionPolicy": f"{_ADMISSION}/mutatingadmissionpolicies",
    "MutatingAdmissionPolicyBinding": f"{_ADMISSION}/mutatingadmissionpolicybindings",
    "ValidatingAdmissionPolicyBinding": f"{_ADMISSION}/validatingadmissionpolicybindings",
}


def call(kubeconfig: Path, work: Callable[[KubeClient], Awaitable[_T]]) -> _T:
    """Run ``work`` with a client and return what it returns; not for use inside an event loop."""

    async def connected() -> _T:
        credentials = auth.load(kubeconfig)
        async with KubeClient.connect(credentials, user_agent=FIELD_MANAGER) as client:
            return await work(client)

    # With a factory the runner does not touch the thread's current loop.
    with asyncio.Runner(loop_factory=asyncio.new_event_loop) as runner:
        return runner.run(connected())


async def for_each(items: Iterable[_T], work: Callable[[_T], Awaitable[object]]) -> None:
    """Do ``work`` for all items, ``AT_ONCE`` of them at a time.

    A request that queued for a connection would use up its time-out there.
    """
    slots = asyncio.Semaphore(AT_ONCE)

    async def one(item: _T) -> None:
        async with slots:
            await work(item)

    async with asyncio.TaskGroup() as group:
        for item in items:
            group.create_task(one(item))


async def apply(client: KubeClient, manifests: Iterable[Mapping[str, Any]]) -> None:
    """Apply the manifests in order (server-side apply)."""
    params = {"fieldManager": FIELD_MANAGER, "force": "true"}
    for manifest in manifests:
        await client.patch(_path(manifest), manifest, kind=PatchKind.APPLY, params=params)


async def remove(client: KubeClient, manifests: Iterable[Mapping[str, Any]]) -> None:
    """Delete the objects of the manifests that exist."""
    for manifest in manifests:
        with contextlib.suppress(NotFoundError):
            await client.delete(_path(manifest))


def _path(manifest: Mapping[str, Any]) -> str:
    metadata = manifest["metadata"]
    collection = _COLLECTIONS[manifest["kind"]]
    namespace = metadata.get("namespace")
    if namespace:
        return paths.namespaced(collection, namespace, metadata["name"])
    return f"{collection}/{metadata['name']}"


async def wait_for(client: KubeClient, path: str, seconds: float) -> None:
    """Wait until an object exists.

    Raises:
        TimeoutError: It does not.
    """

    async def exists() -> bool:
        try:
            await client.get(path)
        except NotFoundError:
            return False
        return True

    await poll(exists, seconds)


async def request_token(client: KubeClient, namespace: str, account: str, seconds: int) -> str:
    """Return a token of a service account that is valid for ``seconds``.

    Source:
        https://kubernetes.io/docs/reference/kubernetes-api/authentication-resources/token-request-v1/
    """
    body = {
        "apiVersion": "authentication.k8s.io/v1",
        "kind": "TokenRequest",
        "spec": {"expirationSeconds": seconds},
    }
    path = paths.namespaced("/api/v1/serviceaccounts", namespace, account, "token")
    answer = msgspec.json.decode(await client.post(path, body))
    return str(answer["status"]["token"])


async def get(client: KubeClient, path: str) -> dict[str, Any]:
    """Return one object."""
    item: dict[str, Any] = msgspec.json.decode(await client.get(path))
    return item


async def items(client: KubeClient, collection: str) -> list[dict[str, Any]]:
    """Return all objects of a collection."""
    return list(msgspec.json.decode(await client.get(collection)).get("items") or ())


async def wait_until_usable(
    client: KubeClient, names: frozenset[str], check: Callable[[], None]
) -> None:
    """Wait until the nodes are Ready and have no taints but their own.

    Args:
        client: An administrator's.
        names: The nodes.
        check: Called between polls; raises if waiting is pointless.

    Raises:
        TimeoutError: They are not within `NODES_READY_SECONDS`.
    """

    async def usable() -> bool:
        check()
        return names <= await _usable_names(client)

    await poll(usable, NODES_READY_SECONDS)


async def poll(condition: Callable[[], Awaitable[bool]], seconds: float) -> None:
    """Wait until ``condition`` holds, spending at most a third of the time on polls.

    Raises:
        TimeoutError: It does not hold after ``seconds``.
    """
    loop = asyncio.get_running_loop()
    async with asyncio.timeout(seconds):
        begun = loop.time()
        while not await condition():
            await asyncio.sleep(POLL_SECONDS + 2 * (loop.time() - begun))
            begun = loop.time()


async def _usable_names(client: KubeClient) -> frozenset[str]:
    nodes = await items(client, paths.NODES)
    return frozenset(node["metadata"]["name"] for node in nodes if _usable(node))


def _usable(node: Mapping[str, Any]) -> bool:
    conditions = node["status"].get("conditions") or ()
    taints = node["spec"].get("taints") or ()
    ready = any(item["type"] == "Ready" and item["status"] == "True" for item in conditions)
    return ready and not any(taint["key"].startswith("node.kubernetes.io/") for taint in taints)
