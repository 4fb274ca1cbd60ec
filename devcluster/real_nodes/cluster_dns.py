"""The names of a cluster: CoreDNS, a process of this machine behind the Service ``kube-dns``.

It is the bridge's, so it outlives every node; pods find it where kubeadm puts it.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from devcluster.layout import Layout
from devcluster.real_nodes.addresses import GATEWAY
from devcluster.state import Component, Probe

COMPONENT: Final = "cluster-dns"
ADDRESS: Final = "10.96.0.10"
"""Of the Service; within `devcluster.control_plane.SERVICE_RANGE`."""

DOMAIN: Final = "cluster.local"
USER: Final = "shuntyard:cluster-dns"
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
"""Names of other places are refused at once: there is no way to them either."""


def component(
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
        log=str(layout.log(COMPONENT)),
        probe=Probe(f"http://{GATEWAY}:{ready_port}/ready"),
    )


def manifests(port: int) -> tuple[Mapping[str, Any], ...]:
    """Return the Service, where its server is, and what the server may read."""
    name = {"name": _SERVICE, "namespace": _NAMESPACE}
    protocols = {"dns": "UDP", "dns-tcp": "TCP"}
    ports = [{"name": one, "port": 53, "protocol": kind} for one, kind in protocols.items()]
    return (
        {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": name,
            "spec": {"clusterIP": ADDRESS, "ports": ports},
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
    """Return the right to read what names are made of, and who has it."""
    verbs = ["list", "watch"]
    role = {
        "apiVersion": f"{_RBAC}/v1",
        "kind": "ClusterRole",
        "metadata": {"name": USER},
        "rules": [
            {"apiGroups": [""], "resources": ["services", "pods", "namespaces"], "verbs": verbs},
            {"apiGroups": ["discovery.k8s.io"], "resources": ["endpointslices"], "verbs": verbs},
        ],
    }
    binding = {
        "apiVersion": f"{_RBAC}/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": USER},
        "roleRef": {"apiGroup": _RBAC, "kind": "ClusterRole", "name": USER},
        "subjects": [{"apiGroup": _RBAC, "kind": "User", "name": USER}],
    }
    return role, binding
