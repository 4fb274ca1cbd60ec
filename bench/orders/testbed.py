"""The cluster of a run, and the extender's settings: the same file decides live and simulated."""

import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import yaml

from bench.elastic.testbed import AGENT_SETTINGS
from bench.orders.scenario import NODES, SLOTS, WORKER_MILLI
from bench.specon.testbed import favour
from devcluster.cluster import Cluster
from devcluster.options import ClusterOptions, ProcessNodes
from extender.core.parameters.combined import CoreParameters
from extender.core.parameters.queue import Order
from simulator.options import read_parameters

ORDERS: Final = (Order.CREATION, Order.CPS, Order.SERVICE)
LEAST_RUN_SECONDS: Final = 4.0
SEARCH_SECONDS: Final = 1.0
_AGENT_MILLI: Final = 20
"""CPU request of an agent, in addition to the workers."""
PROCESS_NODES: Final = ProcessNodes(
    count=NODES, cpu=f"{SLOTS * WORKER_MILLI + _AGENT_MILLI + 1}m", memory="2Gi", prefix="node"
)


def bring_up(directory: Path, order: Order) -> Cluster:
    """Start the control plane, the nodes, our pair with an order, and the agents."""
    cluster = Cluster.up(directory, ClusterOptions(process=PROCESS_NODES), report=_silently)
    favour(cluster)
    cluster.start_shuntyard(settings(order))
    cluster.start_default_scheduler()
    cluster.start_agents(AGENT_SETTINGS)
    return cluster


def settings(order: Order) -> Mapping[str, Any]:
    """Return the extender's settings: limits of parkings in proportion to jobs of ten seconds.

    Under `service` running jobs may be parked. Under the others nothing that runs is stopped, as
    by default.
    """
    return {
        "queue": {"order": order.value, "settle_seconds": 0.1},
        "migration": {"policy": "none", "rebalance": "never"},
        "agent_reports": {"stale_seconds": 5.0},
        "service": {"unknown_seconds": 10.0},
        "preemption": {
            "enabled": order is Order.SERVICE,
            "interval_seconds": SEARCH_SECONDS,
            "least_wait_seconds": 1.0,
            "least_run_seconds": LEAST_RUN_SECONDS,
            "rest_seconds": LEAST_RUN_SECONDS,
            "most_per_hour": 1000,
            "restart_seconds": 5.0,
            "checkpoint_seconds": 15.0,
            "hold_seconds": 15.0,
            "resume_seconds": 30.0,
        },
    }


def parameters(order: Order) -> CoreParameters:
    """Return the same settings as the core's parameters, for the simulator."""
    with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
        yaml.safe_dump(dict(settings(order)), file)
        file.flush()
        return read_parameters(Path(file.name))


def _silently(_line: str) -> None:
    """Print nothing: the run prints its own lines."""
