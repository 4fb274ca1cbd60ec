"""Does a pod's speed depend on how many pods its node has? Everything else rests on that."""

import asyncio
import statistics
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from msgspec import Struct

from bench.specon import testbed
from bench.specon.files import JobFiles
from bench.specon.jobs import Training, program
from bench.specon.scenario import STEP_CPU_SECONDS
from devcluster.cluster import Cluster
from shared.kube import auth, paths
from shared.kube.client import KubeClient

WANTED: Final = 2.0
TOLERANCE: Final = 0.2
STEPS: Final = 40
"""Steps of each pod that are compared, the first ones left out."""
LEFT_OUT: Final = 10
LOOK_SECONDS: Final = 0.2
MOST_SECONDS: Final = 120.0
_NAMESPACE: Final = "default"


class Calibration(Struct, frozen=True):
    """Median seconds of a step, alone on a node and as one of two."""

    alone_seconds: float
    together_seconds: float

    @property
    def ratio(self) -> float:
        """How many times as long a step takes beside another pod."""
        return self.together_seconds / self.alone_seconds

    @property
    def good(self) -> bool:
        """Whether two pods share a node as they should."""
        return abs(self.ratio - WANTED) <= TOLERANCE


def calibrate(directory: Path) -> Calibration:
    """Measure on a cluster of its own: one pod on one node, two on another, at one time.

    Raises:
        TimeoutError: The pods were not done in time.
    """
    cluster = testbed.bring_up(directory)
    try:
        return asyncio.run(_measured(cluster))
    finally:
        cluster.down()


async def _measured(cluster: Cluster) -> Calibration:
    first, second, *_ = testbed.NODES.names()
    places = {"alone": first, "one-of-two": second, "two-of-two": second}
    volume = cluster.layout.volume / _NAMESPACE
    async with KubeClient.connect(auth.load(cluster.kubeconfig)) as client:
        await client.post(paths.namespaced("/api/v1/configmaps", _NAMESPACE), program())
        for name, node in places.items():
            await client.post(paths.pods(_NAMESPACE), _pod(name, node, volume / name))
        files = [JobFiles(volume / name) for name in places]
        async with asyncio.timeout(MOST_SECONDS):
            while not all(len(one.steps()) > LEFT_OUT + STEPS for one in files):  # noqa: ASYNC110 - it waits for other programs
                await asyncio.sleep(LOOK_SECONDS)
    alone, *together = (_step_seconds(one) for one in files)
    return Calibration(alone, statistics.mean(together))


def _pod(name: str, node: str, directory: Path) -> dict[str, Any]:
    """Return a pod that is on its node already, and trains for longer than is looked at."""
    training = Training(name, steps=10_000, step_cpu_seconds=STEP_CPU_SECONDS, movable=False)
    template = training.template(directory)
    spec = {**template["spec"], "nodeName": node, "schedulerName": "none", "schedulingGates": []}
    metadata = {**template["metadata"], "name": name}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


def _step_seconds(files: JobFiles) -> float:
    at: Sequence[float] = [step.at for step in files.steps()][LEFT_OUT : LEFT_OUT + STEPS]
    return (at[-1] - at[0]) / (len(at) - 1)
