"""DRAGON on a real cluster: the simulator's rules look at the Jobs, and the difference is written.

The Jobs are made suspended; DRAGON begins them with so many workers, and changes that number later.
Where pods go is the scheduler's affair: as in DRAGON's code, the number is decided as if an added
worker went to the node of the first one. Nobody is asked before a worker leaves.
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
    """A cluster whose pods may be elsewhere than was decided: a node can look overfull for a while.

    Until a pod that was decided about is bound, it counts where it was meant to be.
    """

    @override
    def take(self, node: str, amounts: Amounts) -> None:
        cpu, memory = self.free[node]
        self.free[node] = (cpu - amounts[0], memory - amounts[1])


@dataclass
class Driver:
    """Keeps what DRAGON knows from look to look.

    Attributes:
        jobs: All that may come, by name.
        seats: Node of each worker of a job that was begun, as DRAGON has it.
    """

    jobs: Mapping[str, ElasticJob]
    dragon: Dragon = field(default_factory=Dragon)
    seats: dict[str, list[str]] = field(default_factory=dict)

    def look(self, found: Objects, pods: Objects, now: float) -> dict[str, int]:
        """Return what is to be written: Job → workers; ``now`` in simulated seconds."""
        self.seats = {name: seats for name, seats in self.seats.items() if _is_there(found, name)}
        where = _nodes_of_workers(pods)
        for name, seats in self.seats.items():
            for index in range(len(seats)):
                seats[index] = where.get((name, index), seats[index])
        site = self._site(found)
        before = {name: len(training.workers) for name, training in site.running.items()}
        self.dragon.act(site, now)
        self.seats = {name: training.workers for name, training in site.running.items()}
        after = {name: len(seats) for name, seats in self.seats.items()}
        return {name: count for name, count in after.items() if before.get(name) != count}

    def _site(self, found: Objects) -> Site:
        """Return the cluster as it is; what DRAGON has decided counts while it is not done."""
        site = LiveSite(NODES)
        for name, seats in self.seats.items():
            job = self.jobs[name].simulated
            site.running[name] = Training(job, seats[:1], seats)
            site.take(seats[0], job.server)
            for node in seats:
                site.take(node, job.worker)
        came = [job.simulated for name, job in self.jobs.items() if _is_there(found, name)]
        came.sort(key=lambda job: job.arrives_at)
        site.waiting = [job for job in came if job.name not in site.running]
        return site


async def drive(client: KubeClient, jobs: Sequence[ElasticJob], scale: float) -> None:
    """Look at the Jobs until cancelled; the run begins now."""
    driver, begun = Driver({job.name: job for job in jobs}), asyncio.get_running_loop().time()
    while True:
        found = await _items(client, paths.namespaced(paths.JOBS, NAMESPACE))
        pods = await _items(client, paths.pods(NAMESPACE))
        now = (asyncio.get_running_loop().time() - begun) / scale
        for name, workers in driver.look(found, pods, now).items():
            uid = next(one["metadata"]["uid"] for one in found if one["metadata"]["name"] == name)
            spec = {"suspend": False, "parallelism": workers, "completions": workers}
            path = paths.namespaced(paths.JOBS, NAMESPACE, name)
            await client.patch(path, {"metadata": {"uid": uid}, "spec": spec})
        await asyncio.sleep(LOOK_SECONDS)


def _is_there(found: Objects, name: str) -> bool:
    """Say whether a Job has come and is not over."""
    return any(
        one["metadata"]["name"] == name and "completionTime" not in (one.get("status") or {})
        for one in found
    )


def _nodes_of_workers(pods: Objects) -> dict[tuple[str, int], str]:
    """Return where workers really are, by Job and index."""
    found = {}
    for pod in pods:
        marks, node = pod["metadata"].get("labels") or {}, pod["spec"].get("nodeName")
        alive = pod["status"].get("phase") not in _ENDED
        if node and alive and labels.JOB_INDEX_LABEL in marks:
            found[marks[labels.JOB_NAME_LABEL], int(marks[labels.JOB_INDEX_LABEL])] = node
    return found


async def _items(client: KubeClient, path: str) -> Objects:
    found: list[Mapping[str, Any]] = msgspec.json.decode(await client.get(path))["items"]
    return found
