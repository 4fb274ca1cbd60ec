"""Checks that a pod slows down with the number of pods on its node; all results rest on that."""

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
"""Compared steps of each pod, without the first ones."""
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
        """Duration of a step beside another pod divided by that alone."""
        return self.together_seconds / self.alone_seconds

    @property
    def good(self) -> bool:
        """True if two pods share a node as expected."""
        return abs(self.ratio - WANTED) <= TOLERANCE


def calibrate(directory: Path) -> Calibration:
    """Measure on a separate cluster: one pod on one node and two on another, at the same time.

    Raises:
        TimeoutError: The pods did not finish in time.
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
            while not all(len(file.steps()) > LEFT_OUT + STEPS for file in files):  # noqa: ASYNC110 - it waits for other programs
                await asyncio.sleep(LOOK_SECONDS)
    alone, *together = (_step_seconds(file) for file in files)
    return Calibration(alone, statistics.mean(together))


def _pod(name: str, node: str, directory: Path) -> dict[str, Any]:
    """Return a pod that is bound to its node, and trains longer than the measurement."""
    training = Training(name, steps=10_000, step_cpu_seconds=STEP_CPU_SECONDS, movable=False)
    template = training.template(directory)
    spec = {**template["spec"], "nodeName": node, "schedulerName": "none", "schedulingGates": []}
    metadata = {**template["metadata"], "name": name}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


def _step_seconds(files: JobFiles) -> float:
    at: Sequence[float] = [step.at for step in files.steps()][LEFT_OUT : LEFT_OUT + STEPS]
    return (at[-1] - at[0]) / (len(at) - 1)
