"""The extender on a real control plane with kwok's nodes, for ``python -m bench page --kwok``.

Every node is full, and gangs wait. While pages are measured a gang is created every second, named
after the moment, and the one before it is deleted.
"""

import asyncio
import contextlib
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import psutil

from bench.binding import create
from bench.page_server import STAMPED
from bench.shapes import Kind, Shape
from bench.waiting import fillers
from devcluster.cluster import Cluster
from devcluster.options import ClusterOptions, KwokNodes
from shared.kube import auth, paths
from shared.kube.client import KubeClient

QUIET: Final = ("kwok", "kube-controller-manager")
"""Stopped once the nodes are there: their heartbeats would be most of the load."""
NAMESPACE: Final = "default"
GANG: Final = 2
COMMANDS: Final = (("jobs",), ("queue",), ("nodes",))
"""Of the command line; each is timed."""


@dataclass(frozen=True)
class Served:
    """A running cluster.

    Attributes:
        process: The extender's.
        url: Of its read API.
        kubeconfig: An administrator's.
    """

    process: psutil.Process
    url: str
    kubeconfig: Path

    async def change(self) -> None:
        """Create a gang every second and delete the one before, until cancelled."""
        async with KubeClient.connect(auth.load(self.kubeconfig)) as client:
            before: list[dict[str, Any]] = []
            while True:
                name = f"{STAMPED}{time.monotonic_ns() // 10**6}"
                made = [
                    {**pod, "metadata": {**pod["metadata"], "name": f"{name}-{index}"}}
                    for index, pod in enumerate(Shape(1, GANG).manifests(Kind.GATED, name))
                ]
                await create(client, made)
                for pod in before:
                    with contextlib.suppress(KeyError):
                        await client.delete(paths.pod(NAMESPACE, pod["metadata"]["name"]))
                before = made
                await asyncio.sleep(1.0)

    def timed(self) -> dict[str, float]:
        """Return seconds that commands of the command line take, by their words."""
        taken = {}
        for words in COMMANDS:
            begun = time.monotonic()
            command = (sys.executable, "-m", "cli", *words, "--url", self.url)
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL)  # noqa: S603 - our own
            taken[" ".join(words)] = round(time.monotonic() - begun, 2)
        return taken


@contextlib.contextmanager
def served(nodes: int, waiting: int) -> Iterator[Served]:
    """Run a cluster of full nodes with waiting gangs."""
    kwok = KwokNodes(nodes)
    with tempfile.TemporaryDirectory(prefix="shuntyard-bench-") as directory:
        cluster = Cluster.up(Path(directory), ClusterOptions(kwok=kwok))
        try:
            for component in QUIET:
                cluster.stop(component)
            asyncio.run(_fill(cluster.kubeconfig, kwok, waiting))
            cluster.start_shuntyard()
            process = psutil.Process(cluster.pid("extender"))
            yield Served(process, cluster.extender_url, cluster.kubeconfig)
        finally:
            cluster.down()


async def _fill(kubeconfig: Path, kwok: KwokNodes, waiting: int) -> None:
    async with KubeClient.connect(auth.load(kubeconfig)) as client:
        await create(client, list(fillers(kwok)))
        await create(client, list(Shape(waiting, GANG).manifests(Kind.GATED, "wait")))
