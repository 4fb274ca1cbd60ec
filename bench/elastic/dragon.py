"""DRAGON on a real cluster: the simulator's rules decide, and the changes are written to the Jobs.

The Jobs are created suspended; DRAGON starts them with a number of workers, and changes it later.
The scheduler places the pods: as in DRAGON's code, the number is decided as if an added worker went
to the node of the first one. Workers leave without a checkpoint request.
"""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import msgspec
from typing_extensions import override

from bench.elastic.manifests import NAMESPACE
from bench.elastic.scenario import NODES, ElasticJob
from shared import labels
from shared.kube import paths
from shared.kube.client import KubeClient
from simulator.baselines.dragon import Dragon
from simulator.models.parameter_server import Amounts, Site, Training

LOOK_SECONDS: Final = 0.3
_ENDED: Final = frozenset({"Succeeded", "Failed"})

Objects = Sequence[Mapping[str, Any]]


class LiveSite(Site):
    """A cluster whose pods may be on other nodes than decided, so a node can look overfull.

    A decided pod counts on its decided node until it is bound.
    """

    @override
    def take(self, node: str, amounts: Amounts) -> None:
        cpu, memory = self.free[node]
        self.free[node] = (cpu - amounts[0], memory - amounts[1])


@dataclass
class Driver:
    """Keeps DRAGON's state between decisions.

    Attributes:
        jobs: All jobs of the run, by name.
        nodes: Nodes of the workers of each started job, as DRAGON decided.
    """

    jobs: Mapping[str, ElasticJob]
    dragon: Dragon = field(default_factory=Dragon)
    nodes: dict[str, list[str]] = field(default_factory=dict)

    def decide(self, jobs: Objects, pods: Objects, now: float) -> dict[str, int]:
        """Return the changes to write: Job → workers; ``now`` in simulated seconds."""
        self.nodes = {name: nodes for name, nodes in self.nodes.items() if _is_running(jobs, name)}
        where = _nodes_of_workers(pods)
        for name, nodes in self.nodes.items():
            for index in range(len(nodes)):
                nodes[index] = where.get((name, index), nodes[index])
        site = self._site(jobs)
        before = {name: len(training.workers) for name, training in site.running.items()}
        self.dragon.act(site, now)
        self.nodes = {name: training.workers for name, training in site.running.items()}
        after = {name: len(nodes) for name, nodes in self.nodes.items()}
        return {name: count for name, count in after.items() if before.get(name) != count}

    def _site(self, jobs: Objects) -> Site:
        """Return the current cluster, including DRAGON's decisions that are not carried out yet."""
        site = LiveSite(NODES)
        for name, nodes in self.nodes.items():
            job = self.jobs[name].simulated
            site.running[name] = Training(job, nodes[:1], nodes)
            site.take(nodes[0], job.server)
            for node in nodes:
                site.take(node, job.worker)
        arrived = [job.simulated for name, job in self.jobs.items() if _is_running(jobs, name)]
        arrived.sort(key=lambda job: job.arrives_at)
        site.waiting = [job for job in arrived if job.name not in site.running]
        return site


async def drive(client: KubeClient, jobs: Sequence[ElasticJob], scale: float) -> None:
    """Let DRAGON decide until cancelled; the run begins now."""
    driver, begun = Driver({job.name: job for job in jobs}), asyncio.get_running_loop().time()
    while True:
        objects = await _items(client, paths.namespaced(paths.JOBS, NAMESPACE))
        pods = await _items(client, paths.pods(NAMESPACE))
        now = (asyncio.get_running_loop().time() - begun) / scale
        for name, workers in driver.decide(objects, pods, now).items():
            uid = next(o["metadata"]["uid"] for o in objects if o["metadata"]["name"] == name)
            spec = {"suspend": False, "parallelism": workers, "completions": workers}
            path = paths.namespaced(paths.JOBS, NAMESPACE, name)
            await client.patch(path, {"metadata": {"uid": uid}, "spec": spec})
        await asyncio.sleep(LOOK_SECONDS)


def _is_running(jobs: Objects, name: str) -> bool:
    """Return True if a Job exists and is not over."""
    return any(
        job["metadata"]["name"] == name and "completionTime" not in (job.get("status") or {})
        for job in jobs
    )


def _nodes_of_workers(pods: Objects) -> dict[tuple[str, int], str]:
    """Return the actual nodes of workers, by Job and index."""
    nodes = {}
    for pod in pods:
        marks, node = pod["metadata"].get("labels") or {}, pod["spec"].get("nodeName")
        alive = pod["status"].get("phase") not in _ENDED
        if node and alive and labels.JOB_INDEX_LABEL in marks:
            nodes[marks[labels.JOB_NAME_LABEL], int(marks[labels.JOB_INDEX_LABEL])] = node
    return nodes


async def _items(client: KubeClient, path: str) -> Objects:
    items: list[Mapping[str, Any]] = msgspec.json.decode(await client.get(path))["items"]
    return items
