"""Training jobs in containers of real nodes; their files are on a claimed volume."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from typing import Any, ClassVar, Final, TypeVar

from bench.specon.jobs import Manifest, Training
from devcluster import api
from devcluster.cluster import Cluster
from devcluster.real_nodes import images
from devcluster.real_nodes.agents import shared_volume
from devcluster.shuntyard.extender_process import merged
from shared.kube import auth
from shared.kube.client import KubeClient
from tests.controlplane import training_yard
from tests.controlplane.devcluster.real_yard import FIRST, SECOND
from tests.controlplane.training_yard import PATIENCE_SECONDS, TrainingYard, readied
from tests.controlplane.watching import History
from tests.fakes.eventually import eventually

NODES: Final = (FIRST, SECOND)
CLAIM: Final = "training"
LIMIT_CORES: Final = 0.2
"""CPU limit of every container: the nodes share this machine, and a step must take its time."""

_SLOWER: Final = {"hold_seconds": 25, "recreate_seconds": 60, "resume_seconds": 30}
"""A node takes seconds to end a container and to start one."""

SETTINGS: Final = merged(training_yard.SETTINGS, {"migration": _SLOWER})
AGENT_SETTINGS: Final[Mapping[str, Any]] = {
    name: section for name, section in training_yard.AGENT_SETTINGS.items() if name != "sampling"
} | {"sampling": {"interval_seconds": 1}}
"""The nodes report their cores themselves."""


def container_of(pod: Manifest, image: str) -> None:
    """Let a pod's only container be a real one, held to `LIMIT_CORES`."""
    (container,) = pod["containers"]
    container |= {"image": image, "imagePullPolicy": "Never"}
    container["resources"]["limits"] = {"cpu": str(LIMIT_CORES)}


@dataclass
class RealTrainingYard(TrainingYard):
    """A running cluster of real nodes whose agents watch over training jobs."""

    REPORT_SECONDS: ClassVar[float] = PATIENCE_SECONDS

    def neighbour(self, node: str) -> Manifest:
        """Return a pod that uses all the CPU it is allowed, and reports no progress."""
        made = training_yard.neighbour(node)
        container_of(made["spec"], images.SHUNTYARD)
        return made

    def job(self, training: Training) -> Manifest:
        """Return a training as a Job of a real container, its files on the claimed volume."""
        made = training.job(self.cluster.layout.volume)
        pod = made["spec"]["template"]["spec"]
        container_of(pod, images.SHUNTYARD)
        claim = {"name": "job", "persistentVolumeClaim": {"claimName": CLAIM}}
        pod["volumes"] = [claim if v["name"] == "job" else v for v in pod["volumes"]]
        for mount in pod["containers"][0]["volumeMounts"]:
            if mount["name"] == "job":
                mount["subPath"] = training.name
        return made

    async def until_agents_report(self) -> None:
        """Wait until every node is Ready and its agent reports all values."""

        async def reported() -> bool:
            entries = await self.node_entries()
            assert all(entries[name].ready for name in NODES), entries
            agents = [entries[name].agent for name in NODES]
            assert all(agent and agent.complete and not agent.stale for agent in agents), agents
            return True

        await eventually(reported, self.REPORT_SECONDS, "every agent has reported")


_Yard = TypeVar("_Yard", bound=RealTrainingYard)


def lent(cluster: Cluster) -> AbstractAsyncContextManager[RealTrainingYard]:
    """Yield the cluster to one test; afterwards its jobs and their migrations are gone."""
    return lent_as(RealTrainingYard, cluster)


@asynccontextmanager
async def lent_as(kind: type[_Yard], cluster: Cluster) -> AsyncIterator[_Yard]:
    """Yield the cluster as a yard of some kind."""
    credentials = await asyncio.to_thread(auth.load, cluster.kubeconfig)
    async with KubeClient.connect(credentials) as client:
        yard = kind(cluster, client, History(), node_names=NODES)
        await yard.until_agents_report()
        async with readied(yard):
            directory = cluster.layout.volume / yard.team
            directory.mkdir()
            await api.apply(client, shared_volume(yard.team, CLAIM, directory))
            yield yard
