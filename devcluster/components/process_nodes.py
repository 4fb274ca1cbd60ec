"""The program that runs all process nodes of a cluster."""

import sys

from devcluster.credentials.roles import PROCESS_NODES_USER
from devcluster.local.layout import Layout
from devcluster.local.state import Component
from devcluster.options import ProcessNodes

_STOP_SECONDS = 15.0


def process_nodes(layout: Layout, nodes: ProcessNodes) -> Component:
    """Return ``python -m devcluster.process_node`` for these nodes; it ends their containers."""
    described = ",".join(f"{name}:{nodes.cpu}:{nodes.memory}" for name in nodes.names())
    argv = (
        sys.executable,
        "-m",
        "devcluster.process_node",
        "--kubeconfig",
        str(layout.user_kubeconfig(PROCESS_NODES_USER)),
        "--nodes",
        described,
        "--dir",
        str(layout.process_nodes),
    )
    return Component(argv=argv, log=str(layout.log("process-nodes")), stop_seconds=_STOP_SECONDS)
