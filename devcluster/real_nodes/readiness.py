"""Whether a node has come up: the API server remembers the last life's Ready for some time."""

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
"""A file in a node's directory: containerd has the images with which a node begins."""
IMPORT_SECONDS: Final = 600.0
"""Unpacking is a matter of the machine's load; the kubelet starts only then."""


async def wait_until_imported(directory: Path, check: Callable[[], None]) -> None:
    """Wait until a node has the images with which it begins.

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
        check: Called between the questions; raises if there is nothing to wait for any more.

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
    """Return whether a Node object says so: a Ready of that time, and no taint that it is not."""
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
