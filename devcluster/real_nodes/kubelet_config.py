"""The kubelet's configuration file."""

import os
from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any, Final

from devcluster.credentials.certificates import Pair
from devcluster.options import RealNodes
from devcluster.real_nodes import services
from shared import quantity
from shared.errors import InputError

_MEMORY_FILE: Final = Path("/proc/meminfo")
_EVICTION_BYTES: Final = 100 * 2**20
_NAMES: Final[Mapping[str, Any]] = {
    "clusterDNS": [services.DNS_ADDRESS],
    "clusterDomain": services.DOMAIN,
    "resolvConf": "",  # other names cannot be reached
}
_LEASE_SHARE: Final = 0.8
"""Share of a Lease in the grace period, as upstream's 40 s of 50 s."""


def config(
    nodes: RealNodes,
    *,
    authority: Path,
    server: Pair,
    node_grace_seconds: int,
) -> Mapping[str, Any]:
    """Return the configuration of each of these nodes' kubelets.

    A kubelet assumes the whole machine; what a node must not offer is reserved.

    Args:
        nodes: Their resources.
        authority: CA of the kubelet's clients.
        server: Certificate of the kubelet.
        node_grace_seconds: Time without a renewed Lease until the node is NotReady.

    Raises:
        InputError: They would offer more than the machine has.

    Source:
        https://kubernetes.io/docs/reference/config-api/kubelet-config.v1beta1/
    """
    return {
        "apiVersion": "kubelet.config.k8s.io/v1beta1",
        "kind": "KubeletConfiguration",
        "authentication": {
            "anonymous": {"enabled": False},
            "webhook": {"enabled": True},
            "x509": {"clientCAFile": str(authority)},
        },
        "authorization": {"mode": "Webhook"},
        "tlsCertFile": str(server.certificate),
        "tlsPrivateKeyFile": str(server.key),
        "containerRuntimeEndpoint": "unix:///run/containerd/containerd.sock",
        "volumePluginDir": "/var/lib/kubelet/volume-plugins",
        "cgroupDriver": "cgroupfs",
        "failCgroupV1": False,
        "failSwapOn": False,
        "makeIPTablesUtilChains": False,  # kube-proxy has nftables
        **_NAMES,
        "maxPods": nodes.pods,
        "oomScoreAdj": 0,  # lowering it needs CAP_SYS_RESOURCE
        "enforceNodeAllocatable": ["pods"],
        "systemReserved": machine_reserves(nodes),
        "evictionHard": {
            "memory.available": str(_EVICTION_BYTES),
            "nodefs.available": "1%",
            "imagefs.available": "1%",
        },
        "imageGCHighThresholdPercent": 100,  # never: a removed image could not be pulled again
        "nodeLeaseDurationSeconds": int(node_grace_seconds * _LEASE_SHARE),
        "nodeStatusUpdateFrequency": "2s",
        "nodeStatusReportFrequency": "2s",
    }


def machine_reserves(nodes: RealNodes) -> Mapping[str, str]:
    """Return the reserved resources of a node on this machine.

    Raises:
        InputError: The machine does not have so much as the node shall offer.
    """
    return reserved(nodes, os.cpu_count() or 1, memory_bytes())


def reserved(nodes: RealNodes, cores: int, total_bytes: int) -> Mapping[str, str]:
    """Return the reserved resources of a node, so that it offers the requested ones.

    Raises:
        InputError: The machine does not have so much.
    """
    rest = cores - quantity.parse(nodes.cpu, field="a real node's cpu")
    if rest < 0:
        raise InputError("a real node's cpu", nodes.cpu, f"within the {cores} of this machine")
    offered = quantity.parse(nodes.memory, field="a real node's memory")
    rest_bytes = total_bytes - _EVICTION_BYTES - offered
    if rest_bytes < 0:
        limit = f"within the {total_bytes - _EVICTION_BYTES} bytes that this machine can offer"
        raise InputError("a real node's memory", nodes.memory, limit)
    return {"cpu": f"{int(rest * 1000)}m", "memory": str(int(rest_bytes))}


def memory_bytes(text: str | None = None) -> int:
    """Return the machine's memory.

    Args:
        text: As of ``/proc/meminfo``; None: that file.
    """
    fields = (text or _MEMORY_FILE.read_text()).split()
    return int(Fraction(fields[fields.index("MemTotal:") + 1]) * 1024)
