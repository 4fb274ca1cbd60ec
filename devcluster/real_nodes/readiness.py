"""Waits until a node is up: the API server keeps the Ready of its previous start for a while."""

import datetime as dt
import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

from devcluster import api
from shared.kube import paths
from shared.kube.client import KubeClient
from shared.kube.errors import NotFoundError

_NOT_READY: Final = frozenset({"node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"})


IMPORTED: Final = "imported"
"""A file in a node's directory: containerd has the initial images of a node."""
IMPORT_SECONDS: Final = 600.0
"""Unpacking depends on the machine's load; the kubelet starts afterwards."""


async def wait_until_imported(directory: Path, check: Callable[[], None]) -> None:
    """Wait until a node has its initial images.

    Args:
        directory: The node's.
        check: As in `wait_until_ready`.

    Raises:
        TimeoutError: It has not within `IMPORT_SECONDS`.
    """

    async def imported() -> bool:
        check()
        return (directory / IMPORTED).exists()

    await api.poll(imported, IMPORT_SECONDS)


async def wait_until_ready(
    client: KubeClient, name: str, begun: float, check: Callable[[], None]
) -> None:
    """Wait until a node has reported Ready after ``begun`` and takes pods.

    Args:
        client: An administrator's.
        name: The node.
        begun: Seconds since the epoch.
        check: Called between polls; raises if waiting is pointless.

    Raises:
        TimeoutError: It has not within `api.NODES_READY_SECONDS`.
    """
    since = math.ceil(begun)  # reports are stamped in whole seconds

    async def ready() -> bool:
        check()
        try:
            return reported_ready(await api.get(client, paths.node(name)), since)
        except NotFoundError:
            return False

    await api.poll(ready, api.NODES_READY_SECONDS)


def reported_ready(node: Mapping[str, Any], since: float) -> bool:
    """Return True if a Node object has been Ready since then, and has no taint that contradicts."""
    taints = node["spec"].get("taints") or ()
    if any(taint["key"] in _NOT_READY for taint in taints):
        return False
    conditions = node["status"].get("conditions") or ()
    return any(
        item["type"] == "Ready"
        and item["status"] == "True"
        and dt.datetime.fromisoformat(item["lastHeartbeatTime"]).timestamp() >= since
        for item in conditions
    )
