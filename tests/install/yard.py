"""Jobs on an installed cluster: what is asked goes through the API server's service proxy."""

import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from devcluster.cluster import Cluster
from devcluster.real_nodes import images
from devcluster.real_nodes.installation import SYSTEM
from shared import labels
from shared.kube import paths
from shared.readapi.ledgers import MigrationEntry
from tests.controlplane.real_training_yard import RealTrainingYard, lent_as

_PROXY = paths.namespaced("/api/v1/services", SYSTEM, "shuntyard-extender:api", "proxy")


class InstalledYard(RealTrainingYard):
    """A cluster on which everything of ours runs in pods."""

    REPORT_SECONDS = 180.0
    """A kubelet may take a minute and a half until a ConfigMap that was filled is seen in a pod
    that was there before: an agent that came first waits so long for ``ca.crt``."""

    async def read(self, path: str) -> bytes:
        """GET a path of the read API, of whichever replica the proxy chooses."""
        return await self.client.get(f"{_PROXY}{path}")

    def run_command(self, *arguments: str) -> str:
        """Return the output of the command line with the administrator's kubeconfig."""
        way = ("--kubeconfig", str(self.cluster.kubeconfig))
        command = (sys.executable, "-m", "cli", *way, *arguments)
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
        assert done.returncode == 0, done.stderr
        return done.stdout

    async def replicas(self) -> list[dict[str, Any]]:
        """Return the extender's pods."""
        pods = await self.items(paths.pods(SYSTEM))
        return [pod for pod in pods if pod["metadata"]["name"].startswith("shuntyard-extender-")]

    async def own_entry(self) -> MigrationEntry:
        """Return the one migration there was."""
        (entry,) = await self.ledger()
        return entry


def gang(name: str, script: str, pods: int = 2) -> dict[str, Any]:
    """Return a Job of several pods as a user writes it: it names our scheduler and nothing else."""
    container = {
        "name": "main",
        "image": images.SHUNTYARD,
        "imagePullPolicy": "Never",
        "command": ["python3", "-c", script],
        "resources": {"requests": {"cpu": "20m", "memory": "32Mi"}, "limits": {"cpu": "200m"}},
    }
    pod = {
        "schedulerName": labels.SCHEDULER_NAME,
        "restartPolicy": "Never",
        "containers": [container],
    }
    spec = {
        "completionMode": "Indexed",
        "completions": pods,
        "parallelism": pods,
        "template": {"metadata": {"labels": {}, "annotations": {}}, "spec": pod},
    }
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name}, "spec": spec}


@asynccontextmanager
async def lent(cluster: Cluster) -> AsyncIterator[InstalledYard]:
    """Lend the cluster to one test; afterwards its jobs and their migrations are gone."""
    async with lent_as(InstalledYard, cluster) as yard:
        yield yard
