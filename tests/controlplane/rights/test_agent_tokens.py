"""Tokens of the real API server, bound to real pods: which the agents' listener accepts."""

import asyncio
import base64
import contextlib
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import aiohttp
import msgspec
import pytest
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature

from devcluster.cluster import Cluster
from devcluster.shuntyard import extender_process
from shared.kube import auth, paths, writes
from shared.kube.client import KubeClient
from shared.kube.errors import AlreadyExistsError, NotFoundError
from shared.model import PodKey, Uid
from shared.readapi import api
from shared.system_clock import SystemClock
from tests.component.agents import AUDIENCE, Trust, heartbeat
from tests.component.shell import Extender, extender
from tests.fakes.eventually import eventually

pytestmark = [
    pytest.mark.controlplane,
    # aiohttp leaves connections by TLS to the loop, which ends with a test before they are closed
    pytest.mark.filterwarnings(
        "ignore:Exception ignored in. <(socket|function _SelectorTransport)"
        ":pytest.PytestUnraisableExceptionWarning"
    ),
]

NAMESPACE, ACCOUNT = "shuntyard-agents", "shuntyard-agent"
ACCOUNTS = "/api/v1/serviceaccounts"
NODES = ("node-a", "node-b")


@dataclass
class Gate:
    """The listener, and an administrator that creates pods and tokens."""

    client: KubeClient
    session: aiohttp.ClientSession
    running: Extender
    signing_key: Path

    async def pod(self, node: str, account: str = ACCOUNT) -> dict[str, Any]:
        spec = {
            "nodeName": node,
            "serviceAccountName": account,
            "containers": [{"name": "agent", "image": "example.org/none:1"}],
            "tolerations": [{"operator": "Exists"}],
        }
        body = {"metadata": {"generateName": "agent-"}, "spec": spec}
        return _loaded(await self.client.post(paths.pods(NAMESPACE), body))

    async def token(self, pod: dict[str, Any] | None, **changes: Any) -> str:
        """Request a token as the kubelet does for a projected volume."""
        account = changes.pop("account", ACCOUNT)
        spec = {"audiences": [AUDIENCE], "expirationSeconds": 600, **changes}
        if pod is not None:
            name, uid = pod["metadata"]["name"], pod["metadata"]["uid"]
            reference = {"apiVersion": "v1", "kind": "Pod", "name": name, "uid": uid}
            spec["boundObjectRef"] = reference
        path = paths.namespaced(ACCOUNTS, NAMESPACE, account, "token")
        answer = _loaded(await self.client.post(path, {"spec": spec}))
        return str(answer["status"]["token"])

    async def beat(self, token: str | None, node: str = NODES[0]) -> tuple[int, str]:
        host, port = self.running.others[1]
        headers = {} if token is None else {"Authorization": f"Bearer {token}"}
        url = f"https://{host}:{port}/v1/heartbeats"
        async with self.session.post(url, json=heartbeat(node), headers=headers) as response:
            return response.status, await response.text()

    async def reported(self) -> set[str]:
        """Return the nodes with a report of their agent."""
        host, port = self.running.others[0]
        async with self.session.get(f"http://{host}:{port}/v1/nodes") as response:
            found = msgspec.json.decode(await response.read(), type=api.NodesResponse)
        return {entry.name for entry in found.entries if entry.agent}

    def signed_anew(self, token: str, **claims: Any) -> str:
        """Return the token with other claims, signed with the cluster's own key."""
        head, body, _ = token.split(".")
        changed = {**json.loads(base64.urlsafe_b64decode(body + "==")), **claims}
        text = f"{head}.{_part(json.dumps(changed).encode())}"
        key = serialization.load_pem_private_key(self.signing_key.read_bytes(), None)
        assert isinstance(key, ec.EllipticCurvePrivateKey)
        numbers = decode_dss_signature(key.sign(text.encode(), ec.ECDSA(hashes.SHA256())))
        return f"{text}.{_part(b''.join(number.to_bytes(32) for number in numbers))}"


@pytest.fixture(scope="module")
def trust(tmp_path_factory: pytest.TempPathFactory) -> Trust:
    return Trust.create(tmp_path_factory.mktemp("pki"))


@pytest.fixture
def extender_kubeconfig(clean_cluster: Cluster) -> Path:
    """The extender's own account: it needs the right to review tokens."""
    return extender_process.write_kubeconfig(clean_cluster.layout, clean_cluster.server)


@pytest.fixture
async def gate(
    clean_cluster: Cluster, extender_kubeconfig: Path, trust: Trust
) -> AsyncIterator[Gate]:
    async with AsyncExitStack() as stack:
        stack.push_async_callback(asyncio.sleep, 0.25)  # aiohttp's advice, for the same reason
        admin = KubeClient.connect(auth.load(clean_cluster.kubeconfig))
        client = await stack.enter_async_context(admin)
        await _prepare(client)
        server = SimpleNamespace(credentials=auth.load(extender_kubeconfig))
        made = extender(server, agents=trust.settings)  # type: ignore[arg-type] - its credentials are all that is asked for
        running = await stack.enter_async_context(made)
        connector = aiohttp.TCPConnector(ssl=trust.context())
        session = await stack.enter_async_context(aiohttp.ClientSession(connector=connector))
        found = Gate(client, session, running, clean_cluster.layout.signing.key)
        await eventually(lambda: _knows(found))
        yield found


async def _prepare(client: KubeClient) -> None:
    for name in NODES:
        await client.post(paths.NODES, {"metadata": {"name": name}})
    accounts = paths.namespaced(ACCOUNTS, NAMESPACE)
    wanted = {paths.NAMESPACES: [NAMESPACE], accounts: [ACCOUNT, "trainer"]}
    for path, names in wanted.items():
        for name in names:
            with contextlib.suppress(AlreadyExistsError):  # an emptied cluster keeps the agents'
                await client.post(path, {"metadata": {"name": name}})


async def _knows(gate: Gate) -> bool:
    host, port = gate.running.others[0]
    async with gate.session.get(f"http://{host}:{port}/readyz") as response:
        return response.status == 200


async def test_an_agents_token_is_valid_for_the_node_of_its_pod(gate: Gate) -> None:
    for node in NODES:
        status, text = await gate.beat(await gate.token(await gate.pod(node)), node)
        assert status == 200, text
    assert await gate.reported() == set(NODES)


async def _none(_gate: Gate) -> str | None:
    return None


async def _garbage(_gate: Gate) -> str:
    return "garbage"


async def _tampered(gate: Gate) -> str:
    head, body, signature = (await gate.token(await gate.pod(NODES[0]))).split(".")
    return f"{head}.{body}.{signature[::-1]}"


async def _other_audience(gate: Gate) -> str:
    return await gate.token(await gate.pod(NODES[0]), audiences=["another-service"])


async def _api_servers(gate: Gate) -> str:
    return await gate.token(await gate.pod(NODES[0]), audiences=[])


async def _other_account(gate: Gate) -> str:
    return await gate.token(await gate.pod(NODES[0], "trainer"), account="trainer")


async def _no_pod(gate: Gate) -> str:
    return await gate.token(None)


async def _other_node(gate: Gate) -> str:
    return await gate.token(await gate.pod(NODES[1]))


async def _expired(gate: Gate) -> str:
    token = await gate.token(await gate.pod(NODES[0]))
    hour_ago = int(SystemClock().now()) - 3600
    return gate.signed_anew(token, exp=hour_ago, iat=hour_ago - 600, nbf=hour_ago - 600)


REFUSED: dict[str, tuple[Callable[[Gate], Awaitable[str | None]], int, str]] = {
    "none": (_none, 401, "Authorization: Bearer"),
    "garbage": (_garbage, 401, "invalid bearer token"),
    "with a changed signature": (_tampered, 401, "not accepted"),
    "for another audience": (_other_audience, 401, "audience"),
    "for the API server": (_api_servers, 401, "audience"),
    "expired": (_expired, 401, "expired"),
    "of another service account": (_other_account, 403, "trainer is not an agent's account"),
    "of no pod": (_no_pod, 403, "not bound to a pod on a node"),
    "of another node's pod": (_other_node, 403, f"of a pod on {NODES[1]}, not on {NODES[0]}"),
}


@pytest.mark.parametrize(("make", "status", "text"), REFUSED.values(), ids=REFUSED)
async def test_a_token_is_refused_if_it_is(
    gate: Gate, make: Callable[[Gate], Awaitable[str | None]], status: int, text: str
) -> None:
    answer = await gate.beat(await make(gate))
    assert (answer[0], text in answer[1]) == (status, True), answer
    assert await gate.reported() == set()


async def test_a_token_signed_again_by_the_key_is_accepted(gate: Gate) -> None:
    """The expired token is therefore refused for its age alone."""
    token = await gate.token(await gate.pod(NODES[0]))
    soon = int(SystemClock().now()) + 600
    assert (await gate.beat(gate.signed_anew(token, exp=soon)))[0] == 200


async def test_the_token_of_a_deleted_pod_is_refused_at_the_next_review(gate: Gate) -> None:
    pod = await gate.pod(NODES[0])
    token = await gate.token(pod)
    key = PodKey(f"{NAMESPACE}/{pod['metadata']['name']}")
    await writes.delete_pod(gate.client, key, Uid(pod["metadata"]["uid"]), grace_seconds=0)

    async def gone() -> bool:
        try:
            await gate.client.get(paths.pod(*key.split("/")))
        except NotFoundError:
            return True
        return False

    await eventually(gone)

    async def refused() -> bool:
        """The API server itself caches verdicts for seconds."""
        other = gate.signed_anew(token, jti=str(SystemClock().monotonic()))
        return (await gate.beat(other))[0] == 401

    await eventually(refused)


def _loaded(body: bytes) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(body)
    return found


def _part(content: bytes) -> str:
    return base64.urlsafe_b64encode(content).decode().rstrip("=")
