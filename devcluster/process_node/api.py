"""A node's reads and writes at the API server."""

import base64
from collections.abc import Mapping
from typing import Any, Final

import msgspec

from devcluster.process_node.environment import Data
from devcluster.process_node.errors import ConfigError
from devcluster.process_node.spec import ObjectMeta, PodObject, Wire
from devcluster.process_node.volumes import DEFAULT_TOKEN_SECONDS, TokenFile
from shared.kube import paths
from shared.kube.client import KubeClient, PatchKind
from shared.kube.errors import AlreadyExistsError, ForbiddenError, InvalidError, NotFoundError

LEASE_NAMESPACE: Final = "kube-node-lease"
_CORE: Final = "/api/v1"


class _ConfigMap(Wire, frozen=True):
    data: dict[str, str] | None = None
    binary_data: dict[str, str] | None = None


class _Secret(Wire, frozen=True):
    data: dict[str, str] | None = None


class _Named(Wire, frozen=True):
    metadata: ObjectMeta


class _TokenStatus(Wire, frozen=True):
    token: str
    expiration_timestamp: str


class _TokenRequest(Wire, frozen=True):
    status: _TokenStatus


class NodeApi:
    """A node's client of the API server. Every method raises ``ApiError``.

    Args:
        client: Its connection.
    """

    def __init__(self, client: KubeClient) -> None:
        self._client = client

    async def register(self, manifest: Mapping[str, Any]) -> str:
        """Create the Node, or set the labels of an existing one; return its uid."""
        try:
            created = await self._client.post(paths.NODES, manifest)
        except AlreadyExistsError:
            labels = {"metadata": {"labels": manifest["metadata"]["labels"]}}
            path = paths.node(manifest["metadata"]["name"])
            created = await self._client.patch(path, labels)
        return msgspec.json.decode(created, type=_Named).metadata.uid

    async def report_node(self, name: str, status: Mapping[str, Any]) -> None:
        """Patch the Node's status; conditions of others stay."""
        path = f"{paths.node(name)}/status"
        await self._client.patch(path, {"status": status}, kind=PatchKind.STRATEGIC)

    async def renew_lease(self, lease: Mapping[str, Any]) -> None:
        """Patch the node's Lease, or create it."""
        path = paths.lease(LEASE_NAMESPACE, lease["metadata"]["name"])
        try:
            await self._client.patch(path, {"spec": lease["spec"]})
        except NotFoundError:
            await self._client.post(paths.namespaced(paths.LEASES, LEASE_NAMESPACE), lease)

    async def report_pod(self, pod: PodObject, status: Mapping[str, Any]) -> None:
        """Patch the pod's status; conditions that we do not name stay."""
        meta = pod.metadata
        await self._client.patch(
            paths.pod(meta.namespace, meta.name, "status"),
            {"metadata": {"uid": meta.uid}, "status": status},
            kind=PatchKind.STRATEGIC,
        )

    async def remove_pod(self, pod: PodObject) -> None:
        """Delete the pod object at once: nothing of it runs any more."""
        meta = pod.metadata
        path = paths.pod(meta.namespace, meta.name)
        await self._client.delete(path, uid=meta.uid, grace_seconds=0)

    async def config_map(self, namespace: str, name: str) -> Data | None:
        """Return the data of a ConfigMap; None if there is none."""
        body = await self._get(namespace, "configmaps", name)
        if body is None:
            return None
        config_map = msgspec.json.decode(body, type=_ConfigMap)
        texts = {key: value.encode() for key, value in (config_map.data or {}).items()}
        return texts | _decoded(config_map.binary_data)

    async def secret(self, namespace: str, name: str) -> Data | None:
        """Return the data of a Secret; None if there is none."""
        body = await self._get(namespace, "secrets", name)
        return None if body is None else _decoded(msgspec.json.decode(body, type=_Secret).data)

    async def claimed_volume(self, namespace: str, claim: str) -> Mapping[str, Any]:
        """Return the specification of the PersistentVolume that a claim is bound to.

        Raises:
            ConfigError: The claim does not exist or is not bound.
        """
        body = await self._get(namespace, "persistentvolumeclaims", claim)
        if body is None:
            raise ConfigError(f'persistentvolumeclaim "{claim}" not found')
        claimed = msgspec.json.decode(body)
        volume = claimed["spec"].get("volumeName")
        if not volume or (claimed.get("status") or {}).get("phase") != "Bound":
            raise ConfigError(f'persistentvolumeclaim "{claim}" is not bound')
        raw = await self._client.get(f"{_CORE}/persistentvolumes/{volume}")
        spec: Mapping[str, Any] = msgspec.json.decode(raw)["spec"]
        return spec

    async def token(self, pod: PodObject, file: TokenFile) -> tuple[str, str]:
        """Return a token of the pod's ServiceAccount, bound to the pod, and when it expires.

        Raises:
            ConfigError: The server does not issue one.
        """
        meta = pod.metadata
        spec = {
            "audiences": [file.audience] if file.audience else [],
            "expirationSeconds": file.expiration_seconds or DEFAULT_TOKEN_SECONDS,
            "boundObjectRef": {
                "kind": "Pod",
                "apiVersion": "v1",
                "name": meta.name,
                "uid": meta.uid,
            },
        }
        account = pod.spec.service_account_name or "default"
        path = f"{_CORE}/namespaces/{meta.namespace}/serviceaccounts/{account}/token"
        body = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": spec}
        try:
            answer = await self._client.post(path, body)
        except (NotFoundError, InvalidError, ForbiddenError) as error:
            raise ConfigError(f"no token of service account {account}: {error}") from error
        status = msgspec.json.decode(answer, type=_TokenRequest).status
        return status.token, status.expiration_timestamp

    async def _get(self, namespace: str, plural: str, name: str) -> bytes | None:
        try:
            path = paths.namespaced(f"{_CORE}/{plural}", namespace, name)
            return await self._client.get(path)
        except NotFoundError:
            return None


def _decoded(data: Mapping[str, str] | None) -> dict[str, bytes]:
    return {key: base64.b64decode(value) for key, value in (data or {}).items()}
