"""kube-proxy's configuration file: what makes the addresses of Services real in a node."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from devcluster.real_nodes.addresses import NETWORK, RealNode
from devcluster.state import Probe

USER: Final = "system:kube-proxy"
"""The API server makes its rights itself (``system:node-proxier``)."""

_HEALTH_PORT: Final = 10256


def config(node: RealNode, kubeconfig: Path) -> Mapping[str, Any]:
    """Return the configuration of a node's kube-proxy.

    Its rules are in the node's own nftables. Connection tracking has limits that are the whole
    machine's; zeros leave them as they are.

    Source:
        https://kubernetes.io/docs/reference/config-api/kube-proxy-config.v1alpha1/
    """
    return {
        "apiVersion": "kubeproxy.config.k8s.io/v1alpha1",
        "kind": "KubeProxyConfiguration",
        "clientConnection": {"kubeconfig": str(kubeconfig)},
        "mode": "nftables",
        "hostnameOverride": node.name,
        "clusterCIDR": NETWORK,  # whoever calls from here gets the answer without masquerading
        "healthzBindAddress": f"{node.address}:{_HEALTH_PORT}",
        "conntrack": {
            "maxPerCore": 0,
            "min": 0,
            "tcpEstablishedTimeout": "0s",
            "tcpCloseWaitTimeout": "0s",
        },
        "oomScoreAdj": 0,  # lowering it needs CAP_SYS_RESOURCE
    }


def probe(node: RealNode) -> Probe:
    """Return how to see that a node's kube-proxy has written its rules."""
    return Probe(f"http://{node.address}:{_HEALTH_PORT}/healthz")
