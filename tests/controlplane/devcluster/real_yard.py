"""Create and watch pods on real nodes."""

import asyncio
import contextlib
import json
import ssl
from collections.abc import AsyncIterator, Iterator
from typing import Any

import aiohttp
import pytest

from devcluster.cluster import Cluster
from devcluster.options import ClusterOptions
from devcluster.real_nodes import conditions, images
from shared.kube import auth, paths
from shared.kube.client import KubeClient
from shared.kube.errors import ApiError
from tests.controlplane.devcluster.process_yard import ProcessYard
from tests.controlplane.rights import our_keys_policy
from tests.fakes.eventually import eventually

FIRST, SECOND = "real-0000", "real-0001"
PATIENCE_SECONDS = 60.0
_EXEC_PROTOCOL = "v4.channel.k8s.io"
_OUTPUT, _STATUS = 1, 3  # channels of that protocol


@contextlib.contextmanager
def real_cluster(
    tmp_path_factory: pytest.TempPathFactory, options: ClusterOptions
) -> Iterator[Cluster]:
    """A cluster with real nodes; its tests are skipped where this machine can have none."""
    if reasons := conditions.why_not():
        pytest.skip(f"no real nodes here: {'; '.join(reasons)}")
    cluster = Cluster.up(tmp_path_factory.mktemp("real"), options)
    try:
        yield cluster
    finally:
        cluster.down()


def container(script: str, **fields: Any) -> dict[str, Any]:
    """A container that runs a shell script by busybox."""
    plain = {"name": "main", "image": images.BUSYBOX, "imagePullPolicy": "Never"}
    return {**plain, "command": ["/bin/sh", "-c", script], **fields}


def python(script: str, **fields: Any) -> dict[str, Any]:
    """A container that runs a Python script in the image with our packages."""
    return container("", image=images.SHUNTYARD, command=["python3", "-c", script], **fields)


def pod(name: str, *containers: dict[str, Any], node: str = FIRST, **spec: Any) -> dict[str, Any]:
    """A pod that is bound to a node."""
    common = {"nodeName": node, "restartPolicy": "Never", "terminationGracePeriodSeconds": 5}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {**common, "containers": list(containers), **spec},
    }


class RealYard(ProcessYard):
    """A real API server with real nodes."""

    def __init__(self, cluster: Cluster, client: KubeClient, credentials: auth.Credentials) -> None:
        super().__init__(client, cluster.layout.real_nodes)
        self.cluster = cluster
        self._credentials = credentials

    async def log_of(self, name: str) -> str:
        """Return what its container has written, as the kubelet reports it to the API server."""
        return (await self.client.get(paths.pod("default", name) + "/log")).decode()

    async def until_log(self, name: str, text: str) -> str:
        """Wait until its container has written the text; return everything it has written."""

        async def written() -> str:
            try:
                log = await self.log_of(name)
            except ApiError as error:  # the container is being created
                raise AssertionError(str(error)) from error
            assert text in log, log
            return log

        return await eventually(written, PATIENCE_SECONDS, f"of pod {name}")

    async def execute(
        self, name: str, *command: str, namespace: str = "default"
    ) -> tuple[int, str]:
        """Run a command in a pod's container; returns exit code and output.

        Source:
            k8s.io/apimachinery ``pkg/util/remotecommand``: the exit code is the cause ``ExitCode``
            of the Status that ends the stream.
        """
        url = f"{self._credentials.server}{paths.pod(namespace, name)}/exec"
        params = [("stdout", "1"), *(("command", part) for part in command)]
        assert isinstance(self._credentials.ssl, ssl.SSLContext)
        output, status = "", b"{}"
        async with (
            aiohttp.ClientSession() as session,
            session.ws_connect(
                url, params=params, ssl=self._credentials.ssl, protocols=(_EXEC_PROTOCOL,)
            ) as socket,
        ):
            async for message in socket:
                channel, data = message.data[0], message.data[1:]
                output += data.decode() if channel == _OUTPUT else ""
                status = data if channel == _STATUS else status
        causes = json.loads(status).get("details", {}).get("causes", ())
        codes = [int(one["message"]) for one in causes if one["reason"] == "ExitCode"]
        return (codes or [0])[0], output

    async def until_executes(self, name: str) -> None:
        """Wait until a command can run in a pod: until its kubelet has the pod again."""

        async def does() -> bool:
            try:
                return await self.execute(name, "true") == (0, "")
            except aiohttp.WSServerHandshakeError as error:
                raise AssertionError(str(error)) from error

        await eventually(does, PATIENCE_SECONDS, f"of pod {name}")

    async def until_reported(self, *names: str) -> list[dict[str, Any]]:
        """Wait until the extender has reports of the nodes' agents; return its entries of them."""

        async def reported() -> list[dict[str, Any]]:
            url = f"{self.cluster.extender_url}/v1/nodes"
            async with aiohttp.ClientSession() as session, session.get(url) as response:
                entries = {one["name"]: one["agent"] for one in (await response.json())["entries"]}
            assert all(entries.get(name) for name in names), entries
            return [entries[name] for name in names]

        return await eventually(reported, PATIENCE_SECONDS, f"agents of {names}")

    async def until_node(self, name: str, *, ready: bool) -> None:
        """Wait until the control plane shows the node as Ready, or as not Ready."""

        async def so() -> bool:
            node = json.loads(await self.client.get(paths.node(name)))
            (now,) = (c["status"] for c in node["status"]["conditions"] if c["type"] == "Ready")
            return (now == "True") is ready

        await eventually(so, PATIENCE_SECONDS, f"node {name} ready: {ready}")

    async def remove(self, *names: str) -> None:
        """Delete pods and wait until they are gone."""
        for name in names:
            await self.delete(name)
        for name in names:
            await self.until_gone(name)


@contextlib.asynccontextmanager
async def opened(cluster: Cluster) -> AsyncIterator[RealYard]:
    """Yield a yard over a cluster with real nodes."""
    credentials = await asyncio.to_thread(auth.load, cluster.kubeconfig)
    async with KubeClient.connect(credentials) as client:
        await our_keys_policy.lift(client)
        yield RealYard(cluster, client, credentials)
