"""The Node object and the Lease of a process node (pure)."""

import platform
from collections.abc import Mapping
from typing import Any, Final

from devcluster.process_node.options import NodeOptions
from shared import labels, quantity
from shared.kube import stamps

PODS: Final = 110
LEASE_NAMESPACE: Final = "kube-node-lease"
LEASE_SECONDS: Final = 40
KIND_LABEL: Final = f"{labels.DOMAIN}/node-kind"
KIND: Final = "process"
_STORAGE: Final = "10Gi"
_ARCHITECTURES: Final = {"x86_64": "amd64", "aarch64": "arm64"}


def allocatable(options: NodeOptions) -> dict[str, str]:
    """Return what a node offers, as quantities."""
    return {
        "cpu": options.cpu,
        "memory": options.memory,
        "ephemeral-storage": _STORAGE,
        "pods": str(PODS),
    }


def allocatable_base_units(options: NodeOptions) -> dict[str, int]:
    """Return what a node offers in base units (milli-CPU, bytes, pieces)."""
    return {key: quantity.base_units(key, text) for key, text in allocatable(options).items()}


def manifest(options: NodeOptions) -> dict[str, Any]:
    """Return the Node to create."""
    architecture = _ARCHITECTURES.get(platform.machine(), platform.machine())
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": options.name,
            "labels": {
                labels.HOSTNAME_LABEL: options.name,
                "kubernetes.io/os": "linux",
                "kubernetes.io/arch": architecture,
                KIND_LABEL: KIND,
            },
        },
    }


def status(
    options: NodeOptions, host_ip: str, now: float, ready_since: float, notes: Mapping[str, str]
) -> dict[str, Any]:
    """Return the Node's status.

    Args:
        options: The node.
        host_ip: Its address.
        now: Seconds since the epoch, for the heartbeat.
        ready_since: When it became ready.
        notes: Facts about how it works, for the Ready condition's message.
    """
    facts = ", ".join(f"{key}: {value}" for key, value in notes.items())
    return {
        "capacity": allocatable(options),
        "allocatable": allocatable(options),
        "addresses": [
            {"type": "InternalIP", "address": host_ip},
            {"type": "Hostname", "address": options.name},
        ],
        "conditions": [
            _condition("Ready", "True", "ProcessNodeReady", f"containers are processes; {facts}")
            | {
                "lastTransitionTime": stamps.seconds(ready_since),
                "lastHeartbeatTime": stamps.seconds(now),
            },
            *(
                _condition(name, "False", "NotMeasured", "a process node does not measure it")
                | {
                    "lastTransitionTime": stamps.seconds(ready_since),
                    "lastHeartbeatTime": stamps.seconds(now),
                }
                for name in ("MemoryPressure", "DiskPressure", "PIDPressure")
            ),
        ],
        "nodeInfo": _info(),
    }


def stopped_status(now: float) -> dict[str, Any]:
    """Return the status of a node whose process ends."""
    ready = _condition("Ready", "False", "ProcessNodeStopped", "the node process was told to end")
    return {"conditions": [ready | {"lastTransitionTime": stamps.seconds(now)}]}


def _condition(name: str, value: str, reason: str, message: str) -> dict[str, Any]:
    return {"type": name, "status": value, "reason": reason, "message": message}


def _info() -> dict[str, str]:
    version = f"process-node (Python {platform.python_version()})"
    return {
        "architecture": _ARCHITECTURES.get(platform.machine(), platform.machine()),
        "operatingSystem": "linux",
        "osImage": "local processes",
        "kernelVersion": platform.release(),
        "kubeletVersion": version,
        "kubeProxyVersion": "",
        "containerRuntimeVersion": "process://1",
        "machineID": "",
        "systemUUID": "",
        "bootID": "",
    }


def lease(name: str, node_uid: str, now: float) -> dict[str, Any]:
    """Return the Lease to create; ``now`` in seconds since the epoch."""
    owner = {"apiVersion": "v1", "kind": "Node", "name": name, "uid": node_uid}
    return {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": {"name": name, "namespace": LEASE_NAMESPACE, "ownerReferences": [owner]},
        "spec": {
            "holderIdentity": name,
            "leaseDurationSeconds": LEASE_SECONDS,
            "renewTime": stamps.micros(now),
        },
    }
