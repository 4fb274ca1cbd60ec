"""Steps and checks for tests of the development cluster, without the code under test."""

import json
import time
from collections.abc import Callable
from typing import Any

from devcluster import api
from devcluster.cluster import Cluster
from shared import labels
from shared.kube import paths
from shared.kube.client import KubeClient
from shared.kube.errors import NotFoundError

DEADLINE_SECONDS = 60.0


def eventually(check: Callable[[], bool], within_seconds: float = DEADLINE_SECONDS) -> None:
    """Repeat the check until it is true; each check is a round trip, so no sleep is needed."""
    deadline = time.monotonic() + within_seconds
    while not check():
        assert time.monotonic() < deadline, "it did not come true"


def get(cluster: Cluster, path: str) -> dict[str, Any]:
    async def body(client: KubeClient) -> bytes:
        return await client.get(path)

    return json.loads(api.call(cluster.kubeconfig, body))


def items(cluster: Cluster, path: str) -> list[dict[str, Any]]:
    return get(cluster, path)["items"]


def create(cluster: Cluster, path: str, manifest: dict[str, Any]) -> None:
    api.call(cluster.kubeconfig, lambda client: client.post(path, manifest))


def exists(cluster: Cluster, path: str) -> bool:
    try:
        get(cluster, path)
    except NotFoundError:
        return False
    return True


def pod(
    name: str, *, node: str | None = None, duration: str | None = None, grace: int = 30
) -> dict:
    annotations = {labels.SIMULATED_DURATION: duration} if duration else {}
    return {
        "metadata": {"name": name, "annotations": annotations},
        "spec": {
            "containers": [{"name": "main", "image": "none"}],
            "terminationGracePeriodSeconds": grace,
            **({"nodeName": node} if node else {}),
        },
    }


def phase(cluster: Cluster, name: str) -> str:
    return get(cluster, paths.pod("default", name))["status"]["phase"]


# ---- up and down
