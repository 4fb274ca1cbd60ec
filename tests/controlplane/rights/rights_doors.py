"""Steps that use the rights of the listeners and of leadership."""

import asyncio
import json
import urllib.error
import urllib.request
from contextlib import suppress
from functools import partial
from typing import Final

from devcluster import api
from devcluster.credentials import bootstrap
from devcluster.rights import calls
from shared.kube import auth, paths
from shared.kube.client import KubeClient
from shared.kube.errors import ApiError, ForbiddenError, NotFoundError
from shared.readapi.answer import VIEWERS_ACCOUNT, VIEWERS_AUDIENCE
from tests.controlplane.yard import Yard
from tests.fakes.eventually import eventually

PATIENCE_SECONDS: Final = 240.0
SYSTEM: Final = "shuntyard-system"
ROLE_BINDINGS: Final = f"/apis/rbac.authorization.k8s.io/v1/namespaces/{SYSTEM}/rolebindings"
AUTHORITY: Final = paths.namespaced(paths.CONFIG_MAPS, "shuntyard-agents", "shuntyard-ca")
SLICE: Final = paths.namespaced(
    "/apis/discovery.k8s.io/v1/endpointslices", SYSTEM, "shuntyard-scheduler"
)


async def views(yard: Yard) -> None:
    """A user with the viewer role reads, under both names of the Service."""
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "shuntyard-viewer"}
    body = {
        "metadata": {"generateName": "viewers-"},
        "roleRef": role,
        "subjects": [{"apiGroup": role["apiGroup"], "kind": "Group", "name": calls.VIEWERS}],
    }
    await yard.client.post(ROLE_BINDINGS, body)
    kubeconfig = await asyncio.to_thread(yard.cluster.kubeconfig_for, "viewer", [calls.VIEWERS])
    async with KubeClient.connect(await asyncio.to_thread(auth.load, kubeconfig)) as client:
        await eventually(partial(_is_given_a_token, client), PATIENCE_SECONDS)
        for name in ("http:shuntyard-extender:api", "shuntyard-extender:api"):
            service = paths.namespaced("/api/v1/services", SYSTEM, name, "proxy")
            await eventually(partial(_answers, client, f"{service}/v1/queue"), PATIENCE_SECONDS)
            with suppress(ApiError):  # an empty question is no question, but it was let in
                await client.post(f"{service}/v1/what-if", {})


async def _is_given_a_token(client: KubeClient) -> bool:
    spec = {"audiences": [VIEWERS_AUDIENCE], "expirationSeconds": 600}
    with suppress(ForbiddenError):  # the binding is new
        path = paths.service_account_token(SYSTEM, VIEWERS_ACCOUNT)
        return bool(await client.post(path, {"spec": spec}))
    return False


async def _answers(client: KubeClient, path: str) -> bool:
    with suppress(ForbiddenError, NotFoundError):  # the binding is new; so is the Service
        return bool(await client.get(path))
    return False


async def shows_a_token(yard: Yard) -> None:
    """A direct caller's token is reviewed, and its rights to read are checked."""
    token = await api.request_token(yard.client, yard.team, "default", 600)
    url = f"{yard.cluster.extender_url}/v1/queue"
    head = {"Authorization": f"Bearer {token}"}
    assert json.loads(await asyncio.to_thread(_read, url, head))["entries"] == []


async def keeps_certificates(yard: Yard) -> None:
    """The Secret was empty: new certificates are stored, and ca.crt is published for agents."""
    await eventually(partial(_has_data, yard, AUTHORITY), PATIENCE_SECONDS, "ca.crt is published")


async def _has_data(yard: Yard, path: str) -> bool:
    return bool(json.loads(await yard.client.get(path)).get("data"))


async def stands_by(yard: Yard) -> None:
    """The Lease is not renewed any more: reads are forwarded to its holder, if there is one."""
    await asyncio.to_thread(yard.cluster.kill, "kube-scheduler")
    await eventually(partial(_acts, yard, acting=False), PATIENCE_SECONDS, "it does not act")
    await asyncio.to_thread(yard.cluster.start, "kube-scheduler")
    await eventually(partial(_acts, yard, acting=True), PATIENCE_SECONDS, "it acts")


async def _acts(yard: Yard, *, acting: bool) -> bool:
    text = await asyncio.to_thread(_read, f"{yard.cluster.extender_url}/v1/queue", {})
    return bool(json.loads(text)["acting"]) is acting


async def leads(yard: Yard) -> None:
    """With its own Lease it takes that Lease, and leads a kube-scheduler elsewhere to itself."""
    names = ("lease.yaml", "service.yaml")
    found = [one for n in names for one in bootstrap.deploy_manifests(f"overlays/attached/{n}")]
    await api.apply(yard.client, found)
    await eventually(partial(_is_led, yard), PATIENCE_SECONDS, "its address is in the slice")


async def _is_led(yard: Yard) -> bool:
    return bool(json.loads(await yard.client.get(SLICE)).get("endpoints"))


def _read(url: str, headers: dict[str, str]) -> bytes:
    request = urllib.request.Request(url, headers=headers)
    with urllib.request.urlopen(request, timeout=10) as answer:
        return bytes(answer.read())
