"""Fake nodes: their Node objects, and kwok, which simulates them and their pods."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from devcluster import api
from devcluster.credentials.roles import KWOK_USER
from devcluster.local.layout import Layout
from devcluster.local.ports import LOOPBACK
from devcluster.local.state import Component, Probe
from devcluster.options import KwokNodes
from shared import labels
from shared.kube import paths
from shared.kube.client import KubeClient

ANNOTATION: Final = "kwok.x-k8s.io/node"
STAGES: Final = Path(__file__).parents[1] / "stages"
_POD_RANGE: Final = "10.64.0.0/10"
_NODE_ADDRESSES: Final = "10.128"
_OCTET: Final = 256
_LEASE_SHARE: Final = 0.8
"""Share of a Lease in the grace period, as a kubelet's 40 s of 50 s."""


_READY: Final = {
    "type": "Ready",
    "status": "True",
    "reason": "KubeletReady",
    "message": "kwok plays this node",
}


def component(program: Path, layout: Layout, port: int, *, node_grace_seconds: int) -> Component:
    """Return kwok; it manages the nodes that carry its annotation and no other ones."""
    files = [f"--config={STAGES / name}" for name in ("options.yaml", "node.yaml", "pod.yaml")]
    flags = (
        f"--kubeconfig={layout.user_kubeconfig(KWOK_USER)}",
        f"--manage-nodes-with-annotation-selector={ANNOTATION}=fake",
        f"--node-lease-duration-seconds={int(node_grace_seconds * _LEASE_SHARE)}",
        f"--cidr={_POD_RANGE}",
        "--v=WARN",
        f"--server-address={LOOPBACK}:{port}",
        f"--tls-cert-file={layout.server.certificate}",
        f"--tls-private-key-file={layout.server.key}",
    )
    return Component(
        argv=(str(program), *flags, *files),
        log=str(layout.log("kwok")),
        probe=Probe(f"https://{LOOPBACK}:{port}/healthz"),
    )


def manifest(name: str, number: int, nodes: KwokNodes) -> Mapping[str, Any]:
    """Return the Node object of the ``number``-th fake node, Ready from the start."""
    resources = {
        "cpu": nodes.cpu,
        "memory": nodes.memory,
        "pods": str(nodes.pods),
        **nodes.extended,
    }
    address = f"{_NODE_ADDRESSES}.{number // _OCTET % _OCTET}.{number % _OCTET}"
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": name,
            "annotations": {ANNOTATION: "fake"},
            "labels": {
                "kubernetes.io/arch": "amd64",
                "kubernetes.io/os": "linux",
                labels.HOSTNAME_LABEL: name,
                **nodes.labels,
            },
        },
        "spec": {
            "taints": [
                {"key": taint.key, "value": taint.value, "effect": taint.effect}
                for taint in nodes.taints
            ]
        },
        "status": {
            "capacity": resources,
            "allocatable": resources,
            "conditions": [_READY],
            "addresses": [
                {"type": "InternalIP", "address": address},
                {"type": "Hostname", "address": name},
            ],
        },
    }


async def create(client: KubeClient, nodes: KwokNodes) -> None:
    """Create the Node objects.

    Admission taints every new node not-ready, and the node lifecycle controller is slow to remove
    that from a thousand; so it is removed here.
    """

    async def one(numbered: tuple[int, str]) -> None:
        number, name = numbered
        node = manifest(name, number, nodes)
        await client.post(paths.NODES, node)
        taints = node["spec"]["taints"] or None
        await client.patch(paths.node(name), {"spec": {"taints": taints}})

    await api.for_each(enumerate(nodes.names(), start=nodes.first), one)
