"""The Node object and the Lease of a process node, and their renewal."""

import asyncio
import logging
import platform
import random
from collections.abc import Mapping
from typing import Any, Final

from devcluster.process_node.api import LEASE_NAMESPACE, NodeApi
from devcluster.process_node.options import NodeOptions
from shared import labels, quantity
from shared.clock import Clock
from shared.kube import stamps
from shared.kube.errors import ApiError, Backoff

PODS: Final = 110
LEASE_SECONDS: Final = 40
KIND_LABEL: Final = f"{labels.DOMAIN}/node-kind"
KIND: Final = "process"
_STORAGE: Final = "10Gi"
_ARCHITECTURES: Final = {"x86_64": "amd64", "aarch64": "arm64"}


def allocatable(options: NodeOptions) -> dict[str, str]:
    """Return the allocatable resources of a node, as quantities."""
    return {
        "cpu": options.cpu,
        "memory": options.memory,
        "ephemeral-storage": _STORAGE,
        "pods": str(PODS),
    }


def allocatable_base_units(options: NodeOptions) -> dict[str, int]:
    """Return the allocatable resources of a node in base units (milli-CPU, bytes, counts)."""
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
    ready = _condition("Ready", "False", "ProcessNodeStopped", "the node process ends")
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


LEASE_RENEWAL_SECONDS: Final = 10.0
STATUS_RENEWAL_SECONDS: Final = 60.0
FAREWELL_SECONDS: Final = 2.0

logger = logging.getLogger(__name__)


class Registration:
    """Registers one node and keeps it alive for the node lifecycle controller.

    Admission taints a new Node ``not-ready``; the controller removes the taint when it sees the
    Ready condition, and adds it again when neither Lease nor status is renewed.

    Args:
        options: The node.
        host_ip: Its address.
        notes: Properties of the node, shown in the Ready condition.
        api: The API server.
        clock: For time stamps.
        rng: For the jitter of retries.

    Attributes:
        registered: Set when the node is there and ready.
    """

    def __init__(
        self,
        options: NodeOptions,
        host_ip: str,
        notes: Mapping[str, str],
        api: NodeApi,
        clock: Clock,
        rng: random.Random,
    ) -> None:
        self.registered = asyncio.Event()
        self._options = options
        self._host_ip = host_ip
        self._notes = notes
        self._api = api
        self._clock = clock
        self._backoff = Backoff(rng=rng, most_seconds=LEASE_RENEWAL_SECONDS)
        self._uid = ""
        self._ready_since = clock.now()
        self._status_due_at = clock.monotonic()

    async def run(self) -> None:
        """Register, then renew; errors of the server do not end it."""
        while True:
            try:
                await self._renew()
            except ApiError as error:
                logger.warning("node %s not renewed: %s", self._options.name, error)
                await asyncio.sleep(self._backoff.next_seconds())
            else:
                self._backoff.reset()
                await asyncio.sleep(LEASE_RENEWAL_SECONDS)

    async def _renew(self) -> None:
        if not self._uid:
            self._uid = await self._api.register(manifest(self._options))
        now = self._clock.now()
        await self._api.renew_lease(lease(self._options.name, self._uid, now))
        if self._clock.monotonic() >= self._status_due_at:
            current = status(self._options, self._host_ip, now, self._ready_since, self._notes)
            await self._api.report_node(self._options.name, current)
            self._status_due_at = self._clock.monotonic() + STATUS_RENEWAL_SECONDS
            self.registered.set()

    async def farewell(self) -> None:
        """Report that the node ends, if the server answers."""
        stopped = stopped_status(self._clock.now())
        try:
            async with asyncio.timeout(FAREWELL_SECONDS):
                await self._api.report_node(self._options.name, stopped)
        except (ApiError, TimeoutError) as error:
            logger.info("node %s: no farewell: %s", self._options.name, error)
