"""The cluster of a run: four process nodes with agents, and our scheduler with one policy."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from bench.specon.scenario import BUDGET_CORES
from devcluster.cluster import Cluster
from devcluster.options import ClusterOptions, ProcessNodes
from devcluster.process_node import cgroups
from devcluster.process_node.cpu_budget import cluster_name

NODES: Final = ProcessNodes(count=4, cpu="4", memory="8Gi", prefix="node")
"""With four nodes a node's budget is a quarter of a core; they offer more CPU, so that any number
of jobs fits on one."""

PUBLISHED_INTERVAL_SECONDS: Final = 30.0


_WEIGHTS: Final = {"cpu.shares": "20480", "cpu.weight": "2000"}
"""Twenty times that of a process, in control groups of version 1 and 2."""


def bring_up(directory: Path) -> Cluster:
    """Start the control plane and the nodes."""
    cluster = Cluster.up(directory, ClusterOptions(process=NODES), report=_silently)
    favour(cluster)
    return cluster


def favour(cluster: Cluster) -> None:
    """Raise the CPU weight of the nodes, so that they get their budgets on a busy machine.

    By default their control group, which holds all the nodes' pods, counts like one process.
    """
    name = cluster_name(cluster.layout.process_nodes)
    groups = cgroups.find(name)
    if groups is None:
        return
    for file, weight in _WEIGHTS.items():
        place = groups.base / name / file
        if place.exists():
            place.write_text(weight)


def start(cluster: Cluster, policy: str, *, scale: float, gain_ratio: float) -> None:
    """Start extender and scheduler with a policy, kube-scheduler for the agents, and the agents."""
    cluster.start_shuntyard(extender_settings(policy, scale=scale, gain_ratio=gain_ratio))
    cluster.start_default_scheduler()
    cluster.start_agents(agent_settings(scale=scale))


def extender_settings(policy: str, *, scale: float, gain_ratio: float) -> Mapping[str, Any]:
    """Return the extender's settings: published and default times, scaled."""
    return {
        "queue": {"settle_seconds": 0.1},
        "migration": {
            "policy": policy,
            "interval_seconds": 1.0,
            "minimum_gain_ratio": gain_ratio,
            "first_cost_seconds": 30.0 * scale,
            "cooldown_seconds": 120.0 * scale,
            "count_pause_seconds": max(1.0, 60.0 * scale),
        },
        "agent_reports": {"stale_seconds": 5.0},
    }


def agent_settings(*, scale: float) -> Mapping[str, Any]:
    """Return the agents' settings: the published interval, scaled, and the published 1 %."""
    return {
        "convergence": {
            "rule": "specon",
            "alpha": 0.01,
            "interval_seconds": max(1.0, PUBLISHED_INTERVAL_SECONDS * scale),
        },
        "report": {"interval_seconds": 1.0},
        "discovery": {"interval_seconds": 0.5},
        "following": {
            "interval_seconds": 1.0,
            "checkpoint_seconds": 1.0,
            "asked_seconds": 0.2,
            "find_seconds": 1.0,
        },
        "sampling": {"cores": BUDGET_CORES, "interval_seconds": 2.0},
    }


def _silently(_line: str) -> None:
    """Print nothing: the run prints its own lines."""
