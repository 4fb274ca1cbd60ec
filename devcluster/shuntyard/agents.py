"""The node agents of a cluster: deploy/base/agent.yaml, adapted to this machine."""

import copy
from collections.abc import Mapping, Sequence
from typing import Any, Final

import yaml

from devcluster import api
from devcluster.credentials import bootstrap
from devcluster.local.layout import Layout
from devcluster.process_node.cpu_budget import default_budget_cores
from devcluster.process_node.node_object import KIND, KIND_LABEL
from devcluster.process_node.options import DEFAULT_CPU_BUDGET_CORES
from devcluster.shuntyard.extender_process import merged
from shared.kube import paths
from shared.kube.client import KubeClient

NAMESPACE: Final = "shuntyard-agents"
NAME: Final = "shuntyard-agent"
READY_SECONDS: Final = 120.0
AUTHORITY: Final = "shuntyard-ca"
_DAEMON_SET: Final = paths.namespaced("/apis/apps/v1/daemonsets", NAMESPACE, NAME)
_ENVIRONMENT: Final = {
    "SHUNTYARD__EXTENDER__AUTHORITY": "/etc/shuntyard-ca/ca.crt",
    "SHUNTYARD__EXTENDER__TOKEN": "/var/run/secrets/shuntyard/token",
    "SHUNTYARD__PATHS__POD_LOGS": "/var/log/pods",
    "SHUNTYARD__PATHS__VOLUME": "/var/lib/shuntyard/volume",
}
"""The agent's defaults as variables, which a process node without namespaces rewrites."""

Manifest = Mapping[str, Any]


async def start(
    client: KubeClient, layout: Layout, *, urls: Sequence[str], settings: Mapping[str, Any]
) -> None:
    """Run an agent on every process node and wait until all are ready.

    Args:
        client: With an administrator's credentials.
        layout: The cluster's directory.
        urls: URLs at which the replicas of the extender listen for agents.
        settings: Settings of the agents that differ from their defaults.

    Raises:
        TimeoutError: Not all became ready.
    """
    objects = await api.items(client, paths.NODES)
    nodes = [one for one in objects if one["metadata"].get("labels", {}).get(KIND_LABEL) == KIND]
    decided = {
        "extender": {"urls": list(urls)},
        "api": {"listen_port": 0},
        "sampling": {"cores": default_budget_cores(len(nodes), DEFAULT_CPU_BUDGET_CORES)},
    }
    config = {"agent.yaml": yaml.safe_dump(merged(decided, settings))}
    manifests = (
        *bootstrap.deploy_manifests("base/namespaces.yaml"),
        config_map(NAME, config),
        config_map(AUTHORITY, {"ca.crt": layout.authority.read_text()}),
        *(_adapted(one, layout) for one in bootstrap.deploy_manifests("base/agent.yaml")),
    )
    await api.apply(client, manifests)

    async def ready() -> bool:
        found = await api.get(client, _DAEMON_SET)
        status = found.get("status") or {}
        current = status.get("observedGeneration") == found["metadata"]["generation"]
        updated = int(status.get("updatedNumberScheduled") or 0)
        return current and len(nodes) == updated == int(status.get("numberReady") or 0)

    await api.poll(ready, READY_SECONDS)


def config_map(name: str, data: Mapping[str, str]) -> Manifest:
    """Return a ConfigMap of the agents, which kustomize would generate."""
    metadata = {"name": name, "namespace": NAMESPACE}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": dict(data)}


def _adapted(manifest: Manifest, layout: Layout) -> Manifest:
    changed: dict[str, Any] = copy.deepcopy(dict(manifest))
    if changed["kind"] == "DaemonSet":
        _place(changed["spec"]["template"]["spec"], layout)
    return changed


def _place(pod: dict[str, Any], layout: Layout) -> None:
    """Give each process node, all on this machine, logs in a directory of its own."""
    pod["nodeSelector"] = {KIND_LABEL: KIND}
    (container,) = pod["containers"]
    container["env"] += [{"name": name, "value": path} for name, path in _ENVIRONMENT.items()]
    for mount in container["volumeMounts"]:
        if mount["name"] == "pod-logs":
            mount["subPathExpr"] = "$(NODE_NAME)/logs/pods"
    places = {"pod-logs": layout.process_nodes, "volume": layout.volume}
    pod["volumes"] = [
        {"name": one["name"], "hostPath": {"path": str(places[one["name"]])}}
        if one["name"] in places
        else one
        for one in pod["volumes"]
    ]
