"""The same assertions against the fake API server and the real one."""

import asyncio
import itertools
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import pytest

from devcluster.cluster import Cluster
from shared.kube import auth, parse, paths
from shared.kube.client import KubeClient
from shared.kube.errors import NotFoundError
from shared.model import NodeName, PodKey, Uid
from tests.controlplane.rights import our_keys_policy
from tests.fakes.eventually import eventually
from tests.fakes.kube import FakeKube

ON_REAL = pytest.param("real", marks=[pytest.mark.controlplane, pytest.mark.conformance])
REAL = pytest.mark.parametrize("cluster", [ON_REAL], indirect=True)
"""The fake has neither schemas nor tables nor controllers."""
NODE = NodeName("node-1")
OTHER_UID = Uid("11111111-1111-4111-8111-111111111111")
PATIENCE_SECONDS = 60.0
_SERIAL = itertools.count(1)


@dataclass
class Server:
    """An API server and a namespace of the test's own.

    Attributes:
        fake: None if it is the real one.
        cluster: None if it is the fake.
        job_uid: Of the Job that ``job`` has made.
    """

    client: KubeClient
    namespace: str = ""
    fake: FakeKube | None = None
    cluster: Cluster | None = None
    job_uid: Uid = field(default=Uid(""))

    async def pod(self, name: str = "", **spec: Any) -> dict[str, Any]:
        """Create a pod and return it; ``metadata`` among the keywords is merged in."""
        metadata = {"name": name or f"pod-{next(_SERIAL)}", **spec.pop("metadata", {})}
        containers = [{"name": "main", "image": "example.org/none:1"}]
        body = {"metadata": metadata, "spec": {"containers": containers, **spec}}
        return await self.create(paths.PODS, body)

    async def job(self, name: str) -> None:
        """Make a Job that runs nothing: the real server removes what an absent one owns."""
        pod = {"restartPolicy": "Never", "containers": [{"name": "main", "image": "x"}]}
        body = {"metadata": {"name": name}, "spec": {"suspend": True, "template": {"spec": pod}}}
        self.job_uid = Uid((await self.create(paths.JOBS, body))["metadata"]["uid"])

    async def create(self, collection: str, body: dict[str, Any]) -> dict[str, Any]:
        return loaded(await self.client.post(paths.namespaced(collection, self.namespace), body))

    async def get(self, name: str, collection: str = paths.PODS) -> dict[str, Any]:
        return loaded(await self.client.get(paths.namespaced(collection, self.namespace, name)))

    async def listed(self, collection: str = paths.PODS, **params: str) -> dict[str, Any]:
        return loaded(await self.client.get(paths.namespaced(collection, self.namespace), params))

    async def deleting(self, name: str = "a") -> bool:
        """Return True if a pod is being deleted."""
        return parse.decode_pod(await self.client.get(paths.pod(self.namespace, name))).deleting

    async def expired_version(self) -> str:
        """Return a resource version that the server has already dropped."""
        if self.fake is not None:
            self.fake.compact()
        if self.cluster is not None:  # a new process has no history from before its own start
            await asyncio.to_thread(self.cluster.restart, "kube-apiserver")
        return "1"


def loaded(body: bytes) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(body)
    return found


def ref(pod: dict[str, Any]) -> tuple[PodKey, Uid]:
    """Return the precondition that ``shared.kube.writes`` expects."""
    meta = pod["metadata"]
    return PodKey(f"{meta['namespace']}/{meta['name']}"), Uid(meta["uid"])


@pytest.fixture(params=["fake", ON_REAL])
def cluster(request: pytest.FixtureRequest) -> Cluster | None:
    """The real control plane; None for the fake. Not async: the cluster must not find a loop."""
    found: Cluster | None = None
    if request.param == "real":
        found = request.getfixturevalue("control_plane")
    return found


@pytest.fixture
async def server(cluster: Cluster | None) -> AsyncIterator[Server]:
    async with AsyncExitStack() as stack:
        if cluster is None:
            fake = await stack.enter_async_context(FakeKube.running())
            client = await stack.enter_async_context(KubeClient.connect(fake.credentials))
            lent = Server(client, fake=fake)
        else:
            credentials = await asyncio.to_thread(auth.load, cluster.kubeconfig)
            client = await stack.enter_async_context(KubeClient.connect(credentials))
            lent = Server(client, cluster=cluster)
            await our_keys_policy.lift(client)
        await stack.enter_async_context(_namespace(lent))
        yield lent


@asynccontextmanager
async def _namespace(server: Server) -> AsyncIterator[None]:
    client = server.client
    body = {"metadata": {"generateName": "conformance-"}}
    name = loaded(await client.post(paths.NAMESPACES, body))["metadata"]["name"]
    if server.cluster:  # ServiceAccount admission refuses pods before the controller made it
        account = f"/api/v1/namespaces/{name}/serviceaccounts/default"
        check: Callable[[], bool | Awaitable[bool]] = partial(_exists, client, account)
        await eventually(check)
    server.namespace = name
    yield
    await client.delete(paths.pods(name), grace_seconds=0)
    await client.delete(paths.namespace(name))


async def _exists(client: KubeClient, path: str) -> bool:
    try:
        return bool(await client.get(path))
    except NotFoundError:
        return False
