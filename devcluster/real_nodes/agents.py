"""The agents of real nodes: deploy/base/agent.yaml with our image and a shared volume."""

import copy
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import yaml

from devcluster import api
from devcluster.credentials import bootstrap
from devcluster.local.layout import Layout
from devcluster.real_nodes import images
from devcluster.real_nodes.node import LABEL, LABEL_VALUE
from devcluster.shuntyard.agents import AUTHORITY, NAME, NAMESPACE, READY_SECONDS, config_map
from devcluster.shuntyard.extender_process import merged
from shared import quantity
from shared.kube import paths
from shared.kube.client import KubeClient

Manifest = Mapping[str, Any]


def shared_volume(namespace: str, claim: str, directory: Path) -> tuple[Manifest, Manifest]:
    """Return a volume for a directory that is there, and the claim that gets it.

    A volume has one claim, so a directory has a volume for each: ``<namespace>-<claim>``.
    """
    common = {"accessModes": ["ReadWriteMany"], "storageClassName": ""}
    size = {"storage": "1Gi"}  # not enforced
    place = {"hostPath": {"path": str(directory), "type": "Directory"}}
    name = f"{namespace}-{claim}"
    reference = {"namespace": namespace, "name": claim}
    return (
        {
            "apiVersion": "v1",
            "kind": "PersistentVolume",
            "metadata": {"name": name},
            "spec": {**common, **place, "capacity": size, "claimRef": reference},
        },
        {
            "apiVersion": "v1",
            "kind": "PersistentVolumeClaim",
            "metadata": reference,
            "spec": {**common, "resources": {"requests": size}, "volumeName": name},
        },
    )


CLAIM: Final = "shuntyard-volume"


def manifests(
    layout: Layout, *, urls: Sequence[str], cores: float, settings: Mapping[str, Any]
) -> list[Manifest]:
    """Return the agents' manifests, in the order to apply them.

    Args:
        layout: The cluster's directory; its ``volume`` is bound to the agents' claim.
        urls: URLs at which the replicas of the extender listen for agents.
        cores: Of a node. Agents cannot measure it, because they see the whole machine.
        settings: Settings of the agents that differ from their defaults.
    """
    decided = {
        "extender": {"urls": list(urls)},
        "sampling": {"cores": cores},
        "api": {"listen_host": "0.0.0.0"},  # noqa: S104 - its pod's own; the kubelet probes there
    }
    config = yaml.safe_dump(merged(decided, settings))
    return [
        *bootstrap.deploy_manifests("base/namespaces.yaml"),
        config_map(NAME, {"agent.yaml": config}),
        config_map(AUTHORITY, {"ca.crt": layout.authority.read_text()}),
        *shared_volume(NAMESPACE, CLAIM, layout.volume),
        *(_adapted(one) for one in bootstrap.deploy_manifests("base/agent.yaml")),
    ]


async def start(
    client: KubeClient,
    layout: Layout,
    names: Collection[str],
    *,
    urls: Sequence[str],
    settings: Mapping[str, Any],
) -> None:
    """Run an agent on each of the nodes, which are all there are, and wait until they are ready.

    Raises:
        TimeoutError: Not all became ready.
    """
    offered = [await _cores(client, name) for name in names]
    objects = manifests(layout, urls=urls, cores=min(offered), settings=settings)
    await api.apply(client, objects)
    path = paths.namespaced("/apis/apps/v1/daemonsets", NAMESPACE, NAME)

    async def ready() -> bool:
        found = await api.get(client, path)
        status = found.get("status") or {}
        if status.get("observedGeneration") != found["metadata"]["generation"]:
            return False
        counts = [int(status.get(name) or 0) for name in ("updatedNumberScheduled", "numberReady")]
        return counts == [len(names)] * len(counts)

    await api.poll(ready, READY_SECONDS)


async def _cores(client: KubeClient, name: str) -> float:
    node = await api.get(client, paths.node(name))
    return float(quantity.parse(node["status"]["allocatable"]["cpu"]))


def _adapted(manifest: Manifest) -> Manifest:
    if manifest["kind"] != "DaemonSet":
        return manifest
    changed: dict[str, Any] = copy.deepcopy(dict(manifest))
    pod = changed["spec"]["template"]["spec"]
    pod["nodeSelector"] = {LABEL: LABEL_VALUE}
    pod["containers"][0] |= {"image": images.SHUNTYARD, "imagePullPolicy": "Never"}
    return changed
