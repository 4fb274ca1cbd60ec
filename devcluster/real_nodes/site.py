"""Shared resources of real nodes on this machine, and the cluster that owns them.

A machine has real nodes of one cluster at a time: bridge, addresses and control groups have fixed
names, so that leftovers of a crash can be found.
"""

import shutil
from collections.abc import Callable
from pathlib import Path

from devcluster.errors import MachineError
from devcluster.local.layout import Layout
from devcluster.local.processes import leftovers
from devcluster.real_nodes import conditions, control_groups, mount_points, network
from devcluster.real_nodes.network import RealNode


def occupy(layout: Layout, report: Callable[[str], None]) -> None:
    """Check that this machine can have real nodes, and create the bridge for this cluster.

    Raises:
        MachineError: It cannot, or another cluster has some; the message names the reason.
    """
    conditions.require(report)
    owner = network.owner()
    if owner == str(layout.directory):
        return
    if owner is not None:
        if owner and any(leftovers(owner)):
            problem = "has real nodes, and a machine can have those of one cluster only"
            raise MachineError(f"the cluster in {owner} {problem}; `down --dir {owner}` ends it")
        report(f"removing leftovers of real nodes of {owner or 'an unknown cluster'}")
        remove_groups(report)
        if owner:
            mount_points.remove(_record(Layout(Path(owner))))
        network.remove()
    network.build(layout.directory)


def prepare(layout: Layout) -> None:
    """Create the directory of all nodes, and the mount points."""
    layout.real_nodes.mkdir(exist_ok=True)
    mount_points.make(_record(layout))


def connect(node: RealNode) -> None:
    """Create a node's control groups, and the route to its pods."""
    control_groups.make(node.name)
    network.route(node)


def clear(layout: Layout, report: Callable[[str], None]) -> None:
    """Remove leftovers of ended nodes except the bridge, if it is ours."""
    if network.owner() != str(layout.directory):
        return
    remove_groups(report)
    mount_points.remove(_record(layout))
    if layout.real_nodes.is_dir():
        shutil.rmtree(layout.real_nodes)


def leave(layout: Layout, report: Callable[[str], None]) -> None:
    """Remove leftovers of ended nodes, and the bridge, if it is ours."""
    clear(layout, report)
    if network.owner() == str(layout.directory):
        network.remove()


def remove_groups(report: Callable[[str], None], *names: str) -> None:
    """Remove the control groups of nodes that have ended; of all, if none is named."""
    for name in names or control_groups.names():
        for group in control_groups.remove(name):
            report(f"{group} could not be removed")


def _record(layout: Layout) -> Path:
    return layout.real_nodes / "mount-points.json"
