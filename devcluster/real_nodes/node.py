"""The start of one real node: its directory, its certificates, its first process."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from devcluster.credentials import bootstrap
from devcluster.credentials.certificates import Authority
from devcluster.local.layout import Layout
from devcluster.local.state import Component
from devcluster.options import RealNodes
from devcluster.real_nodes import control_groups, kubelet_config, services
from devcluster.real_nodes.commands import run
from devcluster.real_nodes.network import BRIDGE, GATEWAY, RealNode
from shared import labels
from shared.system_clock import SystemClock

LABEL: Final = f"{labels.DOMAIN}/node-kind"
LABEL_VALUE: Final = "real"
SCRIPTS: Final = Path(__file__).parent
NUMBER: Final = "NODE_NUMBER"
"""Variable in a component's environment that makes it a real node."""

_DIRECTORIES: Final = ("kubelet", "cni", "pods", "containers", "containerd", "net.d")
_STOP_SECONDS: Final = 5.0
_DISK: Final = "containerd.img"
_DISK_BYTES: Final = 16 * 2**30


def write(
    layout: Layout, node: RealNode, nodes: RealNodes, server: str, *, node_grace_seconds: int
) -> Path:
    """Write the files of a node, and return its kubeconfig.

    Raises:
        MachineError: Its disk could not be made.
    """
    directory = layout.real_node(node.name)
    for name in _DIRECTORIES:
        (directory / name).mkdir(parents=True, exist_ok=True)
    _make_disk(directory / _DISK)
    authority = Authority(layout.pki, SystemClock())
    pair = authority.issue_server(f"kubelet-{node.name}", (node.name,), (node.address,))
    config = kubelet_config.config(
        nodes, authority=layout.authority, server=pair, node_grace_seconds=node_grace_seconds
    )
    _write_json(directory / "kubelet.yaml", config)
    _write_json(directory / "net.d" / "10-pods.conflist", pod_network(node))
    proxy = bootstrap.write_user(layout, authority, server, services.PROXY_USER)
    _write_json(directory / "kube-proxy.yaml", services.proxy_config(node, proxy))
    user = f"system:node:{node.name}"
    return bootstrap.write_user(layout, authority, server, user, ("system:nodes",))


def component(
    layout: Layout,
    node: RealNode,
    programs: Mapping[str, Path],
    kubeconfig: Path,
    images: Sequence[Path],
) -> Component:
    """Return the process that is the node: when it is killed, all of the node is gone.

    Args:
        layout: The cluster's directory.
        node: Which node.
        programs: kubelet and kube-proxy, by name.
        kubeconfig: The kubelet's.
        images: Archives that containerd imports before the kubelet starts.
    """
    environ = {
        "NODE_NAME": node.name,
        "NODE_LABELS": f"{LABEL}={LABEL_VALUE}",
        NUMBER: str(node.number),
        "NODE_ADDRESS": node.address,
        "NODE_CARD": node.card,
        "NODE_GATEWAY": GATEWAY,
        "NODE_BRIDGE": BRIDGE,
        "NODE_LINK": node.link,
        "NODE_GROUPS": " ".join(map(str, control_groups.groups(node.name))),
        "NODE_DIRECTORY": str(layout.real_node(node.name)),
        "NODE_DISK": _DISK,
        "NODE_LOGS": str(layout.log(node.name).parent),
        "NODE_SCRIPTS": str(SCRIPTS),
        "NODE_IMAGES": " ".join(map(str, images)),
        "NODE_KUBELET": str(programs["kubelet"]),
        "NODE_PROXY": str(programs["kube-proxy"]),
        "NODE_KUBECONFIG": str(kubeconfig),
    }
    return Component(
        argv=("/bin/sh", str(SCRIPTS / "enter.sh")),
        log=str(layout.log(node.name)),
        environ=environ,
        stop_seconds=_STOP_SECONDS,
    )


def pod_network(node: RealNode) -> Mapping[str, Any]:
    """Return the node's CNI configuration: a cable for each pod, addresses that can be routed.

    There is no bridge between pods of a node: past it, the answer of a Service's pod would not
    come by where the Service's address is put back.

    Source:
        https://github.com/containernetworking/cni/blob/spec-v0.4.0/SPEC.md
    """
    ranges = [[{"subnet": node.pods}]]
    cable = {
        "type": "ptp",
        "ipMasq": False,
        "ipam": {"type": "host-local", "ranges": ranges, "routes": [{"dst": "0.0.0.0/0"}]},
    }
    return {"cniVersion": "0.4.0", "name": "pods", "plugins": [cable]}


def _make_disk(file: Path) -> None:
    """Create the disk of containerd, a sparse file: one file to remove instead of thousands.

    It need not survive this machine, so it has no journal.
    """
    with file.open("wb") as disk:
        disk.truncate(_DISK_BYTES)
    lazily = ("-E", "lazy_itable_init=1,nodiscard")
    run("mkfs.ext4", "-q", "-F", "-O", "^has_journal", "-m", "0", *lazily, str(file))


def _write_json(file: Path, content: Mapping[str, Any]) -> None:
    file.write_text(json.dumps(content, indent=1))
