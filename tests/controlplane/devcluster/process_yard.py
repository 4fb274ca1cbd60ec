"""Create and watch pods on process nodes."""

import asyncio
import contextlib
import os
import re
import signal
import sys
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import msgspec

from devcluster.cluster import Cluster
from devcluster.credentials.roles import PROCESS_NODES_USER
from shared.kube import auth, paths
from shared.kube.client import KubeClient
from shared.kube.errors import ForbiddenError, NotFoundError
from tests.controlplane.rights import our_keys_policy
from tests.fakes.eventually import eventually

NODE = "process-0000"
PATIENCE_SECONDS = 60.0


def container(script: str, **fields: Any) -> dict[str, Any]:
    """A container that runs a shell script."""
    return {"name": "main", "image": "none", "command": ["/bin/sh", "-c", script]} | fields


def pod(name: str, *containers: dict[str, Any], **spec: Any) -> dict[str, Any]:
    """A pod that is bound to the first process node."""
    meta = spec.pop("metadata", {})
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "default"} | meta,
        "spec": {
            "nodeName": NODE,
            "restartPolicy": "Never",
            "terminationGracePeriodSeconds": 5,
            "containers": list(containers),
        }
        | spec,
    }


class ProcessYard:
    """A real API server with process nodes."""

    def __init__(self, client: KubeClient, directory: Path) -> None:
        self.client = client
        self.directory = directory

    async def create(self, manifest: dict[str, Any]) -> str:
        """Create a pod once its namespace's service account is there; return its name."""

        async def attempt() -> bool:
            try:
                await self.client.post(paths.pods("default"), manifest)
            except ForbiddenError:  # its service account is not there yet
                return False
            return True

        await eventually(attempt, PATIENCE_SECONDS)
        return str(manifest["metadata"]["name"])

    async def get(self, name: str) -> dict[str, Any]:
        """The pod as it is now."""
        body: dict[str, Any] = msgspec.json.decode(
            await self.client.get(paths.pod("default", name))
        )
        return body

    async def until(
        self, name: str, check: Callable[[dict[str, Any]], object], within: float = PATIENCE_SECONDS
    ) -> dict[str, Any]:
        """Wait until the pod fulfils ``check`` and return it."""
        seen: list[dict[str, Any]] = []

        async def ask() -> bool:
            seen.append(await self.get(name))
            assert check(seen[-1]), seen[-1]["status"]
            return True

        await eventually(ask, within, why=f"of pod {name}")
        return seen[-1]

    async def until_phase(self, name: str, phase: str) -> dict[str, Any]:
        """Wait until the pod is in ``phase`` and return it."""
        return await self.until(name, lambda one: one["status"].get("phase") == phase)

    async def finished(self, manifest: dict[str, Any]) -> dict[str, Any]:
        """Create a pod and return it when it has ended."""
        name = await self.create(manifest)
        return await self.until(name, lambda one: one["status"]["phase"] in {"Succeeded", "Failed"})

    async def delete(self, name: str, **options: Any) -> None:
        """Ask for the pod's deletion."""
        await self.client.delete(paths.pod("default", name), **options)

    async def until_gone(self, name: str, within: float = PATIENCE_SECONDS) -> float:
        """Wait until there is no such pod; return the seconds it took."""
        begun = time.monotonic()

        async def absent() -> bool:
            try:
                await self.get(name)
            except NotFoundError:
                return True
            return False

        await eventually(absent, within)
        return time.monotonic() - begun

    def log(self, name: str, container: str = "main", restart: int = 0) -> str:
        """The text that a container has written so far, without stamps."""
        found = list(self.directory.glob(f"*/logs/pods/default_{name}_*/{container}/{restart}.log"))
        lines = found[0].read_text().splitlines() if found else []
        return "\n".join(re.sub(r"^\S+ std\w+ [FP] ?", "", line) for line in lines)


@contextlib.asynccontextmanager
async def connected(cluster: Cluster, directory: Path) -> AsyncIterator[ProcessYard]:
    """Lend a yard over a cluster whose nodes run already."""
    async with KubeClient.connect(auth.load(cluster.kubeconfig)) as client:
        await our_keys_policy.lift(client)
        yield ProcessYard(client, directory)


@contextlib.asynccontextmanager
async def own_process(
    cluster: Cluster, directory: Path, *options: str, nodes: str = f"{NODE}:4:8Gi"
) -> AsyncIterator[ProcessYard]:
    """Start a node process with options of the test's choice and lend a yard over it."""
    kubeconfig = cluster.kubeconfig_for(PROCESS_NODES_USER)
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "devcluster.process_node", "--kubeconfig", str(kubeconfig)),
        *("--nodes", nodes, "--dir", str(directory), *options),
        env={**os.environ},
    )
    try:
        async with connected(cluster, directory) as yard:
            yield yard
    finally:
        if process.returncode is None:
            process.send_signal(signal.SIGTERM)
        await process.wait()
