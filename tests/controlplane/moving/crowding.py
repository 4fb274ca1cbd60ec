"""A job that trains beside others on one node, and moves when a second node opens.

kwok simulates the nodes, `played_agents` agents and trainers; everything else is real.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from devcluster.options import KwokNodes
from shared import labels
from shared.kube import paths
from tests.controlplane.jobs import Manifest, Pods, pod
from tests.controlplane.played_agents import PlayedAgents
from tests.controlplane.yard import Yard
from tests.fakes.eventually import eventually

PATIENCE_SECONDS: Final = 60.0
NODES: Final = KwokNodes(2, cpu="8", prefix="track")
SOURCE, TARGET = NODES.names()
SETTINGS: Final[Mapping[str, Any]] = {
    "migration": {
        "interval_seconds": 0.5,
        "cooldown_seconds": 0,
        "evict_seconds": 5,
        "rebalance": "never",
    },
    "agent_reports": {"stale_seconds": 5},
    "queue": {"settle_seconds": 0.05},
}
OPTED_IN: Final = Pods().annotated({labels.CHECKPOINT: ""})
ALONE: Final = OPTED_IN.annotated({labels.MIN_AVAILABLE: "1"})
MEMBERS: Final = "m"
"""The directory of the job that may move, and its name."""


def of(directory: str, pods: Pods = OPTED_IN) -> Pods:
    """Return pods whose trainers share a directory."""
    return replace(pods, labels={**pods.labels, "directory": directory})


async def prepare(yard: Yard) -> None:
    """Make both nodes; the second one is closed."""
    await yard.nodes(NODES)
    await yard.cordon([TARGET])


async def crowded(yard: Yard, agents: PlayedAgents, manifest: Manifest, count: int) -> None:
    """Have a job train on the first node beside others; then the second node opens."""
    await yard.client.post(_path(yard, manifest), manifest)
    for name in ("f1", "f2", "f3"):
        await yard.submit(pod(name, of(name, Pods())))
    await eventually(lambda: len(agents.trainers) == count + 3, PATIENCE_SECONDS)
    await yard.cordon([TARGET], cordoned=False)


async def migrations(yard: Yard) -> list[dict[str, Any]]:
    return await yard.items(paths.migrations(yard.team))


async def ended(yard: Yard) -> list[dict[str, Any]]:
    closed = {"Completed", "Aborted", "Failed"}
    return [m for m in await migrations(yard) if m.get("status", {}).get("phase") in closed]


def _path(yard: Yard, manifest: Manifest) -> str:
    collections = {
        "Pod": paths.PODS,
        "Job": paths.JOBS,
        "StatefulSet": paths.STATEFULSETS,
        "Deployment": paths.DEPLOYMENTS,
    }
    return paths.namespaced(collections[manifest["kind"]], yard.team)
