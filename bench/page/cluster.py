"""The extender on a real control plane with kwok's nodes, for ``python -m bench page --kwok``.

Every node is full, and gangs wait. While pages are measured a gang is created every second, named
after the moment, and deleted once it was shown or has waited for ``KEPT_SECONDS``.
"""

import asyncio
import contextlib
import subprocess
import sys
import tempfile
import time
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import psutil

from bench.gang.binding import create
from bench.gang.shapes import NAMESPACE, Kind, Shape
from bench.page.server import STAMPED
from bench.waiting import fillers
from devcluster.cluster import Cluster
from devcluster.options import ClusterOptions, KwokNodes
from shared.kube import auth, paths
from shared.kube.client import KubeClient

QUIET: Final = ("kwok", "kube-controller-manager")
"""Stopped once the nodes are there: their heartbeats would be most of the load."""
GANG: Final = 2
KEPT_SECONDS: Final = 30.0
"""Longer than the stream needs to show a change."""
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
        """Create a gang every second and delete it after ``KEPT_SECONDS``, until cancelled."""
        made = deque[list[dict[str, Any]]]()
        async with KubeClient.connect(auth.load(self.kubeconfig)) as client:
            while True:
                name = f"{STAMPED}{time.monotonic_ns() // 10**6}"
                made.append(list(Shape(1, GANG).manifests(Kind.GATED, name)))
                await create(client, made[-1])
                for pod in made.popleft() if len(made) > KEPT_SECONDS else ():
                    await client.delete(paths.pod(NAMESPACE, pod["metadata"]["name"]))
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
