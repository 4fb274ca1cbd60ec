"""The Services of a cluster with real nodes: their names and their addresses.

CoreDNS resolves names: a process of this machine behind the Service ``kube-dns``, at the address
that kubeadm uses, on the bridge, so that it outlives every node. A kube-proxy in each node makes
addresses of Services reachable.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from devcluster.local.layout import Layout
from devcluster.local.state import Component, Probe
from devcluster.real_nodes.network import GATEWAY, NETWORK, RealNode

DNS: Final = "cluster-dns"
DNS_ADDRESS: Final = "10.96.0.10"
"""Of the Service; within `devcluster.components.control_plane.SERVICE_RANGE`."""

DOMAIN: Final = "cluster.local"
DNS_USER: Final = "shuntyard:cluster-dns"
_SERVICE: Final = "kube-dns"
_NAMESPACE: Final = "kube-system"
_RBAC: Final = "rbac.authorization.k8s.io"
_COREFILE: Final = """\
{domain}:{port} in-addr.arpa:{port} {{
    bind {address}
    ready {address}:{ready_port}
    errors
    kubernetes {domain} in-addr.arpa {{
        kubeconfig {kubeconfig}
    }}
}}
"""
"""Names outside the cluster are refused at once, because they cannot be reached."""


def dns_component(
    program: Path, layout: Layout, kubeconfig: Path, *, port: int, ready_port: int
) -> Component:
    """Write CoreDNS's configuration and return it."""
    corefile = layout.config / "Corefile"
    corefile.parent.mkdir(exist_ok=True)
    corefile.write_text(
        _COREFILE.format(
            domain=DOMAIN,
            address=GATEWAY,
            port=port,
            ready_port=ready_port,
            kubeconfig=kubeconfig,
        )
    )
    return Component(
        argv=(str(program), "-conf", str(corefile)),
        log=str(layout.log(DNS)),
        probe=Probe(f"http://{GATEWAY}:{ready_port}/ready"),
    )


def dns_manifests(port: int) -> tuple[Mapping[str, Any], ...]:
    """Return the Service, its endpoint, and the rights of its server."""
    name = {"name": _SERVICE, "namespace": _NAMESPACE}
    protocols = {"dns": "UDP", "dns-tcp": "TCP"}
    ports = [{"name": one, "port": 53, "protocol": kind} for one, kind in protocols.items()]
    return (
        {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": name,
            "spec": {"clusterIP": DNS_ADDRESS, "ports": ports},
        },
        {
            "apiVersion": "discovery.k8s.io/v1",
            "kind": "EndpointSlice",
            "metadata": name | {"labels": {"kubernetes.io/service-name": _SERVICE}},
            "addressType": "IPv4",
            "endpoints": [{"addresses": [GATEWAY], "conditions": {"ready": True}}],
            "ports": [{**one, "port": port} for one in ports],
        },
        *_reader(),
    )


def _reader() -> tuple[Mapping[str, Any], Mapping[str, Any]]:
    """Return the role that reads the sources of names, and its binding."""
    verbs = ["list", "watch"]
    role = {
        "apiVersion": f"{_RBAC}/v1",
        "kind": "ClusterRole",
        "metadata": {"name": DNS_USER},
        "rules": [
            {"apiGroups": [""], "resources": ["services", "pods", "namespaces"], "verbs": verbs},
            {"apiGroups": ["discovery.k8s.io"], "resources": ["endpointslices"], "verbs": verbs},
        ],
    }
    binding = {
        "apiVersion": f"{_RBAC}/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": DNS_USER},
        "roleRef": {"apiGroup": _RBAC, "kind": "ClusterRole", "name": DNS_USER},
        "subjects": [{"apiGroup": _RBAC, "kind": "User", "name": DNS_USER}],
    }
    return role, binding


PROXY_USER: Final = "system:kube-proxy"
"""The API server creates its role (``system:node-proxier``)."""

_HEALTH_PORT: Final = 10256


def proxy_config(node: RealNode, kubeconfig: Path) -> Mapping[str, Any]:
    """Return the configuration of a node's kube-proxy.

    Its rules are in the node's own nftables. Limits of connection tracking are the whole
    machine's; zeros leave them unchanged.

    Source:
        https://kubernetes.io/docs/reference/config-api/kube-proxy-config.v1alpha1/
    """
    return {
        "apiVersion": "kubeproxy.config.k8s.io/v1alpha1",
        "kind": "KubeProxyConfiguration",
        "clientConnection": {"kubeconfig": str(kubeconfig)},
        "mode": "nftables",
        "hostnameOverride": node.name,
        "clusterCIDR": NETWORK,  # clients in this range get answers without masquerading
        "healthzBindAddress": f"{node.address}:{_HEALTH_PORT}",
        "conntrack": {
            "maxPerCore": 0,
            "min": 0,
            "tcpEstablishedTimeout": "0s",
            "tcpCloseWaitTimeout": "0s",
        },
        "oomScoreAdj": 0,  # lowering it needs CAP_SYS_RESOURCE
    }


def proxy_probe(node: RealNode) -> Probe:
    """Return the probe that succeeds when a node's kube-proxy has written its rules."""
    return Probe(f"http://{node.address}:{_HEALTH_PORT}/healthz")
