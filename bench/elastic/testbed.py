"""The cluster of a run: three process nodes with agents, and the contestant's settings."""

from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path
from typing import Any, Final

from bench.elastic.scenario import NODES
from bench.specon.testbed import favour
from devcluster.cluster import Cluster
from devcluster.options import ClusterOptions, ProcessNodes
from devcluster.shuntyard.extender_process import merged
from simulator.experiments.drs.setting import GIB

_AGENT_MILLI: Final = 20
"""CPU request of an agent, in addition to the CPU of the experiment."""
_CPU, _MEMORY = next(iter(NODES.values()))
PROCESS_NODES: Final = ProcessNodes(
    count=len(NODES),
    cpu=f"{_CPU + _AGENT_MILLI + 1}m",
    memory=f"{_MEMORY // GIB + 1}Gi",
    prefix="node",
)


class Contestant(StrEnum):
    """Decides the number of workers of the jobs."""

    FIXED = "fixed"
    """Fixed: jobs keep their initial workers. Gangs, the most important first."""
    DRAGON = "dragon"
    """DRAGON's rules (``bench.elastic.dragon``); we place the gangs that it starts."""
    DRS = "drs"
    """Plain DRS: every job grows to its maximum, and gives workers only to more important jobs."""
    OURS = "ours"
    """Our defaults: marginal gain, starts with fewer workers, scale-down for starving jobs."""

    @property
    def scaled_by_us(self) -> bool:
        """Whether the extender changes numbers of workers."""
        return self in {Contestant.DRS, Contestant.OURS}


def bring_up(directory: Path) -> Cluster:
    """Start the control plane and the nodes."""
    cluster = Cluster.up(directory, ClusterOptions(process=PROCESS_NODES), report=_silently)
    favour(cluster)
    return cluster


def start(cluster: Cluster, contestant: Contestant, scale: float) -> None:
    """Start extender and scheduler, the plain kube-scheduler for the agents, and the agents."""
    cluster.start_shuntyard(settings(contestant, scale))
    cluster.start_default_scheduler()
    cluster.start_agents(AGENT_SETTINGS)


def settings(contestant: Contestant, scale: float) -> Mapping[str, Any]:
    """Return the extender's settings: times of the experiment, scaled.

    Times that other programs need are not scaled: an agent samples several times a second, and a
    trainer answers at the end of its step, however small the scale.
    """
    order = "creation" if contestant is Contestant.DRAGON else "weighting"
    common: Mapping[str, Any] = {
        "queue": {"order": order, "settle_seconds": 0.1},
        "migration": {"policy": "none", "rebalance": "never"},
        "agent_reports": {"stale_seconds": 5.0},
        "scaling": {"enabled": contestant.scaled_by_us},
    }
    ours = {
        "interval_seconds": 15.0 * scale,
        "cooldown_seconds": 60.0 * scale,
        "most_rescales_per_hour": 1000,
        "checkpoint_seconds": 10.0,
        "hold_seconds": 10.0,
        "grow_seconds": 15.0,
        "starvation_seconds": 60.0 * scale,
    }
    plain = {"marginal_gain": False, "start_with_fewer": False, "starvation_seconds": None}
    if contestant is Contestant.OURS:
        return merged(common, {"scaling": ours})
    if contestant is Contestant.DRS:
        return merged(common, {"scaling": {**ours, **plain}})
    return common


AGENT_SETTINGS: Final[Mapping[str, Any]] = {
    "report": {"interval_seconds": 0.5},
    "discovery": {"interval_seconds": 0.5},
    "following": {
        "interval_seconds": 0.5,
        "checkpoint_seconds": 0.5,
        "asked_seconds": 0.2,
        "find_seconds": 0.5,
    },
    "sampling": {"interval_seconds": 2.0},
}


def _silently(_line: str) -> None:
    """Print nothing: the run prints its own lines."""
